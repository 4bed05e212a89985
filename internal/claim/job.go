package claim

import "time"

// OnDoubt says what a doubt does to the rest of the batch.
type OnDoubt string

const (
	Stop OnDoubt = "stop" // nothing more is sent; the rest is given back
	Skip OnDoubt = "skip" // only the doubtful rows are left out
)

// CatchUp says what becomes of the rows that came due for ticks that were missed.
type CatchUp string

const (
	CatchAll    CatchUp = "all"    // they are mailed
	CatchNewest CatchUp = "newest" // those of the newest missed tick are mailed, the others left
	CatchNone   CatchUp = "none"   // they are left
)

// TickPrefix begins the id of each run that a schedule asked for.
const TickPrefix = "cron-"

// TickLayout is the rest of it: the minute of the tick in UTC.
const TickLayout = "20060102T1504Z"

// TickID names the run of a tick: cron-20261130T0905Z. Ids are in the order of time.
func TickID(tick time.Time) string { return TickPrefix + tick.UTC().Format(TickLayout) }

// Job is what the method needs to know of a job; internal/job makes it from the
// configuration.
type Job struct {
	Name          string
	Target        Target
	Zone          *time.Location // nil: the spreadsheet's own
	Delay         time.Duration  // a row is due once its due time + Delay has come
	MaxLateness   time.Duration  // rows due longer ago are left and reported; 0: off
	Limit         int            // rows that one run may claim
	Wait          time.Duration  // between the claim's answer and the second look
	Lease         time.Duration  // renewed while the run lives
	OnDoubt       OnDoubt
	MaxAttempts   int
	RetryAfter    time.Duration
	FirstRunLimit int  // rows that the very first run may mail unconfirmed; 0: off
	ClaimOnly     bool // it has no message: its rows are only claimed, for callers that do the work
	SkipHidden    bool // leave rows hidden by hand or by a filter
	CatchUp       CatchUp

	// Missed answers the ticks of the schedule that came after the one which a run is
	// named after, and for which it is too late now; nil: no schedule. It goes by zone if the
	// schedule's own is not known; nobody knows while neither is.
	Missed func(lastRun string, now time.Time, zone *time.Location) (ticks []time.Time, known bool)

	// Normal brings a key to its Unicode normal form (NFC); nil: keys stay as they are.
	Normal func(key string) string

	// Open says whether the job's send window is open at t, and if not when it opens
	// next; nil: always open. Its times of day are those of zone.
	Open func(t time.Time, zone *time.Location) (open bool, next time.Time)

	// Bind fits the job to a header as the sheet shows it. Its error is for people:
	// which name was expected, and which headers were found.
	Bind func(header []string, zone *time.Location) (Binding, error)
}

// Binding is a job fitted to one header.
type Binding interface {
	// Columns says where the mapped columns are.
	Columns() Columns
	// Used answers every column that the job reads, in ascending order.
	Used() []int
	// Passes evaluates where. An error is a fault of the row.
	Passes(r Row) (bool, error)
	// Draft renders the message of a row; Draft.ID and Draft.Date are left to the
	// caller. An error is a fault of the row.
	Draft(r Row) (Draft, error)
}
