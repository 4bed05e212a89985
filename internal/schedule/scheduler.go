package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// longestWait bounds each wait, so that a machine that slept, or whose clock was
// set, is noticed soon: timers stand still while it sleeps.
const longestWait = time.Minute

// Entry is the schedule of one job.
type Entry struct {
	Job  string
	Spec string         // see the package comment
	Zone *time.Location // nil means UTC
	// Last, when set, is a moment up to which all ticks have run: those between it and
	// the start of Run count as missed, so that a restart over a tick does not lose it.
	// Other instances may have started it; its name makes it the same run.
	Last time.Time
	// Never says that a missed tick is not made up for.
	Never bool
	// New says that the job never ran, so that no tick of it was missed.
	New bool
}

// Scheduler starts a run of a job at each tick of its schedule.
//
// No tick is started twice by one Scheduler, also when the clock is set back; it
// then waits until the clock has caught up. Of ticks that were missed, because the
// machine slept or the clock was set forward, the latest is started, once and
// late.
type Scheduler struct {
	Entries []Entry
	// Start starts a run. Each call has a goroutine of its own and may take its time;
	// ctx is that of Run.
	Start func(ctx context.Context, job, runID string)
	Now   func() time.Time
	Wait  func(ctx context.Context, d time.Duration) error
	Log   *slog.Logger
}

// clock is where one entry's schedule has got to.
type clock struct {
	Entry
	plan plan
	tick time.Time // the next one; zero if none comes
}

// Run starts runs until ctx ends; then it waits for the calls to Start that are
// under way and answers nil. A schedule that cannot be read is an error at once.
func (s *Scheduler) Run(ctx context.Context) error {
	clocks, err := s.clocks()
	if err != nil {
		return err
	}
	var starts sync.WaitGroup
	defer starts.Wait()
	for ctx.Err() == nil {
		s.start(ctx, clocks, &starts)
		if err := s.Wait(ctx, untilNext(clocks, s.Now())); err != nil && ctx.Err() == nil {
			return fmt.Errorf("wait for the next scheduled run: %w", err)
		}
	}
	return nil
}

// Once starts the runs whose tick has come since Last, of each entry the latest, and
// waits for the calls to Start.
func (s *Scheduler) Once(ctx context.Context) error {
	clocks, err := s.clocks()
	if err != nil {
		return err
	}
	var starts sync.WaitGroup
	s.start(ctx, clocks, &starts)
	starts.Wait()
	return nil
}

// start starts the runs whose tick has come.
func (s *Scheduler) start(ctx context.Context, clocks []*clock, starts *sync.WaitGroup) {
	now := s.Now()
	for _, c := range clocks {
		tick, missed := c.take(now)
		if tick.IsZero() {
			continue
		}
		id, late := RunID(tick), now.Sub(tick)
		if c.Never && late > TooLate {
			s.Log.Warn("ticks of the schedule were missed and are not made up for", "job", c.Job, "last", id, "missed", missed+1)
			continue
		}
		s.note(c.Entry, id, late, missed)
		starts.Go(func() { s.Start(ctx, c.Job, id) })
	}
}

// clocks reads the entries.
func (s *Scheduler) clocks() ([]*clock, error) {
	now := s.Now()
	clocks := make([]*clock, len(s.Entries))
	for i, e := range s.Entries {
		p, err := parse(e.Spec, zoneOf(e.Zone))
		if err != nil {
			return nil, fmt.Errorf("schedule of job %q: %w", e.Job, err)
		}
		from := e.Last
		if from.IsZero() {
			from = now
		}
		clocks[i] = &clock{Entry: e, plan: p, tick: p.next(from)}
	}
	return clocks, nil
}

// take answers the latest tick that has come, zero if none has, and how many
// before it were missed. It moves the clock on.
func (c *clock) take(now time.Time) (tick time.Time, missed int) {
	for !c.tick.IsZero() && !c.tick.After(now) {
		if !tick.IsZero() {
			missed++
		}
		tick, c.tick = c.tick, c.plan.next(c.tick)
	}
	return tick, missed
}

// note logs a start. A tick that is started more than a minute late was missed.
func (s *Scheduler) note(e Entry, id string, late time.Duration, missed int) {
	if !e.New && (late > longestWait || missed > 0) {
		s.Log.Warn("a scheduled run is started late", "job", e.Job, "run", id, "late", late, "missed", missed)
		return
	}
	s.Log.Info("a scheduled run is started", "job", e.Job, "run", id)
}

// untilNext is the time until the next tick, at most longestWait.
func untilNext(clocks []*clock, now time.Time) time.Duration {
	d := longestWait
	for _, c := range clocks {
		if !c.tick.IsZero() {
			d = min(d, c.tick.Sub(now))
		}
	}
	return max(d, 0)
}
