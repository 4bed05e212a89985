// Package ledgertest holds the rules that every ledger must keep, as tests. A new
// rule, or a change of one, begins here.
package ledgertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// Book is a ledger under test: the three ports, and what people read.
type Book interface {
	claim.Ledger
	claim.Runs
	claim.Outbox
	claim.Callbacks
	Messages(ctx context.Context, job string) ([]claim.Message, error)
	Attempts(ctx context.Context, k claim.MessageKey) ([]claim.Attempt, error)
	Events(ctx context.Context, job string) ([]ledger.Event, error)
	Alerts(ctx context.Context) ([]claim.QueuedAlert, error)
	Standing(ctx context.Context) (claim.Standing, error)
	History(ctx context.Context, job string, since time.Time) (claim.History, error)
	AlertsOf(ctx context.Context, job, run string, since time.Time) ([]claim.KeptAlert, error)
	Answers(ctx context.Context, job, key string, limit int) ([]claim.Answer, error)
	Keys() *ledger.Keys
	Close() error
}

// Routes are those that a ledger under test must be opened with.
func Routes() []string { return []string{"email", "webhook"} }

// Exercise runs the suite. place makes room for a ledger whose clock is now and whose
// routes are Routes, and answers what opens it, which the suite does more than once. The
// suite closes what it opened.
func Exercise(t *testing.T, place func(t *testing.T, now func() time.Time) func() Book) {
	t.Helper()
	tests := []struct {
		name string
		test func(*bench)
	}{
		{"take/unknown key", takeUnknown},
		{"take/held key", takeHeld},
		{"take/next attempt of a failure", takeFailed},
		{"take/returned key", takeReturned},
		{"take/generations", takeGenerations},
		{"take/lease", takeLease},
		{"take/same key twice", takeTwice},
		{"take/books are apart", takeBooks},
		{"take/incomplete", takeIncomplete},
		{"take/race", takeRace},
		{"take/crossing races", takeCrossing},
		{"lookup", lookup},
		{"held", held},
		{"waiting/unknown", waitingUnknown},
		{"waiting/settled", waitingSettled},
		{"waiting/books are apart", waitingBooks},
		{"waiting/wish", waitingWish},
		{"waiting/generations", waitingGenerations},
		{"move/every pair of states", moveEveryPair},
		{"move/names the claim", moveNamesClaim},
		{"move/from any of several", moveFromAny},
		{"move/if", moveIf},
		{"move/set", moveSet},
		{"move/lease", moveLease},
		{"move/lease ends while waiting", moveLeaseWhileWaiting},
		{"move/race", moveRace},
		{"move/attempts", moveAttempts},
		{"move/what is written with it", moveWrites},
		{"batch/open and close", batchOpenClose},
		{"batch/refused", batchRefused},
		{"batch/again with the same mark", batchAgain},
		{"batch/fence before", batchFenceBefore},
		{"batch/rewound", batchRewound},
		{"orphans/lease ended", orphansLease},
		{"orphans/run finished", orphansFinished},
		{"orphans/batches", orphansBatches},
		{"orphans/settled once", orphansSettledOnce},
		{"run/begin and attach", runAttach},
		{"run/begin race", runRace},
		{"run/pinned", runPinned},
		{"run/not pinned", runNotPinned},
		{"run/dead", runDead},
		{"run/finish once", runFinishOnce},
		{"run/never begun", runNeverBegun},
		{"run/renew", runRenew},
		{"run/lists", runLists},
		{"run/ran", runRan},
		{"run/pause", runPause},
		{"history/runs", historyRuns},
		{"history/claims of other tools", historyForeign},
		{"run/by name", runByName},
		{"run/downtimes", runDowntimes},
		{"callbacks/once for each address", callbacksOnce},
		{"callbacks/tries", callbacksTries},
		{"standing", standing},
		{"alerts/per route", alertsPerRoute},
		{"alerts/retry", alertsRetry},
		{"alerts/reserve", alertsReserve},
		{"alerts/reserve race", alertsReserveRace},
		{"alerts/last delivered", alertsLastDelivered},
		{"alerts/report once", alertsOnce},
		{"alerts/of a run", alertsOfRun},
		{"answers", answers},
		{"keys/claimed", keyClaimed},
		{"keys/released", keyReleased},
		{"keys/LG02 taken over", keyTakenOver},
		{"keys/LG03 late owner", keyLateOwner},
		{"keys/renewed", keyRenewed},
		{"keys/unknown", keyUnknown},
		{"keys/said to be unknown", keySaidUnknown},
		{"keys/race", keyRace},
		{"keys/race of two processes", keyRaceOfTwo},
		{"keys/asked again", keyAskedAgain},
		{"keys/asked again late", keyAskedAgainLate},
		{"keys/asked again at once", keyAskedAtOnce},
		{"keys/list", keyList},
		{"keys/LG06 prune", keyPrune},
		{"keys/caller that leaves", keyLeaves},
		{"keys/callers that leave a group", keyLeavesGroup},
		{"keys/fault of one", keyFaultOfOne},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
			b := &bench{T: t, clock: c, place: place(t, c.Now)}
			b.Book = b.opened()
			tt.test(b)
		})
	}
}

// clock is a clock that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now answers the clock's time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// advance moves the clock on.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// lease is that of every run that a bench begins.
const lease = 5 * time.Minute

// bench is one test's ledger, with shorthand that fails the test by itself.
type bench struct {
	*testing.T
	Book

	clock *clock
	place func() Book
}

// opened opens the ledger once more, as another process does.
func (b *bench) opened() Book {
	b.Helper()
	book := b.place()
	b.Cleanup(func() {
		if err := book.Close(); err != nil {
			b.Errorf("close: %v", err)
		}
	})
	return book
}

func (b *bench) ctx() context.Context { return b.Context() }

// must fails the test when err is not nil.
func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// same fails the test when got is not want.
func (b *bench) same(what string, got, want any) {
	b.Helper()
	if d := cmp.Diff(want, got); d != "" {
		b.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// request asks for a run of job "reviews".
func request(id string) claim.RunRequest {
	return claim.RunRequest{Job: "reviews", ID: id, Params: "Visits!A1:H", Instance: "i1", Lease: lease, Memory: 24 * time.Hour}
}

// begin begins a run of job "reviews" that must be new.
func (b *bench) begin(id string) claim.RunRef {
	b.Helper()
	rec, created, err := b.Begin(b.ctx(), request(id), b.clock.Now())
	b.must(err)
	if !created {
		b.Fatalf("run %s was not created", id)
	}
	return rec.RunRef
}

// book is the memory that the bench's keys live in.
func book() claim.Book { return claim.Book{Job: "reviews", Spreadsheet: "S1"} }

// first names the first generation of a key.
func first(key string) claim.MessageKey {
	return claim.MessageKey{Book: book(), Key: key, Generation: 1}
}

// take asks for one key of a run; its claim text is unique to run, key and
// generation.
func take(run claim.RunRef, k claim.MessageKey) claim.Take {
	return claim.Take{
		MessageKey: k, Claim: "sending " + run.ID + "/" + k.Key + "." + string(rune('0'+k.Generation)), Mark: "m-" + run.ID,
		Range: "Visits!A1:H", Tab: claim.Tab{ID: 7, Title: "Visits"}, Row: 12,
	}
}

// takes reports whether a run is given a key.
func (b *bench) takes(run claim.RunRef, k claim.MessageKey) bool {
	b.Helper()
	got, err := b.Take(b.ctx(), run, []claim.Take{take(run, k)})
	b.must(err)
	if len(got) != 1 {
		b.Fatalf("asked for 1 key, got %d answers", len(got))
	}
	return got[0]
}

// holds takes a key that must be given.
func (b *bench) holds(run claim.RunRef, k claim.MessageKey) {
	b.Helper()
	if !b.takes(run, k) {
		b.Fatalf("key %s was not given to run %s", k.Key, run.ID)
	}
}

// refused takes a key that must not be given.
func (b *bench) refused(run claim.RunRef, k claim.MessageKey) {
	b.Helper()
	if b.takes(run, k) {
		b.Fatalf("key %s generation %d was given to run %s", k.Key, k.Generation, run.ID)
	}
}

// moves reports whether one move was made.
func (b *bench) moves(run claim.RunRef, mv claim.Move) bool {
	b.Helper()
	got, err := b.Move(b.ctx(), run, []claim.Move{mv})
	b.must(err)
	if len(got) != 1 {
		b.Fatalf("asked for 1 move, got %d answers", len(got))
	}
	return got[0]
}

// step is a move of a run's own claim.
func step(run claim.RunRef, k claim.MessageKey, from, to claim.State) claim.Move {
	return claim.Move{MessageKey: k, Claim: take(run, k).Claim, From: []claim.State{from}, To: to}
}

// way is the way from claimed to a state.
func way(to claim.State) []claim.State {
	onward := []claim.State{claim.Claimed, claim.Confirmed, claim.Sending, claim.Settled, claim.Marked, claim.Verified}
	for i, s := range onward {
		if s == to {
			return onward[:i+1]
		}
	}
	if to == claim.HandedOut {
		return []claim.State{claim.Claimed, claim.Confirmed, to}
	}
	back := []claim.State{claim.Claimed, claim.Returning, claim.Returned}
	if to == claim.Returning {
		return back[:2]
	}
	return back
}

// carry takes a key and brings it to a state; what is settled gets the outcome.
func (b *bench) carry(run claim.RunRef, k claim.MessageKey, to claim.State, outcome claim.Outcome) {
	b.Helper()
	b.holds(run, k)
	path := way(to)
	for i := range path[1:] {
		mv := step(run, k, path[i], path[i+1])
		if mv.To == claim.Settled {
			mv.Set = func(m *claim.Message) { m.Outcome = outcome; m.Attempts++; m.Reason = "451 later" }
		}
		if !b.moves(run, mv) {
			b.Fatalf("key %s did not move from %s to %s", k.Key, mv.From[0], mv.To)
		}
	}
}

// message answers the newest generation of a key.
func (b *bench) message(key string) claim.Message {
	b.Helper()
	ms, err := b.Lookup(b.ctx(), book(), []string{key})
	b.must(err)
	m, ok := ms[key]
	if !ok {
		b.Fatalf("key %s is not known", key)
	}
	return m
}

// race calls f from n goroutines at once and waits for them.
func race(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			f(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}
