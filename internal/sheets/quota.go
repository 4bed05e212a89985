package sheets

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// period is Google's minute (documented: usage limits) and a second more, since
// calls may come together on their way there.
const period = 61 * time.Second

// quota keeps one account under its reads and writes per minute. All runs of a
// client share it. It counts calls in the period that slides behind the present;
// a bucket that refills evenly would let twice the limit through in a minute.
type quota struct {
	now func() time.Time

	mu     sync.Mutex
	reads  window
	writes window
	closed time.Time // nothing waits less than until then: Google said that the quota is used up
}

func newQuota(reads, writes int, now func() time.Time) *quota {
	return &quota{now: now, reads: window{limit: margin(reads)}, writes: window{limit: margin(writes)}}
}

// margin keeps a twentieth of the limit for others who use the same account.
func margin(limit int) int { return max(1, limit-limit/20) }

// read waits for one read. With hold it waits for a write too and holds it, for
// the claim that follows must not wait.
func (q *quota) read(ctx context.Context, hold bool) error {
	return q.wait(ctx, func(now time.Time) time.Time {
		at := q.reads.free(now)
		if hold {
			at = later(at, q.writes.free(now))
		}
		if at.After(now) {
			return at
		}
		q.reads.spent = append(q.reads.spent, now)
		if hold {
			q.writes.held = append(q.writes.held, now)
		}
		return now
	})
}

// write waits for one write.
func (q *quota) write(ctx context.Context) error {
	return q.wait(ctx, func(now time.Time) time.Time {
		at := q.writes.free(now)
		if !at.After(now) {
			q.writes.spent = append(q.writes.spent, now)
		}
		return at
	})
}

// redeem counts a write at once, in the place of one that a read held.
func (q *quota) redeem() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writes.release()
	q.writes.spent = append(q.writes.spent, q.now())
}

// release gives back a write that a read held for nothing.
func (q *quota) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writes.release()
}

// close makes everybody wait until then.
func (q *quota) close(until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = later(q.closed, until)
}

// wait calls take until it took, which it says by answering a time that has come.
func (q *quota) wait(ctx context.Context, take func(now time.Time) time.Time) error {
	for {
		q.mu.Lock()
		now := q.now()
		at := q.closed
		if !at.After(now) {
			at = take(now)
		}
		q.mu.Unlock()
		if !at.After(now) {
			return ctx.Err()
		}
		if err := sleep(ctx, at.Sub(now)); err != nil {
			return fmt.Errorf("the quota frees in %s: %w", at.Sub(now).Round(time.Second), err)
		}
	}
}

// window counts calls of one kind.
type window struct {
	limit int
	spent []time.Time // made in the last period, oldest first
	held  []time.Time // held by a read for its claim, oldest first
}

// free is the time from which one more call may be made, as far as can be known.
func (w *window) free(now time.Time) time.Time {
	w.spent, w.held = since(w.spent, now), since(w.held, now)
	if len(w.spent)+len(w.held) < w.limit {
		return now
	}
	var at time.Time
	for _, times := range [][]time.Time{w.spent, w.held} {
		if len(times) > 0 && (at.IsZero() || times[0].Before(at)) {
			at = times[0]
		}
	}
	return at.Add(period)
}

func (w *window) release() {
	if len(w.held) > 0 {
		w.held = w.held[1:]
	}
}

// since drops the times that the period has left behind.
func since(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= period {
		times = times[1:]
	}
	return times
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// sleep waits for d, or answers at once when the context would end before.
func sleep(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return context.DeadlineExceeded
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
