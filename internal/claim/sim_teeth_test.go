package claim_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// weakness is a safeguard that is taken away, to show that the simulation misses it.
type weakness struct {
	name  string
	seed  uint64 // finds it; the search begins here
	want  string // what the violation has to say; "": any
	plan  func(*simPlan)
	onS   func(claim.Sheet) claim.Sheet // for each run
	onL   func(book) book
	onM   func(claim.Mailer) claim.Mailer
	hasty bool // nobody waits between claim and confirm
}

// find finds a weakness by its name.
func find(name string) *weakness {
	for _, w := range weaknesses {
		if w.name == name {
			return w
		}
	}
	return nil
}

// planFor is the plan of a seed in which a safeguard is missed most.
func (w *weakness) planFor(seed uint64) simPlan {
	plan := newPlan(seed)
	if w == nil {
		return plan
	}
	// Nothing else is to break than what is taken away.
	plan.note, plan.pauses, plan.freezeOn, plan.flows = false, false, "", 0
	if w.plan != nil {
		w.plan(&plan)
	}
	return plan
}

func (w *weakness) sheet(s claim.Sheet) claim.Sheet {
	if w == nil || w.onS == nil {
		return s
	}
	return w.onS(s)
}

func (w *weakness) ledger(b book) book {
	if w == nil || w.onL == nil {
		return b
	}
	return w.onL(b)
}

func (w *weakness) mailer(m claim.Mailer) claim.Mailer {
	if w == nil || w.onM == nil {
		return m
	}
	return w.onM(m)
}

func (w *weakness) wait(in func(context.Context, time.Duration) error, job *claim.Job) func(context.Context, time.Duration) error {
	if w == nil || !w.hasty {
		return in
	}
	return func(ctx context.Context, d time.Duration) error {
		if d == job.Wait {
			d = time.Millisecond
		}
		return in(ctx, d)
	}
}

func separate(p *simPlan) {
	p.shared = false
	for i := range p.ledgers {
		p.ledgers[i] = "led" + string(rune('0'+i))
	}
}

func oneLedger(p *simPlan) {
	p.shared = true
	for i := range p.ledgers {
		p.ledgers[i] = "one"
	}
}

func stormy(p *simPlan) { p.faults, p.lateBy = 8, 90*time.Second }

// weaknesses are the safeguards: every rule of design.md whose reason stands in
// brackets and that can be taken away from outside, and the others that matter.
var weaknesses = []*weakness{
	{name: "ledger: every key is given, nothing is remembered", seed: 1, want: "promise 1", onL: func(b book) book { return &amnesia{book: b} }, plan: oneLedger},
	{name: "ledger: a message that has ended may be sent as a new generation", seed: 7, want: "promise 1", onL: func(b book) book { return freeGenerations{b} }, plan: oneLedger},
	{name: "ledger: no commit record before the dot", seed: 12, want: "promise 1", onL: func(b book) book { return noCommit{b} }, plan: func(p *simPlan) { p.crashes = true }},
	{name: "ledger: neither the commit record nor the run asks for the lease", seed: 24, want: "promise 1", onL: func(b book) book { return noLease{b} }, plan: func(p *simPlan) {
		p.procs, p.shared, p.ledgers = 3, false, []string{"led0", "led0", "led1"}
		p.freezeOn, p.dieOn, p.slow, p.crashes, p.note = "move to sending", "", 300, false, false
		p.every, p.edits = 30*time.Second, 0
	}},
	{name: "ledger: a key is freed before the sheet has its text back, and nobody looks for texts left over", seed: 1, onL: func(b book) book { return freeFirst{b} }, plan: func(p *simPlan) {
		p.dieOn, p.freezeOn, p.note, p.edits, p.statuses = "replace", "", false, 20*time.Second, 400
	}},
	{name: "recovery: what may have left is given back", seed: 17, want: "promise 1", onL: func(b book) book { return boldRecovery{b} }, plan: func(p *simPlan) { p.crashes = true }},
	{name: "fence: none", seed: 13, onS: withoutFence, plan: func(p *simPlan) { separate(p); stormy(p) }},
	{name: "fence: only the newest entry stays", seed: 58, onS: func(s claim.Sheet) claim.Sheet { return &forgetfulFence{Sheet: s} }, plan: stormy},
	{name: "fence: fresh, beside cells of an earlier response", seed: 5, onS: func(s claim.Sheet) claim.Sheet { return &twoResponses{Sheet: s} }, plan: separate},
	{name: "claim: an unclear one does not use up its number", seed: 38, onS: func(s claim.Sheet) claim.Sheet { return noVoid{s} }, plan: stormy},
	{name: "claim: one text for all rows", seed: 1, onS: func(s claim.Sheet) claim.Sheet { return &oneText{Sheet: s, own: map[string]string{}} }, plan: func(p *simPlan) { p.edits, p.statuses = 5*time.Second, 400 }},
	{name: "claim: written over resend and failed without a condition", seed: 1, onS: func(s claim.Sheet) claim.Sheet { return unconditional{s} }, plan: eagerStatuses},
	{name: "claim: nobody looks where it landed", seed: 4, want: "promise 3", onS: func(s claim.Sheet) claim.Sheet { return blindClaim{s} }, plan: eagerMoves},
	{name: "claim: of any age", seed: 83, want: "promise 3", onS: func(s claim.Sheet) claim.Sheet { return ageless{s} }, plan: func(p *simPlan) { p.foreign, p.slow = true, 100 }},
	{name: "wait: none", seed: 63, want: "promise 1", hasty: true, plan: func(p *simPlan) { p.foreign, p.every = true, 30*time.Second }},
	{name: "confirm: not looked at", seed: 27, want: "promise 1", onS: func(s claim.Sheet) claim.Sheet { return &yesSayer{Sheet: s, own: map[string]string{}} }, plan: func(p *simPlan) { p.foreign, p.every = true, 30*time.Second }},
	{name: "give back: blank, whatever stood there", seed: 37, want: "promise 3", onS: func(s claim.Sheet) claim.Sheet { return blankGiveBack{s} }, plan: eagerStatuses},
	{name: "mark: said to be done", seed: 1, onS: func(s claim.Sheet) claim.Sheet { return noMark{s} }},
	{name: "mailer: a lost answer counts as not sent", seed: 47, want: "promise 1", onM: func(m claim.Mailer) claim.Mailer { return optimist{m} }, plan: func(p *simPlan) { p.mail = 80 }},
}

func eagerStatuses(p *simPlan) { p.eager, p.edits, p.statuses = 150, 20*time.Second, 400 }
func eagerMoves(p *simPlan)    { p.eager, p.edits, p.statuses, p.moves = 150, 20*time.Second, 100, true }

// Without any one of its safeguards the promise does not hold, and the simulation
// finds out.
func TestSimulationHasTeeth(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const most = 150
	t.Run("without", func(t *testing.T) {
		for _, w := range weaknesses {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				for i := range most {
					seed := max(w.seed, 1) + uint64(i)
					plan := w.planFor(seed)
					res := simulate(t, inFiles, plan, w, false)
					i := slices.IndexFunc(res.violations, func(v string) bool { return strings.HasPrefix(v, w.want) })
					if i < 0 {
						continue
					}
					if whole := simulate(t, inFiles, plan, nil, false); len(whole.violations) > 0 {
						t.Errorf("seed %d breaks the promise with all safeguards in place: %s", seed, strings.Join(whole.violations, "\n"))
						continue
					}
					t.Logf("%s: seed %d: %s", w.name, seed, res.violations[i])
					return
				}
				t.Errorf("%d seeds did not miss it", most)
			})
		}
	})
}

// amnesia is a ledger that gives every key and keeps nothing.
type amnesia struct {
	book
	mu    sync.Mutex
	count uint64
}

func (a *amnesia) Lookup(context.Context, claim.Book, []string) (map[string]claim.Message, error) {
	return nil, nil
}

func (a *amnesia) Take(_ context.Context, _ claim.RunRef, ts []claim.Take) ([]bool, error) {
	return all(len(ts)), nil
}

func (a *amnesia) Move(_ context.Context, _ claim.RunRef, ms []claim.Move) ([]bool, error) {
	return all(len(ms)), nil
}

func (a *amnesia) OpenBatch(context.Context, claim.RunRef, claim.OpenBatch) (string, uint64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	return "none", a.count, nil
}

func (a *amnesia) CloseBatch(context.Context, string, bool) error { return nil }

func all(n int) []bool { return slices.Repeat([]bool{true}, n) }

// freeGenerations begins a new generation wherever one has ended.
type freeGenerations struct{ book }

func (l freeGenerations) Lookup(ctx context.Context, b claim.Book, keys []string) (map[string]claim.Message, error) {
	ms, err := l.book.Lookup(ctx, b, keys)
	for k, m := range ms {
		if m.State == claim.Verified && m.Outcome.Final() {
			m.Generation++
			m.State, m.Attempts, m.Outcome = claim.Returned, 1, ""
			ms[k] = m
		}
	}
	return ms, err
}

// noCommit sends without a commit record.
type noCommit struct{ book }

func (l noCommit) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	if len(ms) == 1 && ms[0].To == claim.Sending {
		return all(1), nil
	}
	return l.book.Move(ctx, run, ms)
}

// noLease lets a run without a lease commit, and go on.
type noLease struct{ book }

func (l noLease) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	for i := range ms {
		ms[i].Lease = false
	}
	return l.book.Move(ctx, run, ms)
}

func (l noLease) Renew(ctx context.Context, run claim.RunRef, lease time.Duration) (bool, error) {
	_, err := l.book.Renew(ctx, run, lease)
	return true, err
}

// freeFirst frees keys as soon as they are to be given back.
type freeFirst struct{ book }

func (l freeFirst) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	var more []claim.Move
	for _, m := range ms {
		if m.To == claim.Returning {
			more = append(more, claim.Move{MessageKey: m.MessageKey, Claim: m.Claim, From: []claim.State{claim.Returning}, To: claim.Returned})
		}
	}
	moved, err := l.book.Move(ctx, run, append(slices.Clone(ms), more...))
	if err != nil {
		return nil, err
	}
	return moved[:len(ms)], nil
}

func (l freeFirst) Strays(ctx context.Context, b claim.Book, found []claim.Stray) ([]claim.Stray, time.Duration, error) {
	known, slowest, err := l.book.Strays(ctx, b, found)
	for i := range known {
		known[i].Own, known[i].Since = false, time.Now()
	}
	return known, slowest, err
}

// boldRecovery takes a claim whose dot came next for one from which nothing has left.
type boldRecovery struct{ book }

func (l boldRecovery) Orphans(ctx context.Context, job string) ([]claim.Message, []claim.OpenBatch, error) {
	ms, bs, err := l.book.Orphans(ctx, job)
	for i := range ms {
		if ms[i].State == claim.Sending {
			ms[i].State = claim.Confirmed
		}
	}
	return ms, bs, err
}

func (l boldRecovery) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	for i := range ms {
		if ms[i].To == claim.Returning {
			ms[i].From = append(slices.Clone(ms[i].From), claim.Sending)
		}
	}
	return l.book.Move(ctx, run, ms)
}

// forgetfulFence deletes all entries but its own after each claim.
type forgetfulFence struct {
	claim.Sheet
	seen []claim.Stamp
}

func (f *forgetfulFence) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	g, err := f.Sheet.Read(ctx, t, ask)
	if err == nil && ask.Fence {
		f.seen = g.Fence
	}
	return g, err
}

func (f *forgetfulFence) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	reply, err := f.Sheet.Claim(ctx, g, b)
	if err == nil && len(f.seen) > 0 {
		_ = f.Sheet.Prune(ctx, g, f.seen) // what stays then is deleted the next time
	}
	return reply, err
}

// twoResponses shows cells of the read before beside a fresh fence.
type twoResponses struct {
	claim.Sheet
	last *claim.Grid
}

func (s *twoResponses) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	g, err := s.Sheet.Read(ctx, t, ask)
	if err != nil {
		return g, err
	}
	if ask.Fence && ask.Columns != nil && s.last != nil {
		g.Rows = s.last.Rows
	}
	if !ask.Fence {
		s.last = g
	}
	return g, err
}

// noVoid takes a claim without an answer for one that was never applied.
type noVoid struct{ claim.Sheet }

func (s noVoid) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	if len(b.Cells) == 0 {
		return g, nil
	}
	return s.Sheet.Claim(ctx, g, b)
}

// oneText writes one text into all rows of a batch.
type oneText struct {
	claim.Sheet
	own map[string]string // by key: the row's own text
}

func shared(text string) string {
	if i := strings.LastIndexByte(text, '.'); i > 0 && ours(text) {
		return text[:i] + ".1"
	}
	return text
}

func (s *oneText) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	cells := slices.Clone(b.Cells)
	for i, c := range cells {
		for _, row := range g.Rows {
			if row.Number == c.Row && c.Column == simStatus {
				s.own[row.Cell(simKey).Shown] = c.Text
			}
		}
		cells[i].Text = shared(c.Text)
	}
	b.Cells = cells
	reply, err := s.Sheet.Claim(ctx, g, b)
	s.dress(reply)
	return reply, err
}

func (s *oneText) dress(g *claim.Grid) {
	if g == nil {
		return
	}
	for _, row := range g.Rows {
		own := s.own[row.Cell(simKey).Shown]
		for col := range row.Cells {
			if own != "" && row.Cells[col].Shown == shared(own) {
				row.Cells[col].Shown = own
			}
		}
	}
}

func (s *oneText) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	g, err := s.Sheet.Read(ctx, t, ask)
	s.dress(g)
	return g, err
}

func (s *oneText) Replace(ctx context.Context, g *claim.Grid, rs []claim.Replacement) ([]int, error) {
	rs = slices.Clone(rs)
	for i := range rs {
		rs[i].From = shared(rs[i].From)
	}
	return s.Sheet.Replace(ctx, g, rs)
}

// unconditional claims cells whatever they hold by now.
type unconditional struct{ claim.Sheet }

func (s unconditional) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	b.Cells = slices.Clone(b.Cells)
	for i := range b.Cells {
		b.Cells[i].Held = ""
	}
	return s.Sheet.Claim(ctx, g, b)
}

// blindClaim answers that every claim landed on its row.
type blindClaim struct{ claim.Sheet }

func (s blindClaim) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	reply, err := s.Sheet.Claim(ctx, g, b)
	if err != nil || len(b.Cells) == 0 {
		return reply, err
	}
	return lie(g, b), nil
}

// lie is what a claim's answer would be had all gone well.
func lie(g *claim.Grid, b claim.Batch) *claim.Grid {
	said := *g
	said.Rows = slices.Clone(g.Rows)
	for i := range said.Rows {
		said.Rows[i].Cells = slices.Clone(said.Rows[i].Cells)
		for _, c := range b.Cells {
			if c.Row == said.Rows[i].Number {
				setText(&said.Rows[i], c.Column, c.Text)
			}
		}
	}
	return &said
}

// setText makes a read's row show a text in a column.
func setText(r *claim.Row, column int, text string) {
	at := column
	if r.At != nil {
		at = slices.Index(r.At, column)
	}
	for len(r.Cells) <= at {
		r.Cells = append(r.Cells, claim.Cell{})
	}
	r.Cells[at] = claim.Cell{Kind: claim.Text, Shown: text}
}

// ageless makes the second read never too old to claim on.
type ageless struct{ claim.Sheet }

func (s ageless) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	was := *g
	was.Began = g.Began.Add(-24 * time.Hour)
	return s.Sheet.Claim(ctx, &was, b)
}

func (s ageless) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	g, err := s.Sheet.Read(ctx, t, ask)
	if err == nil && ask.Fence {
		g.Began = g.Began.Add(24 * time.Hour)
	}
	return g, err
}

// yesSayer shows every claim where it was written.
type yesSayer struct {
	claim.Sheet
	own map[string]string
}

func (s *yesSayer) Claim(ctx context.Context, g *claim.Grid, b claim.Batch) (*claim.Grid, error) {
	reply, err := s.Sheet.Claim(ctx, g, b)
	if err == nil && len(b.Cells) > 0 {
		for _, row := range lie(g, b).Rows {
			if text := row.Cell(simStatus).Shown; ours(text) {
				s.own[row.Cell(simKey).Shown] = text
			}
		}
	}
	return reply, err
}

func (s *yesSayer) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	g, err := s.Sheet.Read(ctx, t, ask)
	if err != nil || ask.Fence || ask.Columns == nil {
		return g, err
	}
	for i, row := range g.Rows {
		if own := s.own[row.Cell(simKey).Shown]; own != "" {
			setText(&g.Rows[i], simStatus, own)
		}
	}
	return g, err
}

func (s *yesSayer) Replace(ctx context.Context, g *claim.Grid, rs []claim.Replacement) ([]int, error) {
	for _, r := range rs { // from the mark on it tells the truth
		maps.DeleteFunc(s.own, func(_, text string) bool { return text == r.From })
	}
	return s.Sheet.Replace(ctx, g, rs)
}

// noMark says that it has written marks and has not.
type noMark struct{ claim.Sheet }

// blankGiveBack loses what a person typed into a cell before it was claimed.
type blankGiveBack struct{ claim.Sheet }

func (s blankGiveBack) Replace(ctx context.Context, g *claim.Grid, rs []claim.Replacement) ([]int, error) {
	rs = slices.Clone(rs)
	for i, r := range rs {
		if claim.ParseStatus(r.To).Kind == claim.StatusResend {
			rs[i].To = ""
		}
	}
	return s.Sheet.Replace(ctx, g, rs)
}

func (s noMark) Replace(_ context.Context, _ *claim.Grid, rs []claim.Replacement) ([]int, error) {
	return slices.Repeat([]int{1}, len(rs)), nil
}

// optimist takes a lost answer to the dot for a refusal.
type optimist struct{ claim.Mailer }

func (m optimist) Send(ctx context.Context, l claim.Letter, h claim.Hooks) claim.Result {
	r := m.Mailer.Send(ctx, l, h)
	if r.Verdict == claim.Doubtful && !errors.Is(r.Err, errDead) {
		r.Verdict = claim.Deferred
	}
	return r
}
