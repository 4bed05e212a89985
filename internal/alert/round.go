package alert

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

const (
	deliverWithin = 2 * time.Minute  // one delivery; the routes have shorter limits of their own
	reservedFor   = 3 * time.Minute  // longer than a delivery takes
	recordWithin  = 10 * time.Second // a record that outlives the end of the program's context
	firstWait     = 30 * time.Second // after the first failed delivery
	longestWait   = time.Hour
	// everything makes Outbox.Queued answer also what waits for its next try.
	everything = 100 * 365 * 24 * time.Hour
)

// topic is what alerts are grouped by.
type topic struct {
	job   string
	kind  claim.AlertKind
	cause string
}

// urgent reports whether alerts of this kind wait for nothing: nobody but a person
// can settle them.
func (t topic) urgent() bool { return t.kind == claim.AlertUnknown }

// group is the pending alerts of one topic on one route.
type group struct {
	topic
	due     []claim.QueuedAlert // oldest first
	waiting int                 // alerts whose next try has not come
}

// ready reports whether the group may be tried now. While some of it waits, the
// route has just failed for it or another process is about to deliver it: what is
// new then joins the next try.
func (g *group) ready() bool {
	return len(g.due) > 0 && (g.waiting == 0 || g.urgent())
}

func (g *group) numbers() []int64 {
	ns := make([]int64, len(g.due))
	for i, a := range g.due {
		ns[i] = a.Number
	}
	return ns
}

// round tries every group of a route that is ready and not held back. After one
// that failed it ends, since the route is likely to fail for all: what is left is
// tried in the next round, before the failed one, so that no group blocks others.
func (d *Deliverer) round(ctx context.Context, r Route, l *lane) (delivered, pending int, err error) {
	l.busy.Lock()
	defer l.busy.Unlock()
	groups, err := d.pending(ctx, r.Name())
	if err != nil {
		return delivered, pending, err
	}
	for _, g := range groups {
		pending += len(g.due) + g.waiting
	}
	for _, g := range groups {
		if !g.ready() {
			continue
		}
		held, err := d.held(ctx, r.Name(), g)
		if err != nil {
			return delivered, pending, err
		}
		if held {
			continue
		}
		mine, ok, err := d.try(ctx, r, g)
		if err != nil || mine && !ok {
			return delivered, pending, err
		}
		if !mine {
			continue
		}
		delivered += len(g.due)
		pending -= len(g.due)
	}
	return delivered, pending, nil
}

// pending answers what is to be delivered on a route, by topic.
func (d *Deliverer) pending(ctx context.Context, route string) ([]*group, error) {
	now := d.Now()
	all, err := d.Outbox.Queued(ctx, route, now.Add(everything))
	if err != nil {
		return nil, err
	}
	// Read last: an alert that is reserved in between is not due any more.
	due, err := d.Outbox.Queued(ctx, route, now)
	if err != nil {
		return nil, err
	}
	isDue := map[int64]bool{}
	for _, a := range due {
		isDue[a.Number] = true
	}
	var groups []*group
	of := map[topic]*group{}
	for _, a := range all {
		t := topic{a.Job, a.Kind, a.Cause}
		g, ok := of[t]
		if !ok {
			g = &group{topic: t}
			of[t] = g
			groups = append(groups, g)
		}
		if isDue[a.Number] {
			g.due = append(g.due, a)
		} else {
			g.waiting++
		}
	}
	return groups, nil
}

// held reports whether the group went out on this route too short a time ago.
func (d *Deliverer) held(ctx context.Context, route string, g *group) (bool, error) {
	if g.urgent() || d.RepeatAfter <= 0 {
		return false, nil
	}
	last, err := d.Outbox.LastDelivered(ctx, route, g.job, g.kind, g.cause)
	if err != nil {
		return false, err
	}
	return !last.IsZero() && d.Now().Before(last.Add(d.RepeatAfter)), nil
}

// try reserves a group, delivers it once, and writes down what became of it. mine is
// false when another process is at it. The error is the outbox's.
func (d *Deliverer) try(ctx context.Context, r Route, g *group) (mine, delivered bool, err error) {
	// Counted from before the reservation, so that a process that stood still in between
	// delivers nothing once the reservation has ended.
	within, cancel := context.WithTimeout(ctx, deliverWithin)
	defer cancel()
	by := cryptorand.Text()
	if mine, err = d.Outbox.Reserve(ctx, r.Name(), g.numbers(), by, reservedFor); err != nil || !mine {
		return mine, false, err
	}
	m := newMessage(g.due)
	log := d.Log.With("route", r.Name(), "job", m.Job, "run", m.run(), "kind", m.Kind, "cause", m.Cause, "alerts", m.Count, "alert", m.ID)
	problem := r.Deliver(within, m)

	end, cancelEnd := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancelEnd()
	if problem == nil {
		log.Info("alert delivered")
		if err := d.Outbox.Delivered(end, r.Name(), g.numbers(), d.Now()); err != nil {
			return true, false, fmt.Errorf("alert %s was delivered and will be once more: %w", m.ID, err)
		}
		return true, true, nil
	}
	next := d.Now()
	if ctx.Err() == nil { // the end of the program is no failure of the route
		next = next.Add(waitAfter(m.Failures))
	}
	why := clean(Conceal(problem.Error()))
	log.Warn("alert not delivered; it is kept", "next", next, "error", why)
	return true, false, d.Outbox.Undelivered(end, r.Name(), g.numbers(), by, why, next)
}

// waitAfter is the time until the next try when n tries had failed before this one.
func waitAfter(n int) time.Duration { return backoff(firstWait, longestWait, n) }

// backoff doubles a wait n times, up to the longest.
func backoff(first, longest time.Duration, n int) time.Duration {
	wait := first
	for ; n > 0 && wait < longest; n-- {
		wait *= 2
	}
	return min(wait, longest)
}
