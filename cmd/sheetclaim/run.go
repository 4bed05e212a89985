package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

type runCmd struct {
	Job    string  `arg:"" optional:"" help:"The job; may be left out where only one is configured."`
	RunID  *string `name:"run-id" help:"Names the run: the same id again answers its result instead of running twice." placeholder:"ID"`
	DryRun bool    `name:"dry-run" help:"Show what would be sent; touch nothing."`
	Limit  *int    `help:"Send at most N rows." placeholder:"N"`
	Yes    bool    `help:"Confirm a first run over more rows than first_run_limit, or a run of a job that rests."`
	JSON   bool    `name:"json" help:"Print the run document alone on stdout."`
}

// Help is the long help of run.
func (runCmd) Help() string {
	return `Exit status: 0 for sent, nothing_due, overlapped and dry_run; 1 for partial and
stopped; 2 for failed, a usage or configuration error, or when nothing could be tried.`
}

// Run carries out one run and waits for its end.
func (c *runCmd) Run(ctx context.Context, m *Main, opts *cli) (err error) {
	cfg, name, err := m.loadJob(opts.Config, c.Job)
	if err != nil {
		return err
	}
	req := claim.Request{Job: name, DryRun: c.DryRun, Confirmed: c.Yes}
	if c.Limit != nil {
		if req.Limit = *c.Limit; req.Limit < 1 {
			return fmt.Errorf("--limit must be at least 1, not %d", req.Limit)
		}
	}
	req.RunID = "cli-" + m.Now().UTC().Format("20060102T150405Z") + "-" + randomText(6)
	if c.RunID != nil {
		req.RunID = *c.RunID
	}
	if err := checkRunID(req.RunID); err != nil {
		return err
	}
	if opts.LogLevel == "info" && !c.JSON {
		m.log = newLogger(m.Stderr, opts.LogFormat, "warn") // the table tells the rest
	}
	p, err := m.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	doc, err := m.carry(ctx, p, req)
	if err != nil {
		return err
	}
	m.deliver(ctx, p)
	if c.JSON {
		enc := json.NewEncoder(m.Stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(doc)
	} else {
		err = printRun(m.Stdout, doc)
	}
	if err != nil {
		return err
	}
	return runStatus(doc.Outcome)
}

// loadJob reads the configuration and finds the job that is meant.
func (m *Main) loadJob(config, name string) (*job.Config, string, error) {
	cfg, err := m.load(config)
	if err != nil {
		return nil, "", err
	}
	name, err = theJob(cfg, name)
	return cfg, name, err
}

// theJob finds the job that is meant.
func theJob(cfg *job.Config, name string) (string, error) {
	if name != "" {
		if _, ok := cfg.Jobs[name]; !ok {
			return "", fmt.Errorf("there is no job %q; the configuration has %s", name, strings.Join(cfg.JobNames(), ", "))
		}
		return name, nil
	}
	if len(cfg.Jobs) != 1 {
		return "", fmt.Errorf("which job? The configuration has %s", strings.Join(cfg.JobNames(), ", "))
	}
	return cfg.JobNames()[0], nil
}

// checkRunID refuses what the API refuses too.
func checkRunID(id string) error {
	if !claim.IsRunID(id) {
		return fmt.Errorf("--run-id takes %s, not %q", claim.RunIDRule, id)
	}
	return nil
}

// carry starts a run, shows its progress and waits. A stop that is asked for while
// it runs lets it finish in good order.
func (m *Main) carry(ctx context.Context, p *parts, r claim.Request) (claim.Document, error) {
	t, err := p.service.Start(ctx, r)
	if err != nil {
		return claim.Document{}, err
	}
	show := newProgress(m.Stderr)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for stop := ctx.Done(); ; {
		select {
		case <-t.Done():
			show.clear()
			return t.Document(), nil
		case <-stop:
			stop = nil
			go p.service.Close()
		case <-tick.C:
			show.show(t.Document())
		}
	}
}

// deliver sends queued alerts before a one-shot command ends. What cannot be
// delivered stays in the ledger.
func (m *Main) deliver(ctx context.Context, p *parts) {
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if _, pending, err := p.alerts.Flush(ctx); err != nil {
		m.log.Warn("alerts could not be delivered; they are kept for the next run", "pending", pending, "error", err)
	}
}

// runStatus is the exit status of an outcome.
func runStatus(o claim.RunOutcome) error {
	switch o {
	case claim.RunSent, claim.RunNothingDue, claim.RunOverlapped, claim.RunDry:
		return nil
	case claim.RunPartial, claim.RunStopped:
		return &statusError{code: exitSome}
	case claim.RunFailed:
		return &statusError{code: exitError}
	}
	return &statusError{code: exitError}
}

// printRun writes a run for people.
func printRun(w io.Writer, d claim.Document) error {
	fmt.Fprintf(w, "run %s of %s: %s\n%s\n", d.RunID, d.Job, d.Outcome, d.Detail)
	if len(d.Rows) > 0 {
		tw := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
		fmt.Fprintln(tw, "\nROW\tKEY\tOUTCOME\tADDRESS\t"+lastColumn(d))
		for _, r := range d.Rows {
			why := cmp.Or(r.Reason, r.SMTPReply, r.Subject)
			if r.Hidden && d.Outcome == claim.RunDry && r.Outcome == claim.Would {
				why += " (the row is hidden)"
			}
			if r.Outcome == claim.Unknown {
				why += "; look for Message-ID " + r.MessageID
			}
			if r.Due != nil {
				why += "; due since " + r.Due.Format(time.RFC3339)
			}
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", r.Row, plain(r.Key), r.Outcome, plain(r.Email), plain(why))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	for _, doubt := range d.Doubts {
		where := ""
		if doubt.Key != "" {
			where = fmt.Sprintf(" (row %d, key %s)", doubt.Row, plain(doubt.Key))
		}
		fmt.Fprintf(w, "\n%s%s: %s\n  %s\n", doubt.Kind, where, plain(doubt.Detail), doubt.Advice)
	}
	return nil
}

// lastColumn heads what a run says of each row.
func lastColumn(d claim.Document) string {
	if d.Outcome == claim.RunDry {
		return "SUBJECT OR REASON"
	}
	return "REASON OR REPLY"
}

// plain keeps what came from a cell or a server from steering the terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
