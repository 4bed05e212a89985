package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
)

// learnClocks reads the time zones of the spreadsheets by whose clocks the schedules of
// jobs go. Without it nobody could say when such a job is to run, so that a spreadsheet
// which cannot be read is an error. What else is wrong with it, a run says, and alerts.
func (m *Main) learnClocks(ctx context.Context, p *parts, jobs ...string) error {
	errs := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, name := range jobs {
		if p.cfg.Jobs[name].NeedsClock() {
			all.Go(func() { errs[i] = m.learnClock(ctx, p, name) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (m *Main) learnClock(ctx context.Context, p *parts, name string) error {
	spec := p.cfg.Jobs[name]
	zone, err := readZone(ctx, p.sheets, spec.Spreadsheet)
	if err != nil {
		return fmt.Errorf("job %s: its schedule goes by the time zone of its spreadsheet, which could not be read; mend this, or set timezone in the job: %w", name, err)
	}
	spec.SetClock(zone)
	m.log.Info("the schedule goes by the spreadsheet's time zone", "job", name, "zone", zone.String())
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

// holdBack learns the clocks of all jobs and answers whose could not be learned, with an
// alert for each: their schedules wait, and no other job waits for them.
func (m *Main) holdBack(ctx context.Context, p *parts) (held []string) {
	const patience = 10 * time.Second
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := m.learnClocks(short, p, p.cfg.JobNames()...)
	if err != nil && ctx.Err() == nil {
		m.log.Error("schedules are held back", "error", err)
	}
	for _, name := range p.cfg.JobNames() {
		if p.cfg.Jobs[name].NeedsClock() {
			held = append(held, name)
			m.reportClock(ctx, p, name, "not read")
		}
	}
	return held
}

// reportClock says, once, that the clock of a job could not be learned; no text says that
// this is over.
func (m *Main) reportClock(ctx context.Context, p *parts, name, text string) {
	err := p.ledger.Report(ctx, claim.RunRef{Job: name}, []claim.Report{{Once: "clock", Text: text, Alert: claim.Alert{
		Kind: claim.AlertRunFailed, Job: name, Cause: "clock",
		Seen: "the schedule goes by the time zone of the spreadsheet, which could not be read",
		Done: "no scheduled run of this job starts until it can be read; it is tried again at least every minute",
		Todo: "see sheetclaim check; or set timezone in the job",
	}}})
	if err != nil && ctx.Err() == nil {
		m.log.Error("an alert could not be queued", "job", name, "error", err)
	}
	p.alerts.Kick()
}

// scheduleLate tries, at first every second and then every minute, to learn the clocks of
// the jobs that are held back, and runs their schedules from then on, until ctx ends.
// Ticks that came meanwhile are missed ones, like those of a service that was down.
func (m *Main) scheduleLate(ctx context.Context, p *parts) {
	const longest = time.Minute
	var all sync.WaitGroup
	defer all.Wait()
	held, pause := p.held, time.Second
	for len(held) > 0 && wait(ctx, pause) == nil {
		held = slices.DeleteFunc(held, func(name string) bool {
			ticks, err := m.scheduleNow(ctx, p, name)
			if err != nil {
				m.log.Debug("a schedule is still held back", "job", name, "error", err)
				return false
			}
			all.Go(func() { _ = ticks.Run(ctx) }) // only a schedule that cannot be read is an error, and the file was checked
			return true
		})
		pause = min(2*pause, longest)
	}
}

// scheduleNow learns the clock of a job and answers its schedule.
func (m *Main) scheduleNow(ctx context.Context, p *parts, name string) (*schedule.Scheduler, error) {
	if err := m.learnClocks(ctx, p, name); err != nil {
		return nil, err
	}
	m.reportClock(ctx, p, name, "")
	return m.scheduler(ctx, p, name)
}
