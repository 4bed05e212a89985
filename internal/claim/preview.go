package claim

import (
	"context"
	"fmt"
	"time"
)

// PreviewRequest asks what a run of a job would do now.
type PreviewRequest struct {
	Job    string
	Target Target // zero: the job's own
	Limit  int    // rows; 0: the job's own
	Key    string // only the row of this key, due or not; "": the rows that are due
	To     string // send the message of Key to this address, marked as a test; "": send nothing
	Parts  int    // bytes of texts and HTML that the answer may hold; 0: no limit
}

// Preview is what a run would do now. Making one touches neither sheet nor ledger.
type Preview struct {
	Job         string        `json:"job"`
	Spreadsheet string        `json:"spreadsheet"`
	Range       string        `json:"range"`
	Tab         string        `json:"tab"`
	TabID       *int64        `json:"tab_id,omitempty"`
	At          time.Time     `json:"at"` // when the sheet was read
	Detail      string        `json:"detail"`
	Holds       []string      `json:"holds"` // why a run would send nothing now, though rows are due
	Counts      PreviewCounts `json:"counts"`
	Rows        []PreviewRow  `json:"rows"`
	Doubts      []Doubt       `json:"doubts"`
	NextDue     *time.Time    `json:"next_due,omitempty"` // of the rows that are not due yet
	LeftOut     LeftOut       `json:"left_out"`
	Test        *TestReport   `json:"test,omitempty"`
	APICalls    APICalls      `json:"api_calls"`
}

// PreviewCounts are the rows of a preview. Where one row was asked for, Due, WouldSend,
// Later, Skipped and Taken count that one, the others still the whole range.
type PreviewCounts struct {
	Rows      int `json:"rows"`       // that are not blank
	Due       int `json:"due"`        // before limit
	WouldSend int `json:"would_send"` // by the next run
	Later     int `json:"later"`      // due, and left to later runs by the limit
	Skipped   int `json:"skipped"`    // row faults, rows in doubt, hidden rows that the job leaves
	Taken     int `json:"taken"`      // with another run
	Handled   int `json:"handled"`    // their status ends them, or is somebody's own text
	Elsewhere int `json:"elsewhere"`  // they do not pass where
	NotYet    int `json:"not_yet"`    // their time has not come, or they have none
	Hidden    int `json:"hidden"`     // left since they are hidden, due or not
}

// PreviewRow is one row that would go, or that cannot.
type PreviewRow struct {
	RowReport
	Advice  string          `json:"advice,omitempty"`
	Message *PreviewMessage `json:"message,omitempty"`
}

// PreviewMessage is a rendered message. The fields are as the job and the row write
// them; From is the account's.
type PreviewMessage struct {
	To          string `json:"to"`
	Cc          string `json:"cc,omitempty"`
	Bcc         string `json:"bcc,omitempty"`
	ReplyTo     string `json:"reply_to,omitempty"`
	Subject     string `json:"subject"`
	Text        string `json:"text,omitempty"`
	HTML        string `json:"html,omitempty"`
	Unsubscribe string `json:"unsubscribe,omitempty"`
	PartsOut    bool   `json:"parts_left_out,omitempty"` // the answer would have been too long
}

// LeftOut counts what an answer would have been too long with.
type LeftOut struct {
	Rows  int `json:"rows"`  // that would not go
	Parts int `json:"parts"` // messages that are shown without their parts
}

// PreviewFault says why there is no preview.
type PreviewFault string

const (
	PreviewNoSheet  PreviewFault = "no_sheet"  // the sheet cannot be read, or the job does not fit it
	PreviewNoLedger PreviewFault = "no_ledger" // the ledger cannot be read
	PreviewNoRow    PreviewFault = "no_row"    // no row has the key
	PreviewRowFault PreviewFault = "row_fault" // the row makes no message
	PreviewBadTo    PreviewFault = "bad_to"    // the test has no address to go to
	PreviewNotSent  PreviewFault = "not_sent"  // the mail server did not take the test
)

// PreviewError is a preview that could not be made. Its text is for people.
type PreviewError struct {
	Fault PreviewFault
	Text  string
	Err   error // the cause, for the log; nil: none
}

func (e *PreviewError) Error() string { return e.Text }
func (e *PreviewError) Unwrap() error { return e.Err }

// Preview answers what a run would do now. Its errors are *PreviewError, ErrNoMail,
// ErrClosing, and that of an ended context.
func (s *Service) Preview(ctx context.Context, r PreviewRequest) (Preview, error) {
	job, ok := s.Jobs[r.Job]
	if !ok {
		return Preview{}, fmt.Errorf("there is no job %q", r.Job)
	}
	if job.ClaimOnly {
		return Preview{}, ErrNoMail
	}
	if !s.enter() {
		return Preview{}, ErrClosing
	}
	defer s.wg.Done()
	w := s.Worker()
	w.Observe = nil // a preview is no run
	return w.Preview(ctx, job, r)
}
