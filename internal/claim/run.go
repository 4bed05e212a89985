package claim

import (
	"context"
	"strings"
	"time"
)

// RunOutcome is the end of a run, in the order in which the first that fits is
// taken.
type RunOutcome string

const (
	RunFailed     RunOutcome = "failed"      // nothing could be handled
	RunStopped    RunOutcome = "stopped"     // a doubt or the account's fault ended it early
	RunPartial    RunOutcome = "partial"     // a row failed, gave up, was rejected, is unknown or was skipped
	RunSent       RunOutcome = "sent"        // every due row was sent
	RunOverlapped RunOutcome = "overlapped"  // other runs had the rows
	RunNothingDue RunOutcome = "nothing_due" // no row was due
	RunDry        RunOutcome = "dry_run"     // asked to touch nothing
)

// RunState says whether a run still goes on.
type RunState string

const (
	RunRunning  RunState = "running"
	RunFinished RunState = "finished"
)

// Counts are a run's rows by what became of them.
type Counts struct {
	Due       int `json:"due"` // before limit
	Claimed   int `json:"claimed"`
	Confirmed int `json:"confirmed"`
	Sent      int `json:"sent"`
	Failed    int `json:"failed"`
	GaveUp    int `json:"gave_up"`
	Rejected  int `json:"rejected"`
	Unknown   int `json:"unknown"`
	Taken     int `json:"taken"`    // another run had the row
	Released  int `json:"released"` // given back unsent
	Skipped   int `json:"skipped"`  // row faults and rows left in doubt
}

// RowReport is what became of one row.
type RowReport struct {
	Row       int        `json:"row"`
	Key       string     `json:"key"`
	Email     string     `json:"email,omitempty"`
	Hidden    bool       `json:"hidden,omitempty"`  // by hand or by a filter
	Subject   string     `json:"subject,omitempty"` // of a dry run
	Due       *time.Time `json:"due,omitempty"`     // of a dry run: since when it is due, in the job's zone
	Outcome   Outcome    `json:"outcome,omitempty"` // absent while the row is under way
	Attempt   int        `json:"attempt,omitempty"`
	MessageID string     `json:"message_id,omitempty"`
	SMTPReply string     `json:"smtp_reply,omitempty"`
	Status    string     `json:"status,omitempty"` // the text of the status cell
	Reason    string     `json:"reason,omitempty"`
	At        *time.Time `json:"at,omitempty"`
}

// APICalls counts the calls to the Sheets API that a run made.
type APICalls struct {
	Reads  int `json:"reads"`
	Writes int `json:"writes"`
}

// StepTime says when a run began a step of the method.
type StepTime struct {
	Step Step      `json:"step"`
	At   time.Time `json:"at"`
}

// Document is the run document, the same from the API and from run --json.
type Document struct {
	Job        string      `json:"job"`
	RunID      string      `json:"run_id"`
	State      RunState    `json:"state"`
	Step       Step        `json:"step,omitempty"` // while it runs
	Outcome    RunOutcome  `json:"outcome,omitempty"`
	Detail     string      `json:"detail"`
	Behind     string      `json:"behind,omitempty"` // of a tick: the earlier one whose run still goes on
	StartedAt  time.Time   `json:"started_at"`
	FinishedAt *time.Time  `json:"finished_at,omitempty"`
	Counts     Counts      `json:"counts"`
	Rows       []RowReport `json:"rows"`
	Doubts     []Doubt     `json:"doubts"`
	APICalls   APICalls    `json:"api_calls"`
	Steps      []StepTime  `json:"steps,omitempty"` // in order; those of chunks come again

	// Where the rows are, once the sheet was read.
	Spreadsheet string `json:"spreadsheet,omitempty"`
	Tab         string `json:"tab,omitempty"`
	TabID       *int64 `json:"tab_id,omitempty"`
	Range       string `json:"range,omitempty"` // as it was asked for

	// Of a run that only claimed: when its rows were handed out, how many, and until when
	// they are to be settled.
	HandedOutAt *time.Time `json:"handed_out_at,omitempty"`
	HandedOut   int        `json:"count,omitempty"`
	LeaseUntil  *time.Time `json:"lease_until,omitempty"`

	// DueSince is when the first of the due rows fell due that the run left to a later
	// one; zero: it left none, or the job has no due column. It is for metrics only.
	DueSince time.Time `json:"-"`
}

// RunRequest asks for a run. (Job, ID) names one run until Memory after its end.
type RunRequest struct {
	Job, ID  string
	Params   string // spreadsheet, range, limit and dry_run: what makes it another request
	Instance string // the process that asks
	Lease    time.Duration
	Memory   time.Duration
	Once     bool // a run that claimed nothing keeps its name, too
}

// RunRecord is a run as the ledger keeps it.
type RunRecord struct {
	RunRef
	Params   string
	Instance string
	Alive    bool // it runs and its lease has not ended
	Document Document
}

// Runs is the ledger's memory of runs.
type Runs interface {
	// Begin starts a run, or answers the one that the name stands for (created false):
	// one that is running, or one that ended less than Memory ago and pins its name; with
	// r.Once it need not pin it. It does not compare Params.
	Begin(ctx context.Context, r RunRequest, now time.Time) (rec RunRecord, created bool, err error)
	// Save keeps the document of a run as it is now.
	Save(ctx context.Context, run RunRef, d Document) error
	// Finish ends a run. pins says whether it keeps its name: a run that claimed
	// nothing does not.
	Finish(ctx context.Context, run RunRef, d Document, pins bool) error
	// Find answers the newest run of that name, or ErrNoRun.
	Find(ctx context.Context, job, id string) (RunRecord, error)
	// Recent answers the newest runs first; job "" means all jobs.
	Recent(ctx context.Context, job string, limit int) ([]RunRecord, error)
	// Abandoned answers runs that are not finished and have no lease any more.
	Abandoned(ctx context.Context, job string) ([]RunRecord, error)
}

// RunIDRule says for people what IsRunID takes.
const RunIDRule = "1 to 100 letters, digits and . _ : -, not only dots"

// IsRunID reports whether a text may name a run. Names stand in paths, in cells and in
// the ledger; one of dots alone would climb in a path.
func IsRunID(s string) bool {
	const (
		longest = 100
		signs   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"
	)
	return len(s) <= longest && strings.Trim(s, signs) == "" && strings.Trim(s, ".") != ""
}
