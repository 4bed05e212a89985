package claim

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// StatusKind is what a status cell says.
type StatusKind int

const (
	StatusEmpty   StatusKind = iota // not handled
	StatusSending                   // claimed: Run and, for a claim of ours, Token
	StatusSent
	StatusFailed // N of Max attempts
	StatusGaveUp
	StatusRejected
	StatusUnknown
	StatusResend
	StatusForeign // somebody's own text
)

// Status is a status cell, read. Every text that sheetclaim writes begins with a
// letter, so that a sheet never takes it for a formula, a number or a date.
type Status struct {
	Kind  StatusKind
	Run   string
	Token string // <mark>.<n>; "" for a claim that another tool wrote
	N     int
	Max   int
}

// ParseStatus reads the text of a status cell.
func ParseStatus(text string) Status {
	t := strings.TrimFunc(text, unicode.IsSpace)
	switch {
	case t == "":
		return Status{Kind: StatusEmpty}
	case strings.EqualFold(t, "resend"):
		return Status{Kind: StatusResend}
	case strings.EqualFold(t, "sent"):
		return Status{Kind: StatusSent}
	}
	word, rest, _ := strings.Cut(t, " ")
	switch word {
	case "sending":
		run, token, _ := strings.Cut(rest, "/")
		return Status{Kind: StatusSending, Run: run, Token: token}
	case "failed":
		if n, limit, ok := parseTries(rest); ok {
			return Status{Kind: StatusFailed, N: n, Max: limit}
		}
	case "gave":
		if n, limit, ok := parseTries(strings.TrimPrefix(rest, "up ")); ok && strings.HasPrefix(rest, "up ") {
			return Status{Kind: StatusGaveUp, N: n, Max: limit}
		}
	case "rejected:":
		return Status{Kind: StatusRejected}
	case "unknown":
		if run, _, ok := strings.Cut(rest, ":"); ok {
			return Status{Kind: StatusUnknown, Run: run}
		}
	}
	return Status{Kind: StatusForeign}
}

// parseTries reads "<n>/<max>: <reason>".
func parseTries(s string) (n, limit int, ok bool) {
	tries, _, ok := strings.Cut(s, ":")
	if !ok {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(tries, "/")
	if !ok {
		return 0, 0, false
	}
	n, err := strconv.Atoi(a)
	if err != nil || n < 1 {
		return 0, 0, false
	}
	limit, err = strconv.Atoi(b)
	if err != nil || limit < 1 {
		return 0, 0, false
	}
	return n, limit, true
}

// claimText is the text of one claimed cell. No two cells ever hold the same one.
func claimText(runID, mark string, n int) string {
	return fmt.Sprintf("sending %s/%s.%d", runID, mark, n)
}

// statusText is the text that a status cell gets for an outcome.
func statusText(o Outcome, runID string, n, limit int, reason string) string {
	switch o {
	case Sent:
		return "sent"
	case Failed:
		return fmt.Sprintf("failed %d/%d: %s", n, limit, reason)
	case GaveUp:
		return fmt.Sprintf("gave up %d/%d: %s", n, limit, reason)
	case Rejected:
		return "rejected: " + reason
	case Unknown:
		return fmt.Sprintf("unknown %s: %s", runID, reason)
	case Taken, Released, Skipped, Would:
	}
	return ""
}

// maxReason keeps a cell readable; a server's reply can be pages long.
const maxReason = 200

// oneLine makes a text fit for a cell: control characters become spaces, runs of
// white space one, and it is cut to maxReason bytes at a rune boundary.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(s) <= maxReason {
		return s
	}
	cut := maxReason - len("…")
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
