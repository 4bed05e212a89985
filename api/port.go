package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Starter starts the run that a request names, attaches to it, or answers its
// result. Its errors are claim.ErrReused, claim.ErrNoMail, claim.ErrClosing, a
// *claim.SheetError when a dead run of that name cannot be settled yet, and otherwise
// the ledger's.
type Starter interface {
	Start(ctx context.Context, r claim.Request) (Run, error)
	// Receive takes a caller's word on a row that it was handed, and answers the message
	// as it then is. Its errors are claim.ErrNoRun, claim.ErrNoClaim, claim.ErrNotHanded,
	// claim.ErrSettled, claim.ErrClosing, claim.ErrNotSheet (the word was taken), and
	// otherwise the ledger's.
	Receive(ctx context.Context, r claim.Receipt) (claim.Message, error)
}

// Run is a hold on a run.
type Run interface {
	Document() claim.Document // as it is now
	Done() <-chan struct{}    // closed when there is nothing more to wait for
	Replayed() bool           // the run had ended before it was asked for
	// Collect fetches the rows of a run that only claims, once.
	Collect(ctx context.Context) []claim.Handed
}

// Finder remembers runs; it is the reading half of claim.Runs.
type Finder interface {
	// Find answers the newest run of that name, or claim.ErrNoRun.
	Find(ctx context.Context, job, id string) (claim.RunRecord, error)
	// Recent answers the newest runs first; job "" means all jobs.
	Recent(ctx context.Context, job string, limit int) ([]claim.RunRecord, error)
}

// Previewer answers what a run would do now.
type Previewer interface {
	// Preview touches neither sheet nor ledger. Its errors are a *claim.PreviewError,
	// claim.ErrNoMail, claim.ErrClosing, and that of an ended context.
	Preview(ctx context.Context, r claim.PreviewRequest) (claim.Preview, error)
}

// Desk is where messages wait for a person's word.
type Desk interface {
	// Waiting answers the messages of a book that wait: those of unknown fate, and those
	// that a person wants sent again. Spreadsheet "" means all of the job's.
	Waiting(ctx context.Context, b claim.Book) ([]claim.Message, error)
	// Settle takes a person's word on one of them. Spreadsheet "" means the one in which
	// the key waits. Its errors are a *SeveralError, claim.ErrNoMessage,
	// claim.ErrNotUnknown, claim.ErrNotEnded, claim.ErrNoReason, and otherwise the
	// ledger's.
	Settle(ctx context.Context, s claim.Settlement) error
}

// SeveralError says that a key alone does not name a message.
type SeveralError struct {
	Key          string
	Spreadsheets []string // in which it waits
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("the key %q waits in %d spreadsheets (%s)", e.Key, len(e.Spreadsheets), strings.Join(e.Spreadsheets, ", "))
}

// emptyDesk is where nothing waits.
type emptyDesk struct{}

func (emptyDesk) Waiting(context.Context, claim.Book) ([]claim.Message, error) { return nil, nil }
func (emptyDesk) Settle(context.Context, claim.Settlement) error               { return claim.ErrNoMessage }

// Service makes a Starter of a claim.Service.
func Service(s *claim.Service) Starter { return service{s} }

type service struct{ *claim.Service }

// Start hides claim.Service.Start, whose ticket is a struct.
func (s service) Start(ctx context.Context, r claim.Request) (Run, error) {
	t, err := s.Service.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	return ticket{t}, nil
}

type ticket struct{ *claim.Ticket }

func (t ticket) Replayed() bool { return t.Ticket.Replayed }
