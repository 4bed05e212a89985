package claim

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Callback is the wish of a caller to be told of the end of a run, whose time has
// come.
type Callback struct {
	Run      RunRef
	Document Document
	URL      string
	Tries    int       // that failed, or that nobody knows the end of
	First    time.Time // when it was tried first; zero if never
}

// Callbacks keeps wishes to be told of the ends of runs until that has been done.
type Callbacks interface {
	// AskCallback keeps one wish for a run and an address, however often it is asked.
	AskCallback(ctx context.Context, run RunRef, url string) error
	// DueCallbacks answers the wishes that are open, whose run has ended and whose next
	// try has come, the oldest first.
	DueCallbacks(ctx context.Context, now time.Time, limit int) ([]Callback, error)
	// ReserveCallback notes a try that begins now and keeps others away until then;
	// false: another process was quicker.
	ReserveCallback(ctx context.Context, c Callback, now, until time.Time) (bool, error)
	// RetryCallback writes down a failed try and when to try again.
	RetryCallback(ctx context.Context, c Callback, why string, next time.Time) error
	// EndCallback closes a wish; why is empty when it was fulfilled.
	EndCallback(ctx context.Context, c Callback, why string, now time.Time) error
}

// errNoCallbacks says that nobody would carry a callback out.
var errNoCallbacks = errors.New("callbacks are not configured: set api.callback_hosts")

// callBack keeps whom to tell of the end of a run, which may have come already.
func (s *Service) callBack(ctx context.Context, run RunRef, url string) error {
	if url == "" {
		return nil
	}
	if s.Callbacks == nil {
		return errNoCallbacks
	}
	if err := s.Callbacks.AskCallback(ctx, run, url); err != nil {
		return fmt.Errorf("the ledger could not keep the callback; the run goes on: %w", err)
	}
	if s.Ended != nil {
		s.Ended()
	}
	return nil
}
