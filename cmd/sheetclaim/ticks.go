package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
)

// scheduler starts runs when the schedules of jobs say so; those whose clock is not known
// are left out.
func (m *Main) scheduler(ctx context.Context, p *parts, jobs ...string) (*schedule.Scheduler, error) {
	s := &schedule.Scheduler{Now: m.Now, Wait: wait, Log: m.log}
	s.Start = func(ctx context.Context, name, id string) {
		t, err := p.service.Start(ctx, claim.Request{Job: name, RunID: id, Tick: true})
		if err != nil {
			m.log.Error("a scheduled run could not start", "job", name, "run", id, "error", err)
			return
		}
		<-t.Done()
	}
	for _, name := range jobs {
		spec := p.cfg.Jobs[name]
		if spec.Schedule == "" || spec.NeedsClock() {
			continue
		}
		last, err := lastTick(ctx, p.ledger, name, m.Now())
		if err != nil {
			return nil, err
		}
		s.Entries = append(s.Entries, schedule.Entry{
			Job: name, Spec: spec.Schedule, Zone: spec.Clock(), Last: last, Never: spec.CatchUp == claim.CatchNone,
		})
	}
	return s, nil
}

// lastTick answers up to when the ticks of a job have run, by the ledger; zero if none
// ever has.
func lastTick(ctx context.Context, l claim.Ledger, name string, now time.Time) (time.Time, error) {
	const some = 10 // names that look like ticks and are none can only be a few
	recs, err := l.LastTicks(ctx, name, claim.TickID(now), some)
	if err != nil {
		return time.Time{}, err
	}
	for _, r := range recs {
		if until, ok := schedule.Ran(r.ID); ok {
			return until, nil
		}
	}
	return time.Time{}, nil
}

// onceDue runs every job whose tick has come since its last one, and ends as the
// worst of the runs did. A stop that is asked for lets them finish in good order.
func (m *Main) onceDue(ctx context.Context, cfg *job.Config) (err error) {
	p, err := m.open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if !scheduled(cfg) {
		return errors.New("no job has a schedule: add one, or start runs with sheetclaim run")
	}
	held := m.holdBack(ctx, p)
	for _, name := range held {
		m.reportClock(ctx, p, name, "not read")
	}
	if ctx.Err() != nil {
		return errors.New("stopped before any run began")
	}
	s, err := m.scheduler(ctx, p, cfg.JobNames()...)
	if err != nil {
		return err
	}
	for i, e := range s.Entries {
		if e.Last.IsZero() { // it never ran: a tick of the last day counts
			s.Entries[i].Last, s.Entries[i].New = m.Now().Add(-24*time.Hour), true
		}
	}
	if err := p.service.RecoverAll(ctx); err != nil {
		m.log.Warn("recovery is not complete", "error", err)
	}
	stopped := context.AfterFunc(ctx, p.service.Close)
	defer stopped()
	var mu sync.Mutex
	var worst error
	none := len(held) == 0
	for _, name := range held {
		fmt.Fprintf(m.Stdout, "%s: held back: the time zone of its spreadsheet could not be read\n", name)
		worst = &statusError{code: exitError}
	}
	s.Start = func(ctx context.Context, name, id string) {
		line, status := m.tick(ctx, p, name, id)
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(m.Stdout, line)
		none, worst = false, worse(worst, status)
	}
	if err := s.Once(ctx); err != nil {
		return err
	}
	if none {
		fmt.Fprintln(m.Stdout, "no tick has come since the last run")
	}
	m.deliver(ctx, p)
	return worst
}

// scheduled reports whether any job has a schedule.
func scheduled(cfg *job.Config) bool {
	return slices.ContainsFunc(cfg.JobNames(), func(name string) bool { return cfg.Jobs[name].Schedule != "" })
}

// tick runs one tick, and answers a line about it and its exit status.
func (m *Main) tick(ctx context.Context, p *parts, name, id string) (line string, status error) {
	t, err := p.service.Start(ctx, claim.Request{Job: name, RunID: id, Tick: true})
	if err != nil {
		return fmt.Sprintf("%s %s: could not start: %v", name, id, err), &statusError{code: exitError}
	}
	<-t.Done()
	d := t.Document()
	return fmt.Sprintf("%s %s: %s: %s", name, id, d.Outcome, d.Detail), runStatus(d.Outcome)
}

// worse is the greater of two exit statuses; nil is the least.
func worse(a, b error) error {
	var x, y *statusError
	if errors.As(a, &x) && (!errors.As(b, &y) || x.code >= y.code) {
		return a
	}
	return b
}
