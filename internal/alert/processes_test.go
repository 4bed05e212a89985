package alert

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// TestSeveralProcesses lets four deliverers fight over one outbox, with pauses
// between any two of their steps: each alert goes out once, on each route.
func TestSeveralProcesses(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			luck := rand.New(rand.NewPCG(seed, 0))
			o := newOutbox()
			o.pause = func() {
				o.mu.Lock()
				d := time.Duration(luck.IntN(4)) * time.Second // often the same
				o.mu.Unlock()
				time.Sleep(d)
			}
			times := map[int64]int{}
			for range 4 {
				start(t, newDeliverer(o, counting{o, times}))
			}
			for i := range 30 {
				o.queue(unknown(i+1, fmt.Sprint("B-", i%3)))
				o.queue(overlap(fmt.Sprint(i)))
				time.Sleep(time.Duration(i) * time.Second)
			}
			time.Sleep(90 * time.Minute)
			o.mu.Lock()
			defer o.mu.Unlock()
			for _, a := range o.alerts {
				if n := times[a.Number]; n != 1 {
					t.Fatalf("seed %d: alert %d went out %d times", seed, a.Number, n)
				}
			}
		})
	}
}

// TestInStep flushes from three processes whose reads and writes fall together: one
// of them delivers.
func TestInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := newOutbox(), &route{name: "email"}
		o.pause = func() { time.Sleep(10 * time.Millisecond) }
		o.queue(overlap("1"))
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, _, err := newDeliverer(o, r).Flush(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		equal(t, "deliveries", r.counts(), []int{1})
	})
}

// TestDeadInMidDelivery: a reservation of a process that died ends, and what a process
// that stood still says about its delivery afterwards changes nothing.
func TestDeadInMidDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := newOutbox(), &route{name: "email"}
		o.queue(overlap("1"))
		if mine, err := o.Reserve(t.Context(), "email", []int64{1}, "the dead", reservedFor); err != nil || !mine {
			t.Fatal(mine, err)
		}
		flush(t, newDeliverer(o, r), 0, 1)
		time.Sleep(reservedFor)
		r.down = func(Message) error {
			r.down = nil
			return o.Undelivered(t.Context(), "email", []int64{1}, "the dead", "woke up", time.Now().Add(time.Hour))
		}
		flush(t, newDeliverer(o, r), 1, 0)
	})
}

// counting counts the alerts of each message by looking them up in the outbox: the
// message names rows and runs, which are unlike in the test.
type counting struct {
	o     *outbox
	times map[int64]int
}

func (counting) Name() string { return "email" }

func (c counting) Deliver(_ context.Context, m Message) error {
	time.Sleep(5 * time.Second)
	c.o.mu.Lock()
	defer c.o.mu.Unlock()
	for _, a := range c.o.alerts {
		if a.Kind != m.Kind {
			continue
		}
		for _, run := range m.Runs {
			if a.Kind == claim.AlertOverlap && a.Run == run {
				c.times[a.Number]++
			}
		}
		for _, row := range m.Rows {
			if a.Kind == claim.AlertUnknown && a.Rows[0].Row == row.Row {
				c.times[a.Number]++
			}
		}
	}
	return nil
}
