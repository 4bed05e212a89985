package main

import (
	"context"
	"io"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/check"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
)

type checkCmd struct {
	Job           string `arg:"" optional:"" help:"Only this job."`
	JSON          bool   `name:"json" help:"Print the findings alone on stdout, as one document."`
	SendTestAlert bool   `name:"send-test-alert" help:"Send a test alert on every alert route; without it the routes are only connected to."`
	LiveRace      bool   `name:"live-race" help:"Let three claimers race on a scratch tab of the job's real spreadsheet, against a mail catcher, and remove the tab."`
	Yes           bool   `help:"Make the scratch tab of --live-race without asking."`
}

// Help is the long help of check.
func (checkCmd) Help() string {
	return `Looks at everything that a run needs, in the order in which to mend it, and goes on
after a failure as far as that makes sense. It sends no mail and changes no cell: whether
the account may write is tried with a replacement of a text that is nowhere in the sheet.

--live-race looks at one thing only: it makes a tab of its own in the job's spreadsheet,
lets three runs claim the same rows at once, over one ledger and then with a ledger each,
against a mail catcher in this process, asks Google what it does not document, and removes
the tab. No other tab is written and no mail leaves.

Exit status: 0 when nothing failed (warnings allowed), 1 when something failed, 2 for
usage, the configuration, the login to Google, or a sheet that cannot be reached.`
}

// Run looks at everything and tells what it found.
func (c *checkCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	if opts.LogLevel == "info" {
		m.log = newLogger(m.Stderr, opts.LogFormat, "error") // the findings tell the rest
	}
	r := &check.Report{Title: opts.Config}
	if !c.JSON {
		r.Watch = func(f check.Finding) { check.Print(m.Stdout, f) }
	}
	if err := c.carry(ctx, m, opts, r); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &statusError{code: exitError, text: "stopped before everything was looked at"}
	}
	return c.tell(m.Stdout, r)
}

// carry reads the configuration and looks at what it names.
func (c *checkCmd) carry(ctx context.Context, m *Main, opts *cli, r *check.Report) error {
	cfg, err := m.load(opts.Config)
	if err != nil {
		r.BadConfig(err)
		return nil
	}
	jobs := cfg.JobNames()
	if c.Job != "" || c.LiveRace {
		name, err := theJob(cfg, c.Job)
		if err != nil {
			return err
		}
		jobs = []string{name}
	}
	if c.LiveRace {
		return m.liveRace(ctx, cfg, jobs[0], c.Yes, r)
	}
	k := &checker{m: m, cfg: cfg, r: r}
	defer k.close()
	k.everything(ctx, jobs, c.SendTestAlert)
	return nil
}

// tell ends the report and answers the exit status.
func (c *checkCmd) tell(w io.Writer, r *check.Report) error {
	if c.JSON {
		if err := r.JSON(w); err != nil {
			return err
		}
	} else {
		io.WriteString(w, "\n"+r.Summary()+"\n") //nolint:errcheck // as fmt.Fprint: the reader may be gone
	}
	switch {
	case r.Unset():
		return &statusError{code: exitError}
	case r.Count(check.Fail) > 0:
		return &statusError{code: exitSome}
	}
	return nil
}

// checker looks at the parts of a configuration, one after the other.
type checker struct {
	m      *Main
	cfg    *job.Config
	r      *check.Report
	book   *checkedBook
	client *sheets.Client
	// took is how long the call took whose answer the clock is compared with, at most.
	took time.Duration
}

// everything is the order in which a person mends things.
func (k *checker) everything(ctx context.Context, jobs []string, sendAlert bool) {
	k.r.Config(k.cfg)
	k.ledger(ctx)
	mail := k.openMailer()
	k.google(ctx, jobs, mail)
	works := mail != nil && k.mail(ctx, mail)
	k.alerts(ctx, mail, works, sendAlert)
	if mail != nil {
		_ = mail.Close() // it has said all that it had to
	}
	k.clock()
}

func (k *checker) close() {
	if k.book != nil {
		k.book.close()
	}
}

// clock compares the machine's clock with Google's.
func (k *checker) clock() {
	if k.client == nil {
		return
	}
	c, ok := k.client.Clock()
	if !ok {
		return // nothing was answered, which has been said
	}
	whose := "Google"
	if k.cfg.Google.Emulated() {
		whose = "the emulator"
	}
	k.r.Clock(c.Ours, c.Theirs, whose, k.took)
}
