package claim_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/mailer"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
)

// fate is when a process dies or stands still. Its calls to the world are counted:
// those to the sheet and to the ledger, and every write on a mail connection.
type fate struct {
	s    *sim
	name string
	died chan struct{}

	mu      sync.Mutex
	calls   int
	dieAt   int // 0: never
	after   bool
	freezes map[int]freeze // by call
	thaws   time.Time
	dead    bool
	conns   map[net.Conn]bool
	luck    *rand.Rand // for the calls of dieOn and freezeOn; nil: none
}

type freeze struct {
	after bool
	d     time.Duration
}

// stand waits while the process stands still.
func (f *fate) stand() {
	// Those who wait wake one after another, in an order that the seed decides.
	turn := time.Duration(time.Now().UnixNano() % int64(time.Millisecond))
	for {
		f.mu.Lock()
		wait := time.Until(f.thaws) + turn
		dead := f.dead
		stands := f.thaws.After(time.Now().Add(-turn))
		f.mu.Unlock()
		if !stands || wait <= 0 || dead {
			return
		}
		select {
		case <-time.After(wait):
		case <-f.died:
		}
	}
}

func (f *fate) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// kill ends the process: nothing that it still does has an effect.
func (f *fate) kill(why string) {
	f.mu.Lock()
	if f.dead {
		f.mu.Unlock()
		return
	}
	f.dead = true
	n := f.calls
	conns := f.conns
	f.conns = nil
	f.mu.Unlock()
	f.s.log("%s: dies %s (call %d)", f.name, why, n)
	close(f.died)
	for c := range conns {
		c.Close()
	}
}

func (f *fate) freeze(d time.Duration, why string) {
	f.mu.Lock()
	f.thaws = time.Now().Add(d)
	n := f.calls
	f.mu.Unlock()
	f.s.log("%s: stands still for %s %s (call %d)", f.name, d.Round(time.Second), why, n)
}

// call carries out one call to the world.
func (f *fate) call(what string, do func() error) error {
	f.stand()
	f.mu.Lock()
	f.calls++
	n := f.calls
	die := n == f.dieAt
	fr, still := f.freezes[n]
	if f.luck != nil && !f.dead {
		switch {
		case what == f.s.plan.dieOn && f.luck.IntN(6) == 0:
			die, f.after = true, f.luck.IntN(2) == 0
		case what == f.s.plan.freezeOn && f.luck.IntN(6) == 0:
			still, fr = true, freeze{f.luck.IntN(2) == 0, simLease + upTo(f.luck, 2*time.Minute)}
		}
	}
	after := f.after
	f.mu.Unlock()
	if die && !after {
		f.kill("before " + what)
	}
	if still && !fr.after {
		f.freeze(fr.d, "before "+what)
		f.stand()
	}
	if f.isDead() {
		return errDead
	}
	err := do()
	if die && after {
		f.kill("after " + what)
	}
	if still && fr.after {
		f.freeze(fr.d, "after "+what)
	}
	f.stand()
	if f.isDead() {
		return errDead
	}
	return err
}

// pass is call for what is not counted.
func (f *fate) pass(do func() error) error {
	f.stand()
	if f.isDead() {
		return errDead
	}
	err := do()
	f.stand()
	if f.isDead() {
		return errDead
	}
	return err
}

func answered[T any](f *fate, what string, do func() (T, error)) (T, error) {
	var v, zero T
	err := f.call(what, func() (err error) {
		v, err = do()
		return err
	})
	if errors.Is(err, errDead) {
		return zero, err
	}
	return v, err
}

func passed[T any](f *fate, do func() (T, error)) (T, error) {
	var v, zero T
	err := f.pass(func() (err error) {
		v, err = do()
		return err
	})
	if errors.Is(err, errDead) {
		return zero, err
	}
	return v, err
}

// wait is the Wait of a process.
func (f *fate) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-f.died:
	case <-t.C:
	}
	f.stand()
	if f.isDead() {
		return errDead
	}
	return ctx.Err()
}

type simSheet struct {
	f  *fate
	in claim.Sheet
}

func (m simSheet) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	return answered(m.f, "read", func() (*claim.Grid, error) { return m.in.Read(ctx, t, ask) })
}

func (m simSheet) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	m.f.s.stakes(g, b)
	return answered(m.f, "claim", func() (*claim.Grid, error) { return m.in.Claim(ctx, g, b) })
}

func (m simSheet) Replace(ctx context.Context, g *claim.Grid, rs []claim.Replacement) ([]int, error) {
	return answered(m.f, "replace", func() ([]int, error) { return m.in.Replace(ctx, g, rs) })
}

func (m simSheet) Prune(ctx context.Context, g *claim.Grid, old []claim.Stamp) error {
	return m.f.call("prune", func() error { return m.in.Prune(ctx, g, old) })
}

type simMailer struct {
	f *fate
	claim.Mailer
}

func (m simMailer) Login(ctx context.Context) error {
	return m.f.call("login", func() error { return m.Mailer.Login(ctx) })
}

func (m simMailer) Send(ctx context.Context, l claim.Letter, h claim.Hooks) claim.Result {
	r, err := answered(m.f, "send", func() (claim.Result, error) { return m.Mailer.Send(ctx, l, h), nil })
	if err != nil {
		return claim.Result{Verdict: claim.NotBegun, Err: err}
	}
	return r
}

type simLedger struct {
	f *fate
	book
}

func (m simLedger) Lookup(ctx context.Context, b claim.Book, keys []string) (map[string]claim.Message, error) {
	return answered(m.f, "lookup", func() (map[string]claim.Message, error) { return m.book.Lookup(ctx, b, keys) })
}

func (m simLedger) Take(ctx context.Context, run claim.RunRef, ts []claim.Take) ([]bool, error) {
	return answered(m.f, "take", func() ([]bool, error) { return m.book.Take(ctx, run, ts) })
}

func (m simLedger) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	return answered(m.f, moving(ms), func() ([]bool, error) { return m.book.Move(ctx, run, ms) })
}

func moving(ms []claim.Move) string {
	if len(ms) == 0 {
		return "move"
	}
	return "move to " + string(ms[0].To)
}

func (m simLedger) OpenBatch(ctx context.Context, run claim.RunRef, b claim.OpenBatch) (id string, count uint64, err error) {
	err = m.f.call("open batch", func() (err error) {
		id, count, err = m.book.OpenBatch(ctx, run, b)
		return err
	})
	return id, count, err
}

func (m simLedger) CloseBatch(ctx context.Context, mark string, applied bool) error {
	return m.f.call("close batch", func() error { return m.book.CloseBatch(ctx, mark, applied) })
}

func (m simLedger) Report(ctx context.Context, run claim.RunRef, rs []claim.Report) error {
	return m.f.call("report", func() error { return m.book.Report(ctx, run, rs) })
}

func (m simLedger) Pause(ctx context.Context, job string, until time.Time) error {
	return m.f.call("pause", func() error { return m.book.Pause(ctx, job, until) })
}

func (m simLedger) Begin(ctx context.Context, r claim.RunRequest, now time.Time) (rec claim.RunRecord, created bool, err error) {
	err = m.f.call("begin", func() (err error) {
		rec, created, err = m.book.Begin(ctx, r, now)
		return err
	})
	return rec, created, err
}

func (m simLedger) Finish(ctx context.Context, run claim.RunRef, d claim.Document, pins bool) error {
	return m.f.call("finish", func() error { return m.book.Finish(ctx, run, d, pins) })
}

func (m simLedger) Orphans(ctx context.Context, job string) (ms []claim.Message, bs []claim.OpenBatch, err error) {
	err = m.f.pass(func() (err error) {
		ms, bs, err = m.book.Orphans(ctx, job)
		return err
	})
	return ms, bs, err
}

// Those that are not counted, since their number depends on time, or since nothing
// changes by them.

func (m simLedger) Renew(ctx context.Context, run claim.RunRef, lease time.Duration) (bool, error) {
	return passed(m.f, func() (bool, error) { return m.book.Renew(ctx, run, lease) })
}

func (m simLedger) Save(ctx context.Context, run claim.RunRef, d claim.Document) error {
	return m.f.pass(func() error { return m.book.Save(ctx, run, d) })
}

func (m simLedger) Rewound(ctx context.Context, led string, seen uint64) (bool, error) {
	return passed(m.f, func() (bool, error) { return m.book.Rewound(ctx, led, seen) })
}

func (m simLedger) Waiting(ctx context.Context, b claim.Book) ([]claim.Message, error) {
	return passed(m.f, func() ([]claim.Message, error) { return m.book.Waiting(ctx, b) })
}

func (m simLedger) Strays(ctx context.Context, b claim.Book, found []claim.Stray) (known []claim.Stray, slowest time.Duration, err error) {
	err = m.f.pass(func() (err error) {
		known, slowest, err = m.book.Strays(ctx, b, found)
		return err
	})
	return known, slowest, err
}

func (m simLedger) FenceBefore(ctx context.Context, spreadsheet string, tab int64, t time.Time) (uint64, error) {
	return passed(m.f, func() (uint64, error) { return m.book.FenceBefore(ctx, spreadsheet, tab, t) })
}

func (m simLedger) Ran(ctx context.Context, job string) (bool, error) {
	return passed(m.f, func() (bool, error) { return m.book.Ran(ctx, job) })
}

func (m simLedger) Find(ctx context.Context, job, id string) (claim.RunRecord, error) {
	return passed(m.f, func() (claim.RunRecord, error) { return m.book.Find(ctx, job, id) })
}

func (m simLedger) Abandoned(ctx context.Context, job string) ([]claim.RunRecord, error) {
	return passed(m.f, func() ([]claim.RunRecord, error) { return m.book.Abandoned(ctx, job) })
}

func (m simLedger) Paused(ctx context.Context, job string) (time.Time, error) {
	return passed(m.f, func() (time.Time, error) { return m.book.Paused(ctx, job) })
}

// simConn is a mail connection of a process: it breaks when the process dies, and
// stands still with it.
type simConn struct {
	net.Conn
	f *fate
}

func (c simConn) Write(b []byte) (int, error) {
	return answered(c.f, "mail write", func() (int, error) { return c.Conn.Write(b) })
}

func (c simConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.f.stand()
	if c.f.isDead() {
		return 0, errDead
	}
	return n, err
}

// proc is one process of an installation.
type proc struct {
	*fate
	svc  *claim.Service
	led  *ledger.DB
	mail *mailer.SMTP
	job  *claim.Job
}

const simLease = 3 * time.Minute

func (s *sim) settings() settings {
	set := settings{"first_run_limit": "0", "limit": fmt.Sprint(s.plan.limit), "lease": simLease.String(), "retry_after": "10m"}
	if s.plan.skip {
		set["on_doubt"] = "skip"
	}
	maps.Copy(set, s.plan.more)
	if s.plan.note {
		set["columns"] = "{key: key, email: email, status: status, due: due, note: note}"
	}
	return set
}

// boot starts a process of an installation. With r it has a fate.
func (s *sim) boot(slot, gen int, r *rand.Rand) *proc {
	name := fmt.Sprintf("p%d.%d", slot, gen)
	p := &proc{fate: &fate{s: s, name: name, died: make(chan struct{}), conns: map[net.Conn]bool{}, freezes: map[int]freeze{}}}
	if r != nil {
		p.draw(r)
	}
	cfg, err := job.Parse("sheetclaim.yaml", []byte(jobYAML(s.settings())), os.LookupEnv)
	if err != nil {
		s.t.Fatal(err)
	}
	if p.job, err = cfg.Job("test"); err != nil {
		s.t.Fatal(err)
	}
	p.led = s.openLedger(slot)
	p.mail, err = mailer.New(mailer.Config{
		Host: "127.0.0.1", Port: 25, TLS: mailer.NoTLS, From: "Acme <hello@acme.test>", HELO: "acme.test",
		DialContext: p.dial, Now: time.Now,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	luck, turn := s.rng("client "+name), sync.Mutex{}
	client, err := sheets.New(context.Background(), sheets.Config{Transport: s.emu.Transport(name), Now: time.Now, Rand: func() float64 {
		turn.Lock() // the runs of a process share its client
		defer turn.Unlock()
		return luck.Float64()
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	if s.plan.seed == *simSeed {
		log = slog.New(slog.NewTextHandler(simLogWriter{s, name}, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: dropTime}))
	}
	led := s.weak.ledger(simLedger{p.fate, s.line(slot, name, p.led)})
	marks := 0
	p.svc = &claim.Service{
		Jobs: map[string]*claim.Job{"test": p.job}, Ledger: led, Runs: led,
		Instance: name, Memory: time.Hour, Now: time.Now, Wait: p.wait, Log: log,
		Worker: func() *claim.Worker {
			view, calls := client.Counting()
			return &claim.Worker{
				Sheet: s.weak.sheet(simSheet{p.fate, view}), Ledger: led, Mailer: s.weak.mailer(simMailer{p.fate, p.mail}),
				Now: time.Now, Wait: s.weak.wait(p.wait, p.job), Calls: calls, Log: log,
				NewMark: func() string {
					p.mu.Lock()
					defer p.mu.Unlock()
					marks++
					return fmt.Sprintf("%d%02d%05d", slot, gen%100, marks)
				},
			}
		},
	}
	p.svc.Open()
	s.log("%s: starts (dies at call %d, after %t)", name, p.dieAt, p.after)
	return p
}

// draw draws a process's fate.
func (f *fate) draw(r *rand.Rand) {
	f.luck = f.s.rng("fate " + f.name)
	most := 1 + r.IntN(150)
	if f.s.plan.crashes && r.IntN(4) > 0 {
		f.dieAt, f.after = 1+r.IntN(most), r.IntN(2) == 0
	}
	if f.s.plan.pauses {
		for range 1 + r.IntN(3) {
			d := []time.Duration{4 * time.Second, 20 * time.Second, 70 * time.Second, 4 * time.Minute, 12 * time.Minute}[r.IntN(5)]
			f.freezes[1+r.IntN(most)] = freeze{r.IntN(2) == 0, d + upTo(r, 10*time.Second)}
		}
	}
}

func (p *proc) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if p.isDead() {
		return nil, errDead
	}
	c, err := p.s.sink.Dial(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		c.Close()
		return nil, errDead
	}
	p.conns[c] = true
	return simConn{c, p.fate}, nil
}

// end closes a process: in good order, or after its death what is left of it.
func (p *proc) end() {
	p.svc.Close()
	p.mail.Close()
	if err := p.led.Close(); err != nil {
		p.s.t.Error(err)
	}
	p.s.log("%s: has ended", p.name)
}

type simLogWriter struct {
	s    *sim
	name string
}

func (w simLogWriter) Write(b []byte) (int, error) {
	w.s.log("%s: log %s", w.name, string(b[:len(b)-1]))
	return len(b), nil
}

func dropTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
