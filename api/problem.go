package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// code names one way in which a request can be refused. Programs rely on it, so a
// code never changes its meaning. openapi.yaml lists them for callers.
type code string

const (
	codeBodyInvalid    code = "body_invalid"            // not JSON, or not an object
	codeFieldUnknown   code = "field_unknown"           // a member that a request does not have
	codeFieldInvalid   code = "field_invalid"           // a member of the wrong type or form
	codeFieldRequired  code = "field_required"          // a member that has to be there
	codeQueryInvalid   code = "query_invalid"           // a parameter in the address
	codeRunIDInvalid   code = "run_id_invalid"          // characters or length
	codeKeyInvalid     code = "idempotency_key_invalid" // characters or length
	codeRunIDConflict  code = "run_id_conflict"         // run_id and Idempotency-Key disagree
	codeJobRequired    code = "job_required"            // left out, and there are several
	codeSheetRequired  code = "spreadsheet_required"    // left out, and the key waits in several
	codeUnauthorized   code = "unauthorized"            // no token, or a wrong one
	codeManyWrong      code = "too_many_wrong_tokens"   // from that address, too fast
	codeJobNotAllowed  code = "job_not_allowed"         // the token is bound to other jobs
	codeHostRefused    code = "host_refused"            // no tokens, and called by another name
	codeOriginRefused  code = "origin_refused"          // no tokens, and called by a foreign page
	codeNotFound       code = "not_found"               // no such path
	codeJobUnknown     code = "job_unknown"
	codeRunUnknown     code = "run_unknown"
	codeMessageUnknown code = "message_unknown"
	codeRowUnknown     code = "row_unknown"
	codeMethod         code = "method_not_allowed"
	codeKeysNotAllowed code = "keys_not_allowed" // the token is bound to jobs
	codeReadOnly       code = "token_read_only"
	codeKeyUnknown     code = "key_unknown"         // never claimed, or pruned
	codeTokenStale     code = "token_stale"         // the key's last claim has another
	codeKeyEnded       code = "key_ended"           // in another way
	codeKeyNotUnknown  code = "key_not_unknown"     // and is to be settled without a token
	codePruneRefused   code = "prune_refused"       // nearly nothing would be left
	codeNotUnknown     code = "message_not_unknown" // and is to be settled as sent
	codeUnderWay       code = "message_under_way"   // its run has not ended
	codeBodyTimeout    code = "body_timeout"        // the body came too slowly
	codeBodyTooLarge   code = "body_too_large"
	codeMediaType      code = "media_type_unsupported"
	codeRangeRefused   code = "range_not_allowed"
	codeSheetRefused   code = "spreadsheet_not_allowed"
	codeLimitRefused   code = "limit_not_allowed"
	codeCallback       code = "callback_not_allowed"
	codeRunIDReused    code = "run_id_reused" // the name stands for another request
	codeNoMail         code = "claim_only"    // the job has no message
	codeClaimUnknown   code = "claim_unknown" // the run holds no such key
	codeNotHanded      code = "claim_not_handed_out"
	codeClaimSettled   code = "claim_settled" // otherwise, before
	codeInternal       code = "internal"
	codeStopping       code = "stopping"
	codeNotReady       code = "not_ready"
	codeLedger         code = "ledger_unavailable"
	codeRecoveryNeeded code = "recovery_pending"  // a dead run of that name is not settled yet
	codeRowFault       code = "row_fault"         // the row makes no message
	codeSheet          code = "sheet_unavailable" // or the job does not fit it
	codeTestNotSent    code = "test_not_sent"     // the mail server did not take it
)

// status is the one HTTP status of a code.
func (c code) status() int {
	switch c {
	case codeBodyInvalid, codeFieldUnknown, codeFieldInvalid, codeFieldRequired, codeQueryInvalid,
		codeRunIDInvalid, codeKeyInvalid, codeRunIDConflict, codeJobRequired, codeSheetRequired:
		return http.StatusBadRequest
	case codeUnauthorized:
		return http.StatusUnauthorized
	case codeManyWrong:
		return http.StatusTooManyRequests
	case codeJobNotAllowed, codeHostRefused, codeOriginRefused,
		codeKeysNotAllowed, codeReadOnly:
		return http.StatusForbidden
	case codeNotFound, codeJobUnknown, codeRunUnknown, codeMessageUnknown, codeClaimUnknown, codeRowUnknown,
		codeKeyUnknown:
		return http.StatusNotFound
	case codeMethod:
		return http.StatusMethodNotAllowed
	case codeNotUnknown, codeUnderWay, codeNotHanded, codeClaimSettled,
		codeTokenStale, codeKeyEnded, codeKeyNotUnknown, codePruneRefused:
		return http.StatusConflict
	case codeBodyTimeout:
		return http.StatusRequestTimeout
	case codeBodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case codeMediaType:
		return http.StatusUnsupportedMediaType
	case codeRangeRefused, codeSheetRefused, codeLimitRefused, codeCallback, codeRunIDReused, codeNoMail, codeRowFault:
		return http.StatusUnprocessableEntity
	case codeStopping, codeNotReady, codeLedger, codeRecoveryNeeded:
		return http.StatusServiceUnavailable
	case codeSheet, codeTestNotSent:
		return http.StatusBadGateway
	case codeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

// problem is a problem document. Its type is about:blank and therefore left out;
// the title is then the status in words (RFC 9457, section 4.2.1), and code and the
// members after it are extensions.
type problem struct {
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Instance string   `json:"instance"`
	Code     code     `json:"code"`
	Field    string   `json:"field,omitempty"`   // the member or parameter at fault
	Allowed  []string `json:"allowed,omitempty"` // the values that would do

	retry time.Duration // Retry-After; 0: none
	cause error         // for the log alone
}

// refuse makes a problem. Its detail says what was expected, what was found and
// what to do.
func refuse(c code, format string, args ...any) *problem {
	status := c.status()
	return &problem{Title: http.StatusText(status), Status: status, Code: c, Detail: fmt.Sprintf(format, args...)}
}

func (p *problem) Error() string { return p.Detail }
func (p *problem) Unwrap() error { return p.cause }

// at names the member or parameter at fault.
func (p *problem) at(field string) *problem { p.Field = field; return p }

// allow names the values that would do.
func (p *problem) allow(values []string) *problem { p.Allowed = values; return p }

// because keeps what the caller is not told.
func (p *problem) because(err error) *problem { p.cause = err; return p }

// after says when to try again.
func (p *problem) after(d time.Duration) *problem { p.retry = d; return p }

// problemOf turns any error of a handler, of echo or of a panic into a problem. An
// error that nobody meant for callers stays in the log.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	var he *echo.HTTPError
	if errors.As(err, &he) {
		switch he.Code {
		case http.StatusNotFound:
			return refuse(codeNotFound, "there is nothing at this address: /openapi.yaml lists what there is")
		case http.StatusMethodNotAllowed:
			return refuse(codeMethod, "this address does not take this method: the Allow header names those that it takes")
		}
	}
	return refuse(codeInternal, "the service met a fault of its own: its log says more").because(err)
}

// answerProblem is echo's error handler.
func answerProblem(err error, c echo.Context) {
	p := problemOf(err)
	callOf(c).cause = p.cause
	if c.Response().Committed {
		return
	}
	r := c.Request()
	doc := *p
	doc.Instance = r.URL.EscapedPath()
	if p.retry > 0 {
		c.Response().Header().Set("Retry-After", strconv.Itoa(int(p.retry.Seconds())))
	}
	mediaType := echo.MIMEApplicationJSON
	if namesProblems(r.Header.Values("Accept")) {
		mediaType = problemType
	}
	if err := write(c, p.Status, mediaType, doc); err != nil {
		callOf(c).cause = errors.Join(p.cause, err)
	}
}

// write answers a JSON document. Angle brackets stay as they are: documents hold
// Message-IDs, people read them, and nosniff keeps browsers from seeing HTML.
func write(c echo.Context, status int, mediaType string, doc any) error {
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, mediaType)
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}
