package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
)

// learnClocks reads the time zones of the spreadsheets by whose clocks the schedules of
// jobs go, each once. Without it nobody could say when such a job is to run. What else is
// wrong with a spreadsheet, a run says, and alerts.
func (m *Main) learnClocks(ctx context.Context, p *parts, jobs []string) error {
	by := map[string][]string{}
	for _, name := range jobs {
		if spec := p.cfg.Jobs[name]; spec.NeedsClock() {
			by[spec.Spreadsheet] = append(by[spec.Spreadsheet], name)
		}
	}
	errs := make(chan error, len(by))
	for spreadsheet, names := range by {
		go func() { errs <- m.learnClock(ctx, p, spreadsheet, names) }()
	}
	var failed []error
	for range by {
		failed = append(failed, <-errs)
	}
	return errors.Join(failed...)
}

func (m *Main) learnClock(ctx context.Context, p *parts, spreadsheet string, jobs []string) error {
	zone, err := readZone(ctx, p.sheets, spreadsheet)
	if err != nil {
		return fmt.Errorf("the schedule of %s goes by the time zone of its spreadsheet, which could not be read; mend this, or set timezone in the job: %w", strings.Join(jobs, ", "), err)
	}
	for _, name := range jobs {
		p.cfg.Jobs[name].SetClock(zone)
		m.log.Info("the schedule goes by the spreadsheet's time zone", "job", name, "zone", zone.String())
	}
	return nil
}

// readZone reads the time zone of a spreadsheet.
func readZone(ctx context.Context, c *sheets.Client, spreadsheet string) (*time.Location, error) {
	name, err := c.Zone(ctx, spreadsheet)
	if err != nil {
		return nil, err
	}
	return claim.LoadZone(name)
}

// holdBack learns the clocks of all jobs and answers whose could not be learned: their
// schedules wait, and no other job waits for them.
func (m *Main) holdBack(ctx context.Context, p *parts) (held []string) {
	err := m.learnClocks(ctx, p, p.cfg.JobNames())
	for _, name := range p.cfg.JobNames() {
		switch spec := p.cfg.Jobs[name]; {
		case spec.NeedsClock():
			held = append(held, name)
		case spec.Schedule != "":
			m.reportClock(ctx, p, name, "") // an earlier start may have alerted
		}
	}
	if err != nil {
		m.log.Error("schedules are held back", "jobs", held, "error", err)
	}
	return held
}

// holdBackSoon is holdBack for a service that is about to listen.
func (m *Main) holdBackSoon(ctx context.Context, p *parts) []string {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return m.holdBack(ctx, p)
}

// reportClock says, once, that the clock of a job could not be learned; no text says that
// this is over.
func (m *Main) reportClock(ctx context.Context, p *parts, name, text string) {
	err := p.ledger.Report(ctx, claim.RunRef{Job: name}, []claim.Report{{Once: "clock", Text: text, Alert: claim.Alert{
		Kind: claim.AlertRunFailed, Job: name, Cause: "clock",
		Seen: "the schedule goes by the time zone of the spreadsheet, which could not be read",
		Done: "no scheduled run of this job starts until it can be read; it is tried again every minute or so",
		Todo: "see sheetclaim check; or set timezone in the job",
	}}})
	if err != nil && ctx.Err() == nil {
		m.log.Error("an alert could not be queued", "job", name, "error", err)
	}
	p.alerts.Kick()
}

// scheduleLate tries, at first every second and then every minute, to learn the clocks of
// the jobs that are held back, and runs their schedules from then on, until ctx ends.
// Ticks that came meanwhile are missed ones, like those of a service that was down. A job
// that waits for a minute is worth an alert: what is over sooner may be a quota.
func (m *Main) scheduleLate(ctx context.Context, p *parts) {
	const longest = time.Minute
	var all sync.WaitGroup
	defer all.Wait()
	held, pause := p.held, time.Second
	for len(held) > 0 && wait(ctx, pause) == nil {
		m.learnInTime(ctx, p, held)
		pause = min(2*pause, longest)
		held = slices.DeleteFunc(held, func(name string) bool {
			if p.cfg.Jobs[name].NeedsClock() {
				if pause == longest && ctx.Err() == nil {
					m.reportClock(ctx, p, name, "not read")
				}
				return false
			}
			ticks, err := m.scheduler(ctx, p, name)
			if err != nil {
				m.log.Error("a schedule is still held back", "job", name, "error", err)
				return false
			}
			m.reportClock(ctx, p, name, "")
			all.Go(func() { _ = ticks.Run(ctx) }) // only a schedule that cannot be read is an error, and the file was checked
			return true
		})
	}
}

// learnInTime is learnClocks for as long as a slow answer of Google may take.
func (m *Main) learnInTime(ctx context.Context, p *parts, jobs []string) {
	const slow = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	if err := m.learnClocks(ctx, p, jobs); err != nil {
		m.log.Debug("schedules are still held back", "error", err)
	}
}
