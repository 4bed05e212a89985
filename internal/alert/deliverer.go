package alert

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// pollEvery is how often, at least, Run looks into the outbox by itself: other
// processes of the same ledger queue alerts, too, and held back groups come due.
const pollEvery = 10 * time.Second

// Route is a way to people. Deliver answers nil when somebody has the message; a
// route that does not know answers an error, and the message is tried again. Its
// errors hold no secrets.
type Route interface {
	Name() string // as in claim.Outbox: "email" or "webhook"
	Deliver(ctx context.Context, m Message) error
}

// Deliverer empties the outbox over the routes. It may be used by several
// goroutines; one route carries one message at a time.
type Deliverer struct {
	Outbox      claim.Outbox
	Routes      []Route
	RepeatAfter time.Duration // same job, kind and cause: one message in this time; 0: all at once
	Now         func() time.Time
	Wait        func(ctx context.Context, d time.Duration) error
	Log         *slog.Logger

	mu    sync.Mutex
	lanes map[string]*lane
}

// lane is what one route needs beside the outbox.
type lane struct {
	busy sync.Mutex    // one round at a time
	kick chan struct{} // holds one: look now
}

// Run delivers until ctx ends.
func (d *Deliverer) Run(ctx context.Context) {
	var routes sync.WaitGroup
	for _, r := range d.Routes {
		routes.Go(func() {
			l := d.lane(r)
			for ctx.Err() == nil {
				if _, _, err := d.round(ctx, r, l); err != nil && ctx.Err() == nil {
					d.Log.Error("alerts could not be read or written in the ledger", "route", r.Name(), "error", err)
				}
				rest(ctx, l.kick, d.Wait, pollEvery)
			}
		})
	}
	routes.Wait()
}

// Kick makes Run look into the outbox now.
func (d *Deliverer) Kick() {
	for _, r := range d.Routes {
		select {
		case d.lane(r).kick <- struct{}{}:
		default: // it is going to look anyway
		}
	}
}

// Flush tries once, on every route, what is to be delivered now. It answers how
// many alerts were delivered and how many are still pending, counted on each route;
// held back ones are pending. The error is the outbox's: a delivery that failed is
// none, it is pending.
func (d *Deliverer) Flush(ctx context.Context) (delivered, pending int, err error) {
	var (
		routes sync.WaitGroup
		mu     sync.Mutex
		errs   []error
	)
	for _, r := range d.Routes {
		routes.Go(func() {
			done, left, err := d.round(ctx, r, d.lane(r))
			mu.Lock()
			defer mu.Unlock()
			delivered, pending, errs = delivered+done, pending+left, append(errs, err)
		})
	}
	routes.Wait()
	return delivered, pending, errors.Join(errs...)
}

// rest waits for the next look or a kick. The time varies, or processes that were
// started together would look together for ever.
func rest(ctx context.Context, kick <-chan struct{}, wait func(context.Context, time.Duration) error, every time.Duration) {
	ctx, wake := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-kick:
			wake()
		case <-ctx.Done():
		}
	})
	pause := every - rand.N(every/2) //nolint:gosec // nobody gains by guessing it
	_ = wait(ctx, pause)             // an error says that ctx ended: the caller sees to that
	wake()
	watch.Wait() // or it would swallow a kick that is meant for the next rest
}

// lane answers the lane of a route.
func (d *Deliverer) lane(r Route) *lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.lanes[r.Name()]
	if !ok {
		if d.lanes == nil {
			d.lanes = map[string]*lane{}
		}
		l = &lane{kick: make(chan struct{}, 1)}
		d.lanes[r.Name()] = l
	}
	return l
}
