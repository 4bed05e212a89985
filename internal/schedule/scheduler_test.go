package schedule

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bench is a scheduler in a bubble; time starts at 2000-01-01T00:00:00Z there.
type bench struct {
	*Scheduler
	mu     sync.Mutex
	starts []string
	skew   time.Duration // added to the clock, as by a machine that slept
}

func newBench(entries ...Entry) *bench {
	b := &bench{}
	b.Scheduler = &Scheduler{
		Entries: entries,
		Start: func(_ context.Context, job, id string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.starts = append(b.starts, job+" "+id)
		},
		Now:  func() time.Time { b.mu.Lock(); defer b.mu.Unlock(); return time.Now().Add(b.skew) },
		Wait: wait,
		Log:  slog.New(slog.DiscardHandler),
	}
	return b
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// run runs the scheduler for a time.
func (b *bench) run(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := b.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) want(t *testing.T, starts ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(b.starts) // jobs of one minute start in no order
	if !slices.Equal(b.starts, starts) {
		t.Errorf("started %q\nwant    %q", b.starts, starts)
	}
}

func (b *bench) setClock(skew time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.skew = skew
}

func TestRunStartsEachTickOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Entry{Job: "a", Spec: "*/5 * * * *"}, Entry{Job: "b", Spec: "@every 10m"}, Entry{Job: "c", Spec: "0 9 * * *"})
		time.Sleep(90 * time.Second)
		b.run(t, 14*time.Minute)
		b.want(t, "a cron-20000101T0005Z", "a cron-20000101T0010Z", "a cron-20000101T0015Z", "b cron-20000101T0010Z")
	})
}

// Two instances that were started at different times name the same runs.
func TestRunIsAlikeOnAllInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entries := []Entry{{Job: "a", Spec: "@every 7m"}, {Job: "b", Spec: "30 * * * *", Zone: time.FixedZone("", -4*3600)}}
		one, two := newBench(entries...), newBench(entries...)
		var both sync.WaitGroup
		both.Go(func() { one.run(t, 3*time.Hour) })
		time.Sleep(2*time.Minute + 17*time.Second)
		both.Go(func() { two.run(t, 3*time.Hour-2*time.Minute-17*time.Second) })
		both.Wait()
		if len(one.starts) < 20 {
			t.Fatalf("%d starts", len(one.starts))
		}
		slices.Sort(one.starts)
		two.want(t, one.starts...)
	})
}

func TestMissedTicksStartOnceLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Entry{Job: "a", Spec: "*/5 * * * *"}, Entry{Job: "b", Spec: "0 12 * * *"})
		time.AfterFunc(6*time.Minute, func() { b.setClock(20 * time.Minute) }) // slept from 00:06 to 00:26
		b.run(t, 11*time.Minute)
		b.want(t, "a cron-20000101T0005Z", "a cron-20000101T0025Z", "a cron-20000101T0030Z")
	})
}

func TestClockSetBackRepeatsNoTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Entry{Job: "a", Spec: "*/5 * * * *"})
		time.AfterFunc(11*time.Minute, func() { b.setClock(-8 * time.Minute) })
		b.run(t, 24*time.Minute)
		b.want(t, "a cron-20000101T0005Z", "a cron-20000101T0010Z", "a cron-20000101T0015Z")
	})
}

func TestRestartOverATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := time.Now()
		time.Sleep(9*time.Hour + 5*time.Second)
		b := newBench(
			Entry{Job: "a", Spec: "0 9 * * *", Last: last}, Entry{Job: "b", Spec: "0 10 * * *", Last: last}, Entry{Job: "c", Spec: "0 9 * * *"},
			Entry{Job: "d", Spec: "*/5 * * * *", Last: last, Never: true}, Entry{Job: "e", Spec: "30 8 * * *", Last: last, Never: true},
		)
		b.run(t, time.Minute)
		b.want(t, "a cron-20000101T0900Z", "d cron-20000101T0900Z")
	})
}

// A command for timers starts what has come and waits for nothing else.
func TestOnceStartsTheLatestTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := time.Now()
		time.Sleep(3*time.Hour + 59*time.Minute)
		b := newBench(
			Entry{Job: "a", Spec: "@hourly", Last: last}, Entry{Job: "b", Spec: "0 4 * * *", Last: last},
			Entry{Job: "c", Spec: "@every 1h30m", Last: last, Never: true},
		)
		if err := b.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.want(t, "a cron-20000101T0300Z")
		b = newBench(Entry{Job: "a", Spec: "every day"})
		if err := b.Once(t.Context()); err == nil {
			t.Error("a schedule that cannot be read was taken")
		}
	})
}

// A start that hangs holds up no other, and Run waits for it.
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Entry{Job: "a", Spec: "* * * * *"})
		note := b.Start
		b.Start = func(ctx context.Context, job, id string) {
			<-ctx.Done()
			time.Sleep(time.Second) // the run gives back what it holds
			note(ctx, job, id)
		}
		b.run(t, 150*time.Second)
		b.want(t, "a cron-20000101T0001Z", "a cron-20000101T0002Z")
	})
}

func TestRunWithoutEntriesWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		newBench().run(t, 5*time.Minute)
		if d := time.Since(begin); d != 5*time.Minute {
			t.Errorf("returned after %v", d)
		}
	})
}

func TestRunRefuses(t *testing.T) {
	b := newBench(Entry{Job: "a", Spec: "@every 5s"})
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `job "a"`) {
		t.Errorf("got %v", err)
	}
	b = newBench()
	broken := errors.New("no timer")
	b.Wait = func(context.Context, time.Duration) error { return broken }
	if err := b.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
