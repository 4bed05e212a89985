package claim

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Ticket is a caller's hold on a run.
type Ticket struct {
	Run      RunRef
	Replayed bool          // the run had ended before it was asked for
	pickup   Pickup        // where the run hands rows out; nil: it mails them, or runs elsewhere
	handed   chan struct{} // closed when its rows were handed out, to whomever
	done     chan struct{}
	mu       sync.Mutex
	doc      Document
}

func newTicket(rec RunRecord) *Ticket {
	t := &Ticket{Run: rec.RunRef, handed: make(chan struct{}), done: make(chan struct{})}
	t.set(rec.Document)
	return t
}

// Collect fetches the rows of a run that only claims. They are given once; nil when
// they went to another, when there are none, or when ctx ended before they were
// ready: then the run's document says which.
func (t *Ticket) Collect(ctx context.Context) []Handed {
	rows := make(chan []Handed, 1)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // the caller has gone: rows that nobody reads would all become unknown
	}
	select { // rows that are ready come before a patience that has ended
	case t.pickup <- rows:
		return t.collected(ctx, rows)
	default:
	}
	select {
	case t.pickup <- rows:
		return t.collected(ctx, rows)
	case <-t.handed:
	case <-t.done:
	case <-ctx.Done():
	}
	return nil
}

// collected waits for the rows of a run that knows of us. From here on they are
// ours, or nobody's: ctx counts only when there are none.
func (t *Ticket) collected(ctx context.Context, rows <-chan []Handed) []Handed {
	if out, ok := <-rows; ok {
		return out
	}
	select {
	case <-t.done:
	case <-ctx.Done():
	}
	return nil
}

// Done is closed when the run has finished.
func (t *Ticket) Done() <-chan struct{} { return t.done }

// Document answers the run document as it is now.
func (t *Ticket) Document() Document {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doc
}

func (t *Ticket) set(d Document) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.HandedOutAt != nil && t.doc.HandedOutAt == nil {
		close(t.handed)
	}
	t.doc = d
}

// attach gives a hold on a run that was begun before, here or in another process.
func (s *Service) attach(rec RunRecord) *Ticket {
	s.mu.Lock()
	t, ok := s.live[rec.Seq]
	s.mu.Unlock()
	if ok {
		return t
	}
	t = newTicket(rec)
	if rec.Document.State == RunFinished {
		t.Replayed = true
		close(t.done)
		return t
	}
	s.background(t, func(ctx context.Context) { s.follow(ctx, t) })
	return t
}

// follow watches a run of another process through the ledger.
func (s *Service) follow(ctx context.Context, t *Ticket) {
	defer close(t.done)
	for s.Wait(ctx, time.Second) == nil {
		rec, err := s.Runs.Find(ctx, t.Run.Job, t.Run.ID)
		if err != nil || rec.Seq != t.Run.Seq {
			return
		}
		t.set(rec.Document)
		if rec.Document.State == RunFinished || rec.Document.HandedOutAt != nil || !rec.Alive {
			return
		}
	}
}
