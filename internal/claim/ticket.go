package claim

import (
	"context"
	"sync"
	"time"
)

// Ticket is a caller's hold on a run.
type Ticket struct {
	Run      RunRef
	Replayed bool // the run had ended before it was asked for
	done     chan struct{}
	mu       sync.Mutex
	doc      Document
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
	t = &Ticket{Run: rec.RunRef, done: make(chan struct{}), doc: rec.Document}
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
		if rec.Document.State == RunFinished || !rec.Alive {
			return
		}
	}
}
