package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/check"
	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// Names of what a live race finds.
const (
	raceWhere = "endpoint"
	raceTab   = "scratch tab"
	raceRound = "race"
	raceProbe = "google"
)

const (
	raceRuns = 3
	raceRows = 6
)

// race is a live race on a scratch tab.
type race struct {
	m       *Main
	cfg     *job.Config
	job     string
	r       *check.Report
	client  *sheets.Client
	scratch *sheets.Scratch
	sink    *smtpsink.Sink
	smtp    *job.SMTP // of the sink
	dir     string    // of the ledgers
}

// liveRace lets three claimers race on a scratch tab of a job's spreadsheet, first
// over one ledger and then with one each, and asks Google what it does not document.
func (m *Main) liveRace(ctx context.Context, cfg *job.Config, name string, yes bool, r *check.Report) error {
	k := &checker{m: m, cfg: cfg, r: r}
	s := k.openSheet(ctx, name)
	if s == nil {
		return nil
	}
	// An account that may not write to the job's own columns has no business here.
	if cols, err := s.job.Fits(s.grid); err == nil || errors.Is(err, claim.ErrFormulas) {
		s.write(ctx, cols)
	} else {
		r.Fail(checkHeaders, name, err.Error(), "correct the names in the job, or the header row of the sheet")
	}
	if r.Count(check.Fail) > 0 {
		return nil
	}
	ra := &race{m: m, cfg: cfg, job: name, r: r, client: k.client}
	tab := claim.Tab{ID: 1 + rand.Int64N(1<<31-2), Title: "sheetclaim-race-" + randomText(8)} //nolint:gosec // an id, no secret
	if err := ra.consent(tab.Title, yes); err != nil {
		return err
	}
	if cfg.Google.Emulated() {
		r.Warn(raceWhere, "", "this is the emulator at "+cfg.Google.Endpoint+": what follows proves nothing about Google", "run it again without google.endpoint and SHEETS_EMULATOR_HOST")
	} else {
		r.Ok(raceWhere, "", "this is Google")
	}
	return ra.carry(ctx, tab)
}

// openSheet logs in and reads a job's sheet; nil, after it has said why it cannot.
func (k *checker) openSheet(ctx context.Context, name string) *sheetCheck {
	s, err := k.newSheet(ctx, name)
	if err == nil {
		err = s.read(ctx)
	}
	if err != nil {
		found, todo := sheetWords(err)
		k.r.FailSetup(checkSheet, name, found, todo)
		return nil
	}
	return s
}

// consent asks before a tab is made in somebody's spreadsheet.
func (ra *race) consent(title string, yes bool) error {
	spreadsheet := ra.cfg.Jobs[ra.job].Spreadsheet
	if yes {
		return nil
	}
	fmt.Fprintf(ra.m.Stderr, "This makes a tab %s in the spreadsheet %s, lets %d runs race on it with a mail catcher,\nand removes it. No other tab is written, and no mail leaves. Go on? [y/N] ", title, spreadsheet, raceRuns)
	answer, _ := bufio.NewReader(ra.m.Stdin).ReadString('\n') // what cannot be read is no consent
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return errors.New("nothing was made; say y, or --yes")
	}
	return nil
}

// carry makes the tab, does everything on it, and removes it whatever happens.
func (ra *race) carry(ctx context.Context, tab claim.Tab) (err error) {
	if ra.dir, err = os.MkdirTemp("", "sheetclaim-race-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(ra.dir)) }()
	if err := ra.catchMail(); err != nil {
		return err
	}
	defer ra.sink.Close()
	ra.scratch, err = ra.client.NewScratch(ctx, ra.cfg.Jobs[ra.job].Spreadsheet, tab, raceSheet("a"))
	defer ra.remove(ctx)
	if err != nil {
		found, todo := sheetWords(err)
		ra.r.Fail(raceTab, "", "cannot be made: "+found, todo)
		return nil
	}
	ra.r.Ok(raceTab, "", tab.Title+" was made")
	fence, err := ra.scratch.ObserveFence(ctx)
	ra.observed(fence, err)
	if ra.r.Count(check.Fail) == 0 {
		ra.rounds(ctx)
	}
	if ctx.Err() == nil {
		ra.observed(ra.scratch.ObserveRest(ctx))
	}
	return nil
}

// rounds are the races. Without a fence that works there is nothing to race for.
func (ra *race) rounds(ctx context.Context) {
	ra.round(ctx, "a", "one ledger", 1)
	if ctx.Err() != nil {
		return
	}
	if err := ra.scratch.Fill(ctx, raceSheet("b")); err != nil {
		found, todo := sheetWords(err)
		ra.r.Fail(raceTab, "", "cannot be filled again: "+found, todo)
		return
	}
	ra.round(ctx, "b", "a ledger each, so that the fence alone keeps them apart", raceRuns)
}

// catchMail starts the mail server that sends nothing on.
func (ra *race) catchMail() (err error) {
	if ra.sink, err = smtpsink.New(smtpsink.Options{}); err != nil {
		return err
	}
	addr, err := ra.sink.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	ra.smtp = &job.SMTP{Host: "127.0.0.1", TLS: job.NoTLS, From: "sheetclaim race <race@example.com>"}
	_, err = fmt.Sscanf(addr.String(), "127.0.0.1:%d", &ra.smtp.Port)
	return err
}

// remove deletes the tab, also after Ctrl-C.
func (ra *race) remove(ctx context.Context) {
	if err := ra.scratch.Remove(ctx); err != nil {
		ra.r.Fail(raceTab, "", "could not be removed: "+err.Error(), "delete the tab "+ra.scratch.Tab.Title+" by hand")
		return
	}
	ra.r.Ok(raceTab, "", "was removed")
}

// observed puts observations into the report.
func (ra *race) observed(list []sheets.Observation, err error) {
	for _, o := range list {
		found := o.Name + ": " + o.Answer
		switch {
		case o.Bad:
			ra.r.Fail(raceProbe, "", found, "do not rely on sheetclaim with this sheet; report this output to its authors")
		case o.Open:
			ra.r.Warn(raceProbe, "", found, "")
		default:
			ra.r.Ok(raceProbe, "", found)
		}
	}
	if err != nil {
		ra.r.Fail(raceProbe, "", "ended early: "+err.Error(), "")
	}
}

// raceSheet is the header and due rows whose keys begin with a letter.
func raceSheet(letter string) [][]string {
	rows := [][]string{{"key", "email", "status", "due"}}
	for i := 1; i <= raceRows; i++ {
		key := fmt.Sprintf("%s%d", letter, i)
		rows = append(rows, []string{key, raceAddress(key), "", "2026-01-01"})
	}
	return rows
}

func raceAddress(key string) string { return key + "@example.com" }

// round starts the claimers at once and judges what came of it.
func (ra *race) round(ctx context.Context, letter, how string, ledgers int) {
	cfg := ra.config()
	var tickets []*claim.Ticket
	var stops []func()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for i := range raceRuns {
		cfg.Ledger = job.Secret("sqlite:" + filepath.Join(ra.dir, fmt.Sprintf("%s%d.db", letter, i%ledgers)))
		p, err := ra.claimer(ctx, cfg)
		if err != nil {
			ra.r.Fail(raceRound, "", how+": "+err.Error(), "")
			return
		}
		stops = append(stops, func() { _ = p.close() }) // its ledger is thrown away
		t, err := p.service.Start(ctx, claim.Request{Job: raceRound, RunID: fmt.Sprintf("race-%s%d", letter, i+1)})
		if err != nil {
			ra.r.Fail(raceRound, "", how+": "+err.Error(), "")
			return
		}
		tickets = append(tickets, t)
	}
	for _, t := range tickets {
		select {
		case <-t.Done():
		case <-ctx.Done():
			return // closing the services lets the runs give back and end
		}
	}
	ra.judge(ctx, letter, how, tickets)
}

// config is that of a job on the scratch tab, with the real job's wait.
func (ra *race) config() *job.Config {
	return &job.Config{RunMemory: time.Hour, SMTP: ra.smtp, Jobs: map[string]*job.Spec{raceRound: {
		Spreadsheet: ra.scratch.Spreadsheet, Range: ra.scratch.Range,
		Columns: job.ColumnNames{Key: job.Names{"key"}, Email: "email", Status: "status", Due: "due"},
		Limit:   raceRows, Wait: ra.cfg.Jobs[ra.job].Wait, Lease: ra.cfg.Jobs[ra.job].Lease, OnDoubt: claim.Stop, MaxAttempts: 1, RetryAfter: time.Hour,
		Message: job.MessageSource{Subject: "Race {{key}}", Text: "caught"},
	}}}
}

// claimer is what a process of its own would be, but for the quota of the account.
func (ra *race) claimer(ctx context.Context, cfg *job.Config) (*parts, error) {
	quietly := *ra.m
	quietly.log = quiet()
	return quietly.openWith(ctx, cfg, ra.client)
}

// judge counts messages and reads the statuses.
func (ra *race) judge(ctx context.Context, letter, how string, tickets []*claim.Ticket) {
	caught := map[string]int{}
	for _, msg := range ra.sink.Messages() {
		caught[strings.Join(msg.To, ",")]++
	}
	var runs, twice, never []string
	for _, t := range tickets {
		d := t.Document()
		runs = append(runs, fmt.Sprintf("%s %s (%s)", d.RunID, d.Outcome, d.Detail))
	}
	for i := 1; i <= raceRows; i++ {
		key := fmt.Sprintf("%s%d", letter, i)
		switch n := caught[raceAddress(key)]; {
		case n > 1:
			twice = append(twice, fmt.Sprintf("%s %d times", key, n))
		case n == 0:
			never = append(never, key)
		}
	}
	found := fmt.Sprintf("%d runs at once over %s: ", raceRuns, how)
	says := "; " + strings.Join(runs, "; ")
	unmarked, err := ra.unmarked(ctx)
	switch {
	case len(twice) > 0:
		ra.r.Fail(raceRound, "", found+"MESSAGES WERE SENT TWICE: "+strings.Join(twice, ", ")+says, "do not use sheetclaim with this sheet; report this output to its authors")
	case err != nil:
		ra.r.Fail(raceRound, "", found+"the statuses could not be read: "+err.Error()+says, "")
	case len(never) > 0:
		ra.r.Warn(raceRound, "", found+"none was sent twice, but not sent were "+strings.Join(never, ", ")+says, "look at what the runs say; a later run would take up these rows")
	case unmarked > 0:
		ra.r.Fail(raceRound, "", found+fmt.Sprintf("one message per row, but %d rows do not read sent", unmarked)+says, "")
	default:
		ra.r.Ok(raceRound, "", found+fmt.Sprintf("%d rows, %d messages, one each", raceRows, raceRows)+says)
	}
}

// unmarked counts the rows of the tab that do not read sent.
func (ra *race) unmarked(ctx context.Context) (int, error) {
	g, err := ra.client.Read(ctx, ra.scratch.Target, claim.Ask{})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, row := range g.Rows {
		if claim.ParseStatus(row.Cell(2).Shown).Kind != claim.StatusSent {
			n++
		}
	}
	return n, nil
}
