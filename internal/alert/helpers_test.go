package alert

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// outbox is a claim.Outbox in memory, with the rules of the ledger's.
type outbox struct {
	mu     sync.Mutex
	alerts []claim.QueuedAlert
	on     map[string]map[int64]*delivery
	pause  func()          // when set, called before each method, outside the lock
	fail   map[string]bool // methods that answer an error
}

// delivery is one alert on one route.
type delivery struct {
	tries int
	why   string
	next  time.Time
	by    string
	until time.Time // the end of the reservation
	at    time.Time
}

func newOutbox() *outbox {
	return &outbox{on: map[string]map[int64]*delivery{}, fail: map[string]bool{}}
}

func (o *outbox) queue(a claim.Alert) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.alerts = append(o.alerts, claim.QueuedAlert{Alert: a, Number: int64(len(o.alerts) + 1), At: time.Now()})
}

// enter opens every method; the caller unlocks.
func (o *outbox) enter(method string) error {
	if o.pause != nil {
		o.pause()
	}
	o.mu.Lock()
	if o.fail[method] {
		return fmt.Errorf("%s: disk full", method)
	}
	return nil
}

func (o *outbox) delivery(route string, number int64) *delivery {
	if o.on[route] == nil {
		o.on[route] = map[int64]*delivery{}
	}
	if o.on[route][number] == nil {
		o.on[route][number] = &delivery{}
	}
	return o.on[route][number]
}

func (o *outbox) Queued(_ context.Context, route string, now time.Time) ([]claim.QueuedAlert, error) {
	err := o.enter("Queued")
	defer o.mu.Unlock()
	var as []claim.QueuedAlert
	for _, a := range o.alerts {
		if d := o.delivery(route, a.Number); d.at.IsZero() && !d.next.After(now) && !d.until.After(now) {
			a.Tries = d.tries
			as = append(as, a)
		}
	}
	return as, err
}

func (o *outbox) LastDelivered(_ context.Context, route, job string, kind claim.AlertKind, cause string) (time.Time, error) {
	err := o.enter("LastDelivered")
	defer o.mu.Unlock()
	var last time.Time
	for _, a := range o.alerts {
		if d := o.delivery(route, a.Number); a.Job == job && a.Kind == kind && a.Cause == cause && d.at.After(last) {
			last = d.at
		}
	}
	return last, err
}

func (o *outbox) Reserve(_ context.Context, route string, numbers []int64, by string, d time.Duration) (bool, error) {
	err := o.enter("Reserve")
	defer o.mu.Unlock()
	if err != nil {
		return false, err
	}
	for _, n := range numbers {
		if have := o.delivery(route, n); !have.at.IsZero() || have.until.After(time.Now()) {
			return false, nil
		}
	}
	for _, n := range numbers {
		have := o.delivery(route, n)
		have.by, have.until = by, time.Now().Add(d)
	}
	return true, nil
}

func (o *outbox) Delivered(_ context.Context, route string, numbers []int64, now time.Time) error {
	err := o.enter("Delivered")
	defer o.mu.Unlock()
	for _, n := range numbers {
		if d := o.delivery(route, n); err == nil && d.at.IsZero() {
			d.at = now
		}
	}
	return err
}

func (o *outbox) Undelivered(_ context.Context, route string, numbers []int64, by, why string, next time.Time) error {
	err := o.enter("Undelivered")
	defer o.mu.Unlock()
	for _, n := range numbers {
		if d := o.delivery(route, n); err == nil && d.at.IsZero() && d.by == by {
			d.tries, d.why, d.next, d.until = d.tries+1, why, next, time.Time{}
		}
	}
	return err
}

// why answers the problem of an alert's delivery.
func (o *outbox) why(route string, number int64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.delivery(route, number).why
}

// pending answers how many alerts a route still has to deliver.
func (o *outbox) pending(route string) int {
	as, _ := o.Queued(context.Background(), route, time.Now().Add(everything))
	return len(as)
}

// route notes what it was given and when.
type route struct {
	name string
	down func(m Message) error // nil, or answering nil: delivered
	mu   sync.Mutex
	got  []Message
	at   []time.Duration // of each try, since the bubble's beginning
}

func (r *route) Name() string { return r.name }

func (r *route) Deliver(ctx context.Context, m Message) error {
	r.mu.Lock()
	r.at = append(r.at, time.Since(bubbleBegin()))
	r.mu.Unlock()
	if r.down != nil {
		if err := r.down(m); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, m)
	return nil
}

// tries answers how many deliveries were tried.
func (r *route) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.at)
}

// counts answers how many alerts each delivered message had, once every goroutine
// of the bubble waits.
func (r *route) counts() []int {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var ns []int
	for _, m := range r.got {
		ns = append(ns, m.Count)
	}
	return ns
}

// bubbleBegin is the time at which each synctest bubble begins.
func bubbleBegin() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

func newDeliverer(o *outbox, routes ...Route) *Deliverer {
	return &Deliverer{
		Outbox: o, Routes: routes, RepeatAfter: time.Hour,
		Now: time.Now, Wait: wait, Log: slog.New(slog.DiscardHandler),
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// start runs a deliverer until the test ends.
func start(t *testing.T, d *Deliverer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { d.Run(ctx) })
	t.Cleanup(func() { cancel(); run.Wait() })
}

// flush flushes and checks the answer.
func flush(t *testing.T, d *Deliverer, delivered, pending int) {
	t.Helper()
	gotDelivered, gotPending, err := d.Flush(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if gotDelivered != delivered || gotPending != pending {
		t.Errorf("delivered %d, pending %d; want %d, %d", gotDelivered, gotPending, delivered, pending)
	}
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// overlap is an alert that says the same each time.
func overlap(run string) claim.Alert {
	return claim.Alert{
		Kind: claim.AlertOverlap, Job: "reviews", Run: run, Cause: "overlap",
		Seen: "3 due rows, all of them with other runs", Done: "this run sent nothing", Todo: "widen the schedule",
	}
}

// unknown is an alert of one row that only a person can settle.
func unknown(row int, key string) claim.Alert {
	return claim.Alert{
		Kind: claim.AlertUnknown, Job: "reviews", Run: "4711", Cause: "smtp_reply_lost",
		Rows: []claim.AlertRow{{Row: row, Key: key, Detail: "dot: connection lost"}},
		Seen: fmt.Sprintf("the mail server's answer was lost: dot: connection lost; Message-ID <%s.1@acme.test>", key),
		Done: "the row is marked unknown and never sent again by itself", Todo: "look for the Message-ID",
	}
}
