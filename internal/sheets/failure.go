package sheets

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/googleapi"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// kind is what a failed call means for the sheet. The zero value is invalid.
type kind int

const (
	refused   kind = iota + 1 // Google said no: nothing was applied, asking again is no use
	throttled                 // Google said not now: nothing was applied
	unsent                    // the request never left: no login, no connection
	unclear                   // everything else: a write may have been applied
)

// failure is a failed call: its kind, and words for people.
type failure struct {
	kind  kind
	words *claim.SheetError
	wait  time.Duration // throttled: what Google asked for, 0 if nothing
}

// again reports whether the same call may succeed a moment later.
func (f *failure) again() bool {
	switch f.kind {
	case refused:
		return false
	case unsent:
		return !f.words.Setup
	case throttled, unclear:
		return true
	}
	return false
}

// result is how a call ended, for whoever counts: ok, fenced, throttled (429), refused,
// unsent or unclear.
func (c *Client) result(err error, what call) string {
	switch {
	case err == nil:
		return "ok"
	case fenced(err):
		return "fenced"
	}
	switch c.classify(err, what).kind {
	case refused:
		return "refused"
	case throttled:
		return "throttled"
	case unsent:
		return "unsent"
	case unclear:
	}
	return "unclear"
}

// unsentError marks an error of a request that never reached a connection.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// classify says what an error of a call means. Only a definite answer counts: a 5xx may
// stand for a write that was stored (reported by users of other clients), a
// redirect or a body that cannot be read for anything.
func (c *Client) classify(err error, what call) *failure {
	var answer *googleapi.Error
	var login *loginError
	var local *unsentError
	switch {
	case errors.As(err, &login):
		return &failure{kind: unsent, words: loginProblem(login, c.account)}
	case errors.As(err, &local):
		return &failure{kind: unsent, words: networkProblem(err)}
	case !errors.As(err, &answer):
		return &failure{kind: unclear, words: networkProblem(err)}
	}
	f := &failure{kind: refused, words: answerProblem(answer, what, c.account)}
	switch {
	case answer.Code == http.StatusTooManyRequests:
		f.kind, f.wait = throttled, retryAfter(answer.Header, c.now())
	case answer.Code < 400, answer.Code >= 500, answer.Code == http.StatusRequestTimeout, what.write && aboutReply(answer):
		f.kind = unclear
	}
	return f
}

// aboutReply reports a refusal of the ranges that a batch was to answer with.
// Refusals of its requests are prefixed "Invalid requests[i]" (probed). Whether a
// bad response range lets the batch through is unknown.
func aboutReply(e *googleapi.Error) bool {
	return e.Code == http.StatusBadRequest && !strings.HasPrefix(e.Message, "Invalid requests[") &&
		(strings.Contains(e.Message, "Unable to parse range") || strings.Contains(e.Message, "exceeds grid limits"))
}

// fenced reports whether a claim was refused because its number is used up. The
// text is the one of a written-up probe: Cannot add developer metadata with ID [n]
// because developer metadata with that ID already exists.
func fenced(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && answer.Code == http.StatusBadRequest &&
		strings.Contains(answer.Message, "developer metadata with that ID already exists")
}

// longestRest bounds what a Retry-After can ask for: a run must end one day.
const longestRest = 10 * time.Minute

// retryAfter reads the header in both of its forms (RFC 9110, 10.2.3). Whether
// Sheets sends it is unknown.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return min(time.Duration(min(n, 3600))*time.Second, longestRest)
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return min(at.Sub(now), longestRest)
	}
	return 0
}

// cancelled says that the caller's time ended before a request was sent.
func cancelled(err error) *claim.SheetError {
	words := &claim.SheetError{Problem: "the call to Google Sheets was given up before it was sent: " + err.Error(), Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		words.Advice = "other runs of this account use up its calls per minute; let jobs start less often"
	}
	return words
}
