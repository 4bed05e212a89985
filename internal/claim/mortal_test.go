package claim_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// errDead is what every part answers to a process that has died: nothing that it
// still does can have an effect, which is what death is to the world.
var errDead = errors.New("the process is dead")

// life counts a process's calls to the world and ends it at one of them: before it
// had its effect, or after, before its answer was read.
type life struct {
	mu    sync.Mutex
	calls int
	dieAt int // 0: never
	after bool
	dead  bool
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// call carries out one call to the world, unless the process dies.
func (l *life) call(do func() error) error {
	l.mu.Lock()
	l.calls++
	last := l.calls == l.dieAt
	if last && !l.after {
		l.dead = true
	}
	dead := l.dead
	l.mu.Unlock()
	if dead {
		return errDead
	}
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	if last {
		l.dead = true
	}
	if l.dead {
		return errDead
	}
	return err
}

// valued is call for a function with an answer.
func valued[T any](l *life, do func() (T, error)) (T, error) {
	var v T
	err := l.call(func() (err error) {
		v, err = do()
		return err
	})
	if errors.Is(err, errDead) {
		var zero T
		return zero, err
	}
	return v, err
}

type mortalSheet struct {
	*life
	in claim.Sheet
}

func (m mortalSheet) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	return valued(m.life, func() (*claim.Grid, error) { return m.in.Read(ctx, t, ask) })
}

func (m mortalSheet) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	return valued(m.life, func() (*claim.Grid, error) { return m.in.Claim(ctx, g, b) })
}

func (m mortalSheet) Replace(ctx context.Context, g *claim.Grid, rs []claim.Replacement) ([]int, error) {
	return valued(m.life, func() ([]int, error) { return m.in.Replace(ctx, g, rs) })
}

func (m mortalSheet) Prune(ctx context.Context, g *claim.Grid, old []claim.Stamp) error {
	return m.call(func() error { return m.in.Prune(ctx, g, old) })
}

type mortalMailer struct {
	*life
	claim.Mailer
}

func (m mortalMailer) Login(ctx context.Context) error {
	return m.call(func() error { return m.Mailer.Login(ctx) })
}

func (m mortalMailer) Send(ctx context.Context, l claim.Letter, h claim.Hooks) claim.Result {
	r, err := valued(m.life, func() (claim.Result, error) { return m.Mailer.Send(ctx, l, h), nil })
	if err != nil {
		return claim.Result{Verdict: claim.NotBegun, Err: err}
	}
	return r
}

// book is what a ledger is to a service.
type book interface {
	claim.Ledger
	claim.Runs
}

type mortalLedger struct {
	*life
	book
}

func (m mortalLedger) Lookup(ctx context.Context, b claim.Book, keys []string) (map[string]claim.Message, error) {
	return valued(m.life, func() (map[string]claim.Message, error) { return m.book.Lookup(ctx, b, keys) })
}

func (m mortalLedger) Take(ctx context.Context, run claim.RunRef, ts []claim.Take) ([]bool, error) {
	return valued(m.life, func() ([]bool, error) { return m.book.Take(ctx, run, ts) })
}

func (m mortalLedger) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	return valued(m.life, func() ([]bool, error) { return m.book.Move(ctx, run, ms) })
}

func (m mortalLedger) OpenBatch(ctx context.Context, run claim.RunRef, b claim.OpenBatch) (id string, count uint64, err error) {
	err = m.call(func() (err error) {
		id, count, err = m.book.OpenBatch(ctx, run, b)
		return err
	})
	return id, count, err
}

func (m mortalLedger) CloseBatch(ctx context.Context, mark string, applied bool) error {
	return m.call(func() error { return m.book.CloseBatch(ctx, mark, applied) })
}

func (m mortalLedger) Report(ctx context.Context, run claim.RunRef, rs []claim.Report) error {
	return m.call(func() error { return m.book.Report(ctx, run, rs) })
}

func (m mortalLedger) Pause(ctx context.Context, job string, until time.Time) error {
	return m.call(func() error { return m.book.Pause(ctx, job, until) })
}

// Renewals and progress are not counted, since their number depends on time; they
// end with the process all the same.
func (m mortalLedger) Renew(ctx context.Context, run claim.RunRef, lease time.Duration) (bool, error) {
	if m.isDead() {
		return false, errDead
	}
	return m.book.Renew(ctx, run, lease)
}

func (m mortalLedger) Save(ctx context.Context, run claim.RunRef, d claim.Document) error {
	if m.isDead() {
		return errDead
	}
	return m.book.Save(ctx, run, d)
}

func (m mortalLedger) Finish(ctx context.Context, run claim.RunRef, d claim.Document, pins bool) error {
	return m.call(func() error { return m.book.Finish(ctx, run, d, pins) })
}
