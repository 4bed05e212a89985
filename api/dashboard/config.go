package dashboard

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/key"
)

// Config is what the page shows, and to whom. Runs and Desk have to be there.
type Config struct {
	Jobs []Job
	Runs Runs
	Desk Desk
	// Live has the runs of this process while they go on; nil: they are seen through Runs,
	// step by step.
	Live Live
	// Record has what else is remembered of runs and messages; nil: nothing is shown of it.
	Record Record
	// Preview answers what a run would do now; nil: there are no previews.
	Preview Previewer
	// Start starts a run, or attaches to it; nil: none can be started from here.
	Start func(ctx context.Context, r claim.Request) error
	// NewRunID names a run that is started from the page. Start needs it.
	NewRunID func() string
	// History answers how a job's runs lay in time, and Overlap what that means; nil: the
	// page has no view of it.
	History func(ctx context.Context, job string, since time.Time) (claim.History, error)
	Overlap func(ctx context.Context, job string) (claim.Overlap, error)
	// Keys is the ledger of keys for any action, for viewers that are not bound to jobs;
	// nil: there is none.
	Keys key.Book
	// Settled is told the job of a message that was settled as sent; it must not block.
	Settled func(job string)

	// Tokens let viewers in; none: whoever gets here may see everything.
	Tokens []Token
	// Login answers the name of the token that somebody sent, or "" and how long that
	// address is to wait when it has sent too many wrong ones.
	Login func(r *http.Request, token string) (name string, wait time.Duration)

	// SheetURL is where a place in a sheet is seen, "" if nowhere; nil: at Google.
	SheetURL func(Place) string
	Log      *slog.Logger // nil: slog.Default
}

// Place is a row of a sheet, or the sheet.
type Place struct {
	Spreadsheet, Tab string
	TabID            *int64 // nil: not known
	Range            string // that has the row; "": not known
	Row              int    // 0: the whole tab
}

// Job is a configured job as the page shows it.
type Job struct {
	Name     string
	Schedule string // as configured; "": none
	Next     func() []time.Time

	ClaimOnly     bool // its callers send: there is nothing to preview, and nothing to run
	FirstRunLimit int  // rows that its very first run may mail unconfirmed; 0: off
}

// Token is one with which a viewer logs in.
type Token struct {
	Name, Token string
	Jobs        []string // that it is bound to; nil: all
	ReadOnly    bool     // its viewers look, and change nothing
}

// Runs remembers runs; it is the reading half of claim.Runs.
type Runs interface {
	Find(ctx context.Context, job, id string) (claim.RunRecord, error)
	Recent(ctx context.Context, job string, limit int) ([]claim.RunRecord, error)
}

// Desk is where messages wait for a person's word, as api.Desk says.
type Desk interface {
	Waiting(ctx context.Context, b claim.Book) ([]claim.Message, error)
	Settle(ctx context.Context, s claim.Settlement) error
}

// Previewer makes previews, as api.Previewer says.
type Previewer interface {
	Preview(ctx context.Context, r claim.PreviewRequest) (claim.Preview, error)
}

// Live is claim.Service for those who watch.
type Live interface {
	Live() []claim.Document
	Changed() <-chan struct{}
}

// Record is what the ledger remembers beside runs.
type Record interface {
	AlertsOf(ctx context.Context, job, run string, since time.Time) ([]claim.KeptAlert, error)
	Answers(ctx context.Context, job, key string, limit int) ([]claim.Answer, error)
}

// complete fills the defaults in.
func (c Config) complete() (Config, error) {
	if c.Runs == nil || c.Desk == nil || len(c.Tokens) > 0 && c.Login == nil {
		return c, errors.New("dashboard: Runs and Desk are needed, and with tokens Login")
	}
	c.Jobs = slices.SortedFunc(slices.Values(c.Jobs), func(a, b Job) int { return cmp.Compare(a.Name, b.Name) })
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Live == nil {
		c.Live = nobody{}
	}
	if c.Record == nil {
		c.Record = nothing{}
	}
	if c.Settled == nil {
		c.Settled = func(string) {}
	}
	if c.SheetURL == nil {
		c.SheetURL = googleURL
	}
	return c, nil
}

// nobody runs here.
type nobody struct{}

func (nobody) Live() []claim.Document   { return nil }
func (nobody) Changed() <-chan struct{} { return nil }

// nothing is remembered.
type nothing struct{}

func (nothing) AlertsOf(context.Context, string, string, time.Time) ([]claim.KeptAlert, error) {
	return nil, nil
}

func (nothing) Answers(context.Context, string, string, int) ([]claim.Answer, error) {
	return nil, nil
}
