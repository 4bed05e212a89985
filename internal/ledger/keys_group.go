package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

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

// keyCall is one call on a key: a statement that changes the key if that may be, and
// what comes of it.
type keyCall struct {
	key    string
	rank   int // a key is given back before others claim it
	change func(now time.Time) change
	// judge is told the key after the change or, when there was none, as it stands.
	judge func(ctx context.Context, t *tx, h heldKey, changed bool) error
}

// change is a statement that changes a key, and how the key stands when it did: only
// what changedColumns names has to be read back.
type change struct {
	query
	heldKey
}

// groupCall is one call in a group.
type groupCall struct {
	keyCall

	gone func() error // says whether the caller has left
	err  error
	done chan struct{}
}

// together carries a call out in a transaction that others may share, and returns when
// it is on disk. What a call is refused concerns that call alone. A caller that leaves
// before its turn leaves nothing behind; one that leaves later is made to wait for its
// answer, since a claim that nobody knows of keeps everybody away.
func (k *Keys) together(ctx context.Context, call keyCall) error {
	c := &groupCall{keyCall: call, gone: ctx.Err, done: make(chan struct{})}
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
	// Everybody asks for keys in one order: else two groups would wait for each other.
	slices.SortStableFunc(calls, func(a, b *groupCall) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.rank, b.rank))
	})
	// Groups of several instances that were alone, each, failed one another up to a third
	// of the time over keys that lie side by side.
	err := k.ledger.writeRows(ctx, "keys", func(t *tx) error {
		var here []*groupCall
		for _, c := range calls {
			if c.err = c.gone(); c.err == nil {
				here = append(here, c)
			}
		}
		if err := t.carryOut(ctx, here); err != nil {
			return &callError{err}
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

// carryOut carries calls out. In Postgres it is two round trips for all of them: what
// they change, and how the keys stand that let nobody change them.
func (t *tx) carryOut(ctx context.Context, calls []*groupCall) error {
	changes := make([]query, len(calls))
	keys := make([]heldKey, len(calls))
	for i, c := range calls {
		change := c.change(t.now)
		changes[i], keys[i] = change.query, change.heldKey
	}
	changed := make([]bool, len(calls))
	err := t.engine.ask(ctx, t, changes, func(i int, row scanner) (err error) {
		changed[i], err = keys[i].scanChanged(row)
		return err
	})
	if err != nil {
		return err
	}
	var looks []query
	for i := range calls {
		if !changed[i] {
			looks = append(looks, keyNamed(calls[i].key))
		}
	}
	stand, err := t.askKeys(ctx, looks)
	if err != nil {
		return err
	}
	for i, c := range calls {
		h := &keys[i]
		if !changed[i] {
			h, stand = stand[0], stand[1:]
		}
		if c.err = key.ErrNoKey; h != nil {
			h.Entry = h.At(t.now)
			c.err = c.judge(ctx, t, *h, changed[i])
		}
		if c.err != nil && !refusal(c.err) {
			return c.err
		}
	}
	return nil
}

// askKeys answers the key of each query, nil where there is none.
func (t *tx) askKeys(ctx context.Context, qs []query) ([]*heldKey, error) {
	keys := make([]*heldKey, len(qs))
	return keys, t.engine.ask(ctx, t, qs, func(i int, row scanner) error {
		h, known, err := found(scanKey(row))
		if known {
			keys[i] = &h
		}
		return err
	})
}

// callError is the error of a statement of one call, and not of the transaction.
type callError struct{ error }

func (e *callError) Unwrap() error { return e.error }

// refusal reports whether an error is an answer and no fault of the ledger. Nothing
// was written that would have to be taken back.
func refusal(err error) bool {
	return errors.Is(err, key.ErrNoKey) || errors.Is(err, key.ErrStale) || errors.Is(err, key.ErrEnded) || errors.Is(err, key.ErrNotUnknown)
}
