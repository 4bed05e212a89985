package ledger

import (
	"context"
	"errors"
	"sync"

	"github.com/sheetclaim/sheetclaim/internal/key"
)

// groupMost is how many calls share one transaction: enough for the wait for the disk
// to weigh little, few enough for other users of the file to get their turn.
const groupMost = 512

// group is the calls that wait for a transaction. It needs no goroutine while nobody
// waits.
type group struct {
	mu      sync.Mutex
	waiting []*groupCall
	busy    bool // a goroutine carries them out
}

// groupCall is one call in a group.
type groupCall struct {
	gone func() error // says whether the caller has left
	do   func(ctx context.Context, t *tx) error
	err  error
	done chan struct{}
}

// together carries do out in a transaction that other calls may share, and returns
// when it is on disk. What do refuses concerns its own call alone. A caller that
// leaves before its turn leaves nothing behind; one that leaves later is made to wait
// for its answer, since a claim that nobody knows of keeps everybody away.
func (k *Keys) together(ctx context.Context, do func(ctx context.Context, t *tx) error) error {
	c := &groupCall{gone: ctx.Err, do: do, done: make(chan struct{})}
	k.group.mu.Lock()
	k.group.waiting = append(k.group.waiting, c)
	idle := !k.group.busy
	k.group.busy = true
	k.group.mu.Unlock()
	if idle {
		go k.carryOut(context.WithoutCancel(ctx))
	}
	<-c.done
	return c.err
}

// carryOut carries out what waits, until nothing does. What comes while one
// transaction is written to disk is the next one.
func (k *Keys) carryOut(ctx context.Context) {
	for calls := k.group.next(); len(calls) > 0; calls = k.group.next() {
		k.inOne(ctx, calls)
	}
}

// next takes the calls that are next.
func (g *group) next() []*groupCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), groupMost)
	calls := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if n == 0 {
		g.waiting, g.busy = nil, false
	}
	return calls
}

// inOne carries calls out in one transaction. When a statement of one of them fails,
// each is tried alone: nobody pays for another's fault. A server that is away is
// nobody's, and to wait for it once for each call would keep callers for hours.
func (k *Keys) inOne(ctx context.Context, calls []*groupCall) {
	err := k.ledger.write(ctx, "keys", func(t *tx) error {
		t.reuse = len(calls) > 1
		for _, c := range calls {
			if c.err = c.gone(); c.err != nil {
				continue
			}
			if c.err = c.do(ctx, t); c.err != nil && !refusal(c.err) {
				return &callError{c.err}
			}
		}
		return nil
	})
	var own *callError
	if len(calls) > 1 && errors.As(err, &own) && !away(err) {
		for i := range calls {
			k.inOne(ctx, calls[i:i+1])
		}
		return
	}
	for _, c := range calls {
		if err != nil {
			c.err = err
		}
		close(c.done)
	}
}

// callError is the error of a statement of one call, and not of the transaction.
type callError struct{ error }

func (e *callError) Unwrap() error { return e.error }

// refusal reports whether an error is an answer and no fault of the ledger. Nothing
// was written that would have to be taken back.
func refusal(err error) bool {
	return errors.Is(err, key.ErrNoKey) || errors.Is(err, key.ErrStale) || errors.Is(err, key.ErrEnded) || errors.Is(err, key.ErrNotUnknown)
}
