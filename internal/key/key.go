package key

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of what the ledger keeps for a key, in bytes.
const (
	MaxKey    = 512
	MaxOwner  = 256
	MaxID     = 256 // of a request
	MaxNote   = 4 << 10
	MaxResult = 64 << 10
)

// Lengths of a lease.
const (
	DefaultLease = 15 * time.Minute
	MaxLease     = 366 * 24 * time.Hour
)

// State is what the ledger knows of a key.
type State string

// The states of a key. One that the ledger has never seen has none.
const (
	Claimed  State = "claimed"  // somebody is on it
	Done     State = "done"     // it was carried out; nobody gets it again
	Released State = "released" // it was not carried out; the next may have it
	Unknown  State = "unknown"  // nobody knows whether it was carried out; a person decides
)

// States lists them all.
func States() []State { return []State{Claimed, Done, Released, Unknown} }

// Takeover says what becomes of a claim whose lease ended before its owner spoke.
type Takeover string

const (
	TakeNever   Takeover = "never"   // it becomes unknown
	TakeExpired Takeover = "expired" // the next claim gets it, if that one wants it too
)

// FaultError says what is wrong with a request; it is for people.
type FaultError struct {
	Field string // key, lease, takeover, owner, request_id, note, result, why or days
	Text  string // what was expected, what was found, what to do
}

func (e *FaultError) Error() string { return e.Text }

func fault(field, format string, args ...any) error {
	return &FaultError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// Clean brings a key to the form in which it is kept: trimmed, and composed (Unicode
// NFC), so that two ways of writing é are one key. Case and blanks inside stay.
func Clean(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fault("key", "the key is not UTF-8: encode it, for example as hexadecimal digits")
	}
	text = norm.NFC.String(strings.TrimSpace(text))
	switch {
	case !strings.ContainsFunc(text, isSeen):
		return "", fault("key", "expected a key, found a blank one: look for a variable or an expression without a value")
	case len(text) > MaxKey:
		return "", fault("key", "expected a key of at most %d bytes, found %d: use the id of the event, or a hash", MaxKey, len(text))
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", fault("key", "the key has a line break or another control character inside: use one id, on one line")
	}
	return text, nil
}

// isSeen reports whether a character leaves a mark: zero-width ones, such as the one
// at the start of some files, make no key.
func isSeen(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// Claim asks for a key.
type Claim struct {
	Key      string
	Lease    time.Duration // 0: DefaultLease
	Takeover Takeover      // "": TakeExpired
	Owner    string        // who asks, for people
	Note     string        // what for, for people
	// RequestID names this request, the same in each of its tries and never in another;
	// "": none. A try whose claim is still the key's gets that claim again: the answer
	// to the first may have been lost on the way.
	RequestID string
}

// Checked answers the claim with its key cleaned and its defaults filled in, or a
// *FaultError.
func (c Claim) Checked() (Claim, error) {
	var err error
	if c.Key, err = Clean(c.Key); err != nil {
		return c, err
	}
	if unfilled(c.Key) {
		return c, fault("key", "expected a key with an id in it, found %q: look for a variable or an expression without a value", c.Key)
	}
	if c.Lease, err = checkLease(c.Lease); err != nil {
		return c, err
	}
	switch c.Takeover {
	case "":
		c.Takeover = TakeExpired
	case TakeNever, TakeExpired:
	default:
		return c, fault("takeover", "expected takeover never or expired, found %q", c.Takeover)
	}
	if c.Owner, err = line("owner", c.Owner, MaxOwner); err != nil {
		return c, err
	}
	if c.Owner == "" {
		c.Owner = "unnamed"
	}
	if c.RequestID, err = line("request_id", c.RequestID, MaxID); err != nil {
		return c, err
	}
	if isNoID(c.RequestID) {
		return c, fault("request_id", "expected an id that no other request has, found %q: look for an expression that was not evaluated", c.RequestID)
	}
	if len(c.Note) > MaxNote || !isText(c.Note) {
		return c, fault("note", "expected a note of at most %d bytes of text, found %d bytes", MaxNote, len(c.Note))
	}
	return c, nil
}

// isNoID reports whether an id is what programs write for a value that is not there:
// requests that share one would share a claim.
func isNoID(id string) bool {
	for _, part := range []string{"{{", "undefined", "[object Object]"} {
		if strings.Contains(id, part) {
			return true
		}
	}
	return slices.Contains([]string{"null", "None", "NaN"}, id)
}

// unfilled reports a key whose id was not there when it was put together, as
// stripe:$(jq -r .id) makes it, or an expression of n8n. The first event without an id would
// win such a key, and all others would count as copies of it.
func unfilled(text string) bool {
	empty := func(part string) bool { return part == "undefined" || part == "null" }
	expression := strings.Contains(text, "{{ $") || strings.Contains(text, "{{$")
	return expression || strings.HasSuffix(text, ":") || slices.ContainsFunc(strings.Split(text, ":"), empty)
}

// checkLease refuses a lease that is none; 0 is DefaultLease.
func checkLease(d time.Duration) (time.Duration, error) {
	switch {
	case d == 0:
		return DefaultLease, nil
	case d < 0 || d > MaxLease:
		return 0, fault("lease", "expected a lease between 1ms and %s, found %s", days(MaxLease), d)
	}
	return d, nil
}

func days(d time.Duration) string { return fmt.Sprintf("%dd", d/(24*time.Hour)) }

// line trims a text that has to stay on one line.
func line(field, text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return "", fault(field, "expected %s as one line of at most %d bytes, found %d bytes", field, most, len(text))
	}
	return text, nil
}

// isText reports whether every ledger can keep it: Postgres takes no NUL.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// End ends a claim, or settles a key that is unknown.
type End struct {
	Key   string
	Token string // of the claim; "": a person settles an unknown, and Why is needed
	State State  // Done, Released or Unknown
	// Result is JSON that the next claimer of a done key gets; nil: none.
	Result json.RawMessage
	Who    string // who settles
	Why    string // kept with the key
}

// Checked answers the end with its key cleaned, or a *FaultError.
func (e End) Checked() (End, error) {
	var err error
	if e.Key, err = Clean(e.Key); err != nil {
		return e, err
	}
	e.Token = strings.TrimSpace(e.Token)
	if e.Why, err = line("why", e.Why, MaxNote); err != nil {
		return e, err
	}
	switch {
	case e.Token == "" && e.State == Unknown:
		return e, fault("token", "expected the token of the claim, found none: only its owner can say that the end is not known")
	case e.Token == "" && e.Why == "":
		return e, fault("token", "expected the token that the claim answered, found none: give it, or, to settle a key that is unknown, say why")
	case len(e.Result) > MaxResult:
		return e, fault("result", "expected a result of at most %d bytes, found %d: keep it elsewhere, and its address here", MaxResult, len(e.Result))
	case len(e.Result) > 0 && (!json.Valid(e.Result) || !utf8.Valid(e.Result)):
		return e, fault("result", "expected the result as JSON")
	}
	return e, nil
}

// Renewal makes a lease begin anew.
type Renewal struct {
	Key   string
	Token string
	Lease time.Duration // from now; 0: DefaultLease
}

// Checked answers the renewal with its key cleaned, or a *FaultError.
func (r Renewal) Checked() (Renewal, error) {
	var err error
	if r.Key, err = Clean(r.Key); err != nil {
		return r, err
	}
	if r.Token = strings.TrimSpace(r.Token); r.Token == "" {
		return r, fault("token", "expected the token that the claim answered, found none")
	}
	r.Lease, err = checkLease(r.Lease)
	return r, err
}

// Errors of a Book that are no fault of the ledger.
var (
	ErrNoKey      = errors.New("the key was never claimed, or has been pruned")
	ErrStale      = errors.New("the token is not that of the key's last claim: its lease ended and somebody took it over, or the token belongs to another key")
	ErrEnded      = errors.New("the claim has already ended in another way")
	ErrNotUnknown = errors.New("only a key that is unknown can be settled without the token of its claim")
)
