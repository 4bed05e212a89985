package mailer

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// turns paces transactions to the account's rate, one at a time and never several
// saved up.
//
// A turn that was waited for and not used can be given back. Without that, a
// caller whose Hooks.Begin wants a young read would wait for each turn longer than
// its read stays young once the rate is below one a minute, and send nothing ever.
type turns struct {
	limit  *rate.Limiter
	every  time.Duration
	unused chan time.Time // when they were given back
}

// newTurns makes turns at a rate, of which n may be unused at a time.
func newTurns(r rate.Limit, n int) *turns {
	t := &turns{limit: rate.NewLimiter(r, 1), unused: make(chan time.Time, n)}
	if r != rate.Inf {
		t.every = time.Duration(float64(time.Second) / float64(r))
	}
	return t
}

// wait waits for a turn.
func (t *turns) wait(ctx context.Context) error {
	for {
		select {
		case since := <-t.unused:
			if time.Since(since) < t.every { // later the limiter has another one by itself
				return ctx.Err()
			}
		default:
			return t.limit.Wait(ctx)
		}
	}
}

func (t *turns) giveBack() {
	select {
	case t.unused <- time.Now():
	default:
	}
}
