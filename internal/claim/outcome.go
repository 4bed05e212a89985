package claim

import "time"

// Outcome is what became of a message, or of a row that got none. The words are
// those of the sheet, the API and the ledger.
type Outcome string

const (
	Sent     Outcome = "sent"     // the mail server accepted the message
	Failed   Outcome = "failed"   // definitely not taken; it may be tried again
	GaveUp   Outcome = "gave_up"  // definitely not taken, attempts used up
	Rejected Outcome = "rejected" // definitely refused for good
	Unknown  Outcome = "unknown"  // the server may have it; only a person can tell

	Taken    Outcome = "taken"    // another run had the row
	Released Outcome = "released" // given back unsent
	Skipped  Outcome = "skipped"  // a row fault, or a row left in doubt
	Would    Outcome = "would_send"
)

// Final reports whether the message of this generation will never be tried again
// by itself.
func (o Outcome) Final() bool {
	switch o {
	case Sent, GaveUp, Rejected, Unknown:
		return true
	case Failed, Taken, Released, Skipped, Would:
		return false
	}
	return false
}

// Verdict is what one mail transaction says of one message. It is never a bare
// error: every way to fail is one of the four, so that a lost answer cannot fall
// to "try again".
type Verdict string

const (
	// Accepted: a 2xx answer to the final dot was read.
	Accepted Verdict = "accepted"
	// Deferred: the server definitely does not have the message; a later attempt may
	// succeed.
	Deferred Verdict = "deferred"
	// Refused: the server definitely does not have the message and never will.
	Refused Verdict = "refused"
	// Doubtful: the final dot may have been handed over and no complete answer was
	// read.
	Doubtful Verdict = "doubtful"
	// NotBegun: Hooks.Begin or Hooks.Commit said no, or the context ended before the
	// final dot. Nothing was sent and no attempt is counted.
	NotBegun Verdict = "not_begun"
)

// Result is the end of one mail transaction.
type Result struct {
	Verdict Verdict
	// Account is true when the failure is not the row's: no connection, login, 421,
	// throttling, quota or policy of the account, a refused sender. It burns no
	// attempt and stops the batch.
	Account bool
	Step    string // connect, login, mail, rcpt, data, content or dot
	Code    int    // the server's reply code; 0 without a reply
	Reply   string // code and text of the server's last reply, one line
	Err     error  // the cause when there was no reply
	At      time.Time
}

// Reason is the result in words for a cell: one line, at most 200 bytes.
func (r Result) Reason() string {
	switch {
	case r.Reply != "":
		return oneLine(r.Reply)
	case r.Err != nil:
		return oneLine(r.Step + ": " + r.Err.Error())
	}
	return r.Step
}
