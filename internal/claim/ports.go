package claim

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sheet is the spreadsheet as the method sees it. No method is tried again behind
// the caller's back except a read. Implementations keep the quota of the account.
type Sheet interface {
	// Read reads rows of a target in one response, so that it shows one state. Its
	// errors are *SheetError. Ask.Fence makes it wait for the quota of the claim that
	// follows too, so that nothing has to be waited for between read and claim.
	Read(ctx context.Context, t Target, ask Ask) (*Grid, error)

	// Claim applies one fenced batch, sent once, to the tab of g. The answer holds the
	// claimed rows and the header as they are after it. Errors: ErrFenced when the
	// number is used up (nothing was applied), *UnclearError when nobody can know, any
	// other error when the batch was refused whole. A batch without cells uses up its
	// number.
	Claim(ctx context.Context, g *Grid, b Batch) (*Grid, error)

	// Replace changes, in one all-or-nothing call, every cell of a column whose whole
	// text is From into To, and answers how many cells each replacement changed. After
	// an *UnclearError it may be sent again: a second time it finds nothing.
	Replace(ctx context.Context, g *Grid, rs []Replacement) ([]int, error)

	// Prune deletes entries of the fence.
	Prune(ctx context.Context, g *Grid, old []Stamp) error
}

// Ask says what a read is to fetch beside the header row, which always comes.
type Ask struct {
	Tab     *Tab  // the tab that an earlier read found; nil: as the target names it
	Columns []int // columns of the header; nil: all of the range
	Rows    []int // row numbers; nil: all of the range
	Fence   bool  // the fence's entries too
	// Keep, of a read of all columns and rows, answers by the header which columns to
	// keep, ascending; nil: all. The others only tell whether they hold something.
	Keep func(header []string) []int
}

// Stamp is one entry of the fence: developer metadata on the tab.
type Stamp struct {
	ID     int64  // the metadata id; a read fills it in, a claim derives it from tab and N
	N      uint64 // counts the claims made on this tab, by anyone
	Mark   string // the claim batch
	Ledger string // id of the ledger behind it
	Count  uint64 // counts the claims of that ledger
}

// Batch is one claim: a fence entry and the texts that it writes.
type Batch struct {
	Stamp Stamp
	Cells []BatchCell
	Rows  []int // row numbers to answer with
	Cols  []int // columns of the header to answer with
}

// BatchCell is one cell of a batch, addressed by where the second read saw it.
type BatchCell struct {
	Row    int    // row number
	Column int    // column of the header
	Text   string // the claim text
	Held   string // not "": written only if the cell still holds exactly this
}

// Replacement is one conditional change in a whole column of the header.
type Replacement struct {
	Column   int
	From, To string
}

// ErrFenced says that the fence refused a batch because its number is used up.
var ErrFenced = errors.New("the fence refused the claim: another claim was made since the sheet was read")

// UnclearError says that a write may or may not have been applied.
type UnclearError struct{ Err error }

func (e *UnclearError) Error() string {
	return fmt.Sprintf("no clear answer, the write may have been applied: %v", e.Err)
}
func (e *UnclearError) Unwrap() error { return e.Err }

// SheetError is a read or write that was refused, in words for the person who set
// the job up.
type SheetError struct {
	Problem string // what was expected and what was found
	Advice  string // what to do now
	Setup   bool   // it will not go away by itself
	Gone    bool   // the tab that an earlier read found was deleted
	Err     error
}

func (e *SheetError) Error() string {
	if e.Advice == "" {
		return e.Problem
	}
	return e.Problem + ": " + e.Advice
}
func (e *SheetError) Unwrap() error { return e.Err }

// Mailer turns drafts into letters and hands them to a mail server.
type Mailer interface {
	// Compose renders the whole message. An error is a fault of the row.
	Compose(d Draft) (Letter, error)
	// Login makes sure that a logged-in connection can be had; the claim step calls it
	// so that a refused login never touches a row. The error is for people.
	Login(ctx context.Context) error
	// Send carries out one transaction for one letter. It never answers "error": see
	// Result. A context that ends before the final dot stops it, one that ends after
	// it does not.
	Send(ctx context.Context, l Letter, h Hooks) Result
}

// Hooks are called from inside a transaction.
type Hooks struct {
	// Begin is called when a connection and its turn under the rate are there, right
	// before the first command of the transaction; again when a reused connection
	// turns out to be dead at that command.
	Begin func() error
	// Commit is called after the content and before the final dot. It makes the intent
	// durable; when it fails, the connection is closed hard and nothing was sent.
	Commit func() error
}

// Draft is a message as a job writes it, before it is a letter.
type Draft struct {
	To          string // the cell: one address, or several divided by , or ;
	Cc, Bcc     string
	ReplyTo     string
	Subject     string
	Text, HTML  string // either may be empty
	Unsubscribe string // URL of a one-click unsubscribe
	ID          string // stable per message key: the left side of the Message-ID
	Date        time.Time
	Test        bool // to somebody of the house who wants to see it: a header says so
}

// Letter is a whole message, ready for the wire.
type Letter struct {
	MessageID string   // with its angle brackets
	Key       string   // the row's key, for log lines
	To        []string // envelope recipients
	UTF8      bool     // some local part needs SMTPUTF8
	Bytes     []byte
}

// Ledger is the book. It decides between our own runs, atomically, and remembers
// every attempt. Every method is one transaction, on disk when it returns.
type Ledger interface {
	// Lookup answers the newest generation of each key that it knows.
	Lookup(ctx context.Context, b Book, keys []string) (map[string]Message, error)
	// Held answers the messages that a run holds, or was the last to hold.
	Held(ctx context.Context, run RunRef) ([]Message, error)
	// Waiting answers the newest generations of a book that wait for a person (unknown,
	// and nobody has settled them) or that a person wants sent again. Spreadsheet ""
	// means all of the job's.
	Waiting(ctx context.Context, b Book) ([]Message, error)
	// Take takes keys for a run: each entry of the answer says whether it was taken. A
	// key is given when the ledger does not know it, when its newest generation is
	// Returned, or Verified with outcome Failed, or when Take.Generation is one above a
	// newest generation that has ended. Only while the run's lease holds.
	Take(ctx context.Context, run RunRef, takes []Take) ([]bool, error)
	// Move moves claims; each entry of the answer says whether it moved. Refused moves
	// change nothing and are no error.
	Move(ctx context.Context, run RunRef, ms []Move) ([]bool, error)
	// OpenBatch writes down a claim batch before it is sent, with the cells that it is
	// about to overwrite, and answers the ledger's id and its count for the fence.
	OpenBatch(ctx context.Context, run RunRef, b OpenBatch) (ledger string, count uint64, err error)
	// CloseBatch writes down the answer to a batch.
	CloseBatch(ctx context.Context, mark string, applied bool) error
	// Orphans answers the claims of a job ("": of any job) that have not ended and whose runs have no
	// lease any more, with their batches, and batches of such runs without an answer.
	Orphans(ctx context.Context, job string) ([]Message, []OpenBatch, error)
	// Rewound reports whether the ledger has gone back in time: seen is a count under
	// its own id that it has not reached. It then moves its count there, so that it is
	// said once.
	Rewound(ctx context.Context, ledger string, seen uint64) (bool, error)
	// FenceBefore answers the greatest fence number that a batch of this ledger had on a
	// tab before t; 0 if there was none.
	FenceBefore(ctx context.Context, spreadsheet string, tab int64, t time.Time) (uint64, error)
	// Strays answers what is known of claim texts that were found in a sheet, in the
	// same order, and how long the job's slowest run took.
	Strays(ctx context.Context, b Book, found []Stray) (known []Stray, slowest time.Duration, err error)
	// Renew prolongs the lease of a run that still has one; false: it has ended.
	Renew(ctx context.Context, run RunRef, lease time.Duration) (bool, error)
	// Report queues alerts that belong to no move. An alert with Once set is queued only
	// when its text differs from the last one reported under that name.
	Report(ctx context.Context, run RunRef, rs []Report) error
	// Paused answers until when a job is to start no run, because its account had a
	// fault; zero if it may.
	Paused(ctx context.Context, job string) (until time.Time, err error)
	// Ran reports whether the job has ever claimed a row.
	Ran(ctx context.Context, job string) (bool, error)
	// Pause sets the time until which a job starts no run.
	Pause(ctx context.Context, job string, until time.Time) error
	// Running answers the runs of a job that have a lease, newest first.
	Running(ctx context.Context, job string) ([]RunRecord, error)
	// LastTicks answers the last runs of a job in the order of their ids, the last first,
	// among those whose ids begin with TickPrefix and do not come after upTo. Anybody may
	// name a run so: the names of the future are not to be mistaken for ticks.
	LastTicks(ctx context.Context, job, upTo string, limit int) ([]RunRecord, error)
	// MissedTicks writes down that ticks were missed. Said again it changes nothing; with
	// a later end it is the same downtime, which went on.
	MissedTicks(ctx context.Context, job string, d Downtime) error
	// Downtimes answers what MissedTicks wrote down for a job, oldest first.
	Downtimes(ctx context.Context, job string) ([]Downtime, error)
}

// Downtime is a stretch of time whose ticks made no run. Rows that came due in it,
// after Began and up to Ended, are left.
type Downtime struct {
	Began time.Time // the start of the last run that a tick made
	Ended time.Time // the last tick that is not made up for
}

// Book names the memory that a job has of one spreadsheet.
type Book struct{ Job, Spreadsheet string }

// MessageKey names one message: the promise is at most one of these.
type MessageKey struct {
	Book
	Key        string // the row's own key
	Generation int    // counts from 1; one more for every wish to send it again
}

// RunRef names a run. Seq is the ledger's own number for it, since run ids may
// repeat.
type RunRef struct {
	Job string
	ID  string
	Seq int64
}

// Message is what the ledger knows of one message.
type Message struct {
	MessageKey
	State     State
	Outcome   Outcome // "" until settled
	Attempts  int     // transactions that counted so far
	RetryAt   time.Time
	Run       RunRef    // the run that holds or last held it
	ClaimedAt time.Time // when the run took it
	Claim     string    // claim text
	Mark      string    // claim batch
	Range     string
	Tab       Tab
	Row       int // row number when it was claimed, for people
	Before    Before
	Status    string // the text that the sheet is to show
	From      string // the text that it shows until then; "": the claim text
	Wish      bool   // a person wants it sent again, as a new generation
	SettledBy string // who settled an unknown; "": it waits for a person
	Rewound   bool   // of an orphan: claimed before the ledger went back in time
	Reason    string // the last problem, in words
	MessageID string
	Reply     string // the server's last reply
	SettledAt time.Time
}

// Before is what stood in the cells of a row before its claim, by written column
// name: status, note, sent_at, claimed_at, claimed_by, attempts.
type Before map[string]string

// Take asks for one key.
type Take struct {
	MessageKey
	Claim, Mark string
	Range       string
	Tab         Tab
	Row         int
	Attempts    int // the cell's own count, when it is greater than the ledger's
}

// Move asks for one move of one claim.
type Move struct {
	MessageKey
	Claim string  // the very claim that is meant
	From  []State // any of these
	To    State
	// Lease: only while the run's lease has not ended, by the ledger's own clock, judged
	// inside the transaction.
	Lease bool
	// If, when set, judges the message as the ledger holds it; false refuses the move.
	If func(m Message) bool
	// Set edits the message inside the transaction. It may be called more than once.
	Set func(m *Message)
	// Attempt is kept for ever when it is not nil.
	Attempt *Attempt
	Alerts  []Alert
	Event   string // what happened, in words, for the record of events
}

// Attempt is one try to hand over a message.
type Attempt struct {
	Number    int
	Verdict   Verdict // "" while the final dot is under way
	Step      string
	Reply     string
	MessageID string
	At        time.Time
}

// OpenBatch is a claim batch on its way, with what it is about to overwrite.
type OpenBatch struct {
	Mark        string
	Run         RunRef
	Target      Target
	Tab         Tab
	N           uint64
	Claims      []MessageKey
	Before      map[string]Before // by key: what stood in the rows that are claimed
	Seen        map[string]Before // by key: what stood in the rows around them
	Ledger      string
	LedgerCount uint64
	Answered    bool // whether it was applied is written down:
	Applied     bool
}

// Stray is a claim text that was found in a sheet.
type Stray struct {
	Key        string // of its row
	Text, Mark string
	Own        bool      // a batch of this ledger had the mark
	Alive      bool      // and its run still lives
	Since      time.Time // not own: when the ledger was first asked about the text
}

// Report is an alert that belongs to no move.
type Report struct {
	Alert Alert
	// Once, when not "", names the thing that is reported; Text is its present form. It
	// is reported again only when Text changes. An empty Text says that it is over.
	Once, Text string
}
