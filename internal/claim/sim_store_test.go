package claim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// simStore keeps the ledgers of a simulation. It is made before the simulated time
// begins and may be used in it.
type simStore interface {
	// address is where an installation finds its ledger.
	address(slot int) string
	// Network faults between an installation and its ledger; for a file there are none.
	part(slot int)
	rejoin(slot int)
	cutAtCommit(slot int, reached bool)
}

// makeStore makes a store for the ledgers of a plan.
type makeStore func(t *testing.T, plan simPlan) simStore

// files is a store of SQLite files.
type files struct {
	dir     string
	ledgers []string
}

func inFiles(t *testing.T, plan simPlan) simStore {
	t.Helper()
	return files{scratch(t), plan.ledgers}
}

func (f files) address(slot int) string {
	return "sqlite:" + filepath.Join(f.dir, f.ledgers[slot]+".db")
}
func (files) part(int)              {}
func (files) rejoin(int)            {}
func (files) cutAtCommit(int, bool) {}

// outside runs functions on a goroutine that lives in real time. Whoever waits for it
// stands still in simulated time: its channels belong to no bubble.
type outside struct {
	mu   sync.Mutex
	ask  chan func()
	done chan struct{}
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{ask: make(chan func()), done: make(chan struct{})}
	go func() {
		for f := range o.ask {
			f()
			o.done <- struct{}{}
		}
	}()
	t.Cleanup(func() { close(o.ask) })
	return o
}

func (o *outside) run(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ask <- f
	<-o.done
}

// openLedger opens the ledger of an installation. A process whose server is out of reach
// ends, and is started again until it is there.
func (s *sim) openLedger(slot int) *ledger.DB {
	id := s.plan.ledgers[slot]
	for patience := 100; ; patience-- {
		led, err := ledger.OpenURL(context.Background(), s.store.address(slot), ledger.Options{
			Now: time.Now, Routes: []string{"email"}, NewID: func() string { return id },
		})
		if err == nil {
			return led
		}
		if s.plan.parts == 0 || patience == 0 {
			s.t.Fatal(err)
		}
		s.log("p%d: does not start: %v", slot, err)
		time.Sleep(5 * time.Second)
	}
}

// network parts an installation from its ledger, for moments or past its leases.
func (s *sim) network(slot int) {
	r := s.rng(fmt.Sprint("network ", slot))
	for s.sleep(upTo(r, 2*s.plan.parts)) {
		d := []time.Duration{time.Second, 10 * time.Second, 40 * time.Second, simLease + time.Minute}[r.IntN(4)] + upTo(r, 5*time.Second)
		s.store.part(slot)
		s.count("ledgers out of reach")
		s.log("network of %d: the ledger is out of reach for %s", slot, d.Round(time.Second))
		s.sleep(d)
		s.store.rejoin(slot)
		s.log("network of %d: the ledger is there again", slot)
	}
}

// badLine is a ledger at the end of a bad line: some commits get no answer, whether they
// arrived or not.
type badLine struct {
	book
	s    *sim
	slot int

	mu sync.Mutex
	r  *rand.Rand
}

// line puts a process's ledger behind the line of its installation.
func (s *sim) line(slot int, process string, b book) book {
	if s.plan.parts == 0 {
		return b
	}
	return &badLine{book: b, s: s, slot: slot, r: s.rng("line " + process)}
}

// cut may let the commit of a call go without its answer.
func (l *badLine) cut(what string) {
	of := 12
	if what == l.s.plan.cutOn {
		of = 2
	}
	l.mu.Lock()
	cut, reached := l.r.IntN(of) == 0, l.r.IntN(2) == 0
	l.mu.Unlock()
	select {
	case <-l.s.over:
	default:
		if cut {
			l.s.store.cutAtCommit(l.slot, reached)
			l.s.count("commits without an answer")
			l.s.log("line of %d: the next commit gets no answer (arrives: %t): %s", l.slot, reached, what)
		}
	}
}

func (l *badLine) Take(ctx context.Context, run claim.RunRef, ts []claim.Take) ([]bool, error) {
	l.cut("take")
	return l.book.Take(ctx, run, ts)
}

func (l *badLine) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	l.cut(moving(ms))
	return l.book.Move(ctx, run, ms)
}

func (l *badLine) OpenBatch(ctx context.Context, run claim.RunRef, b claim.OpenBatch) (string, uint64, error) {
	l.cut("open batch")
	return l.book.OpenBatch(ctx, run, b)
}

func (l *badLine) CloseBatch(ctx context.Context, mark string, applied bool) error {
	l.cut("close batch")
	return l.book.CloseBatch(ctx, mark, applied)
}

func (s *sim) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}
