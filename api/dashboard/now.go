package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// The first view lists so many ended runs, and names so many of the messages that wait.
const (
	listed = 12
	named  = 5
)

// board is what the first view shows: what goes on, what comes next, what was.
type board struct {
	Jobs    []jobState
	Running []runView
	Next    time.Time // start of any job; zero: not known
	Ended   []endedRun
	Say     string // the progress in one sentence, for those who do not see it

	// What waits for a person:
	Doubts   int
	Open     []claim.Message  // the first of the doubts
	MoreOpen int              // that are not among them
	Troubled []claim.Document // newest runs of jobs that failed or stopped
	Keys     int              // unknown ones, up to one more than 99

	records []claim.RunRecord
	at      time.Time // of the look into the ledger
	live    string    // the runs of this process at that time
}

// endedRun is a run in a list.
type endedRun struct {
	claim.Document
	Label label
}

// jobState is a job as it stands.
type jobState struct {
	Name     string
	Schedule string
	Next     time.Time // zero: nothing starts it by itself
	Last     *endedRun // its newest run, which may go on; nil: none yet
	Pulse    pulse
	Doubts   int
}

// getNow shows the first view.
func (p *Page) getNow(v *visit) error {
	b, err := p.board(v.r.Context(), v.who)
	if err != nil {
		return ledgerFault(err)
	}
	return v.show(http.StatusOK, "now", frame{Title: "Now", Live: "/live", Reload: len(b.Running) > 0, Data: b})
}

// board looks at everything that a viewer may see.
func (p *Page) board(ctx context.Context, who *viewer) (*board, error) {
	b := &board{at: p.now(), live: names(p.cfg.Live.Live())}
	var err error
	if b.records, err = p.recent(ctx, who); err != nil {
		return nil, err
	}
	open, _, err := p.waitingOf(ctx, who.jobs)
	if err != nil {
		return nil, err
	}
	if b.Keys, err = p.unknownKeys(ctx, who); err != nil {
		return nil, err
	}
	b.Doubts, b.Open = len(open), open[:min(named, len(open))]
	b.MoreOpen = len(open) - len(b.Open)
	asks := map[string]bool{} // runs at which somebody has to look, by their path
	for _, m := range open {
		asks[runPath(claim.Document{Job: m.Job, RunID: m.Run.ID})] = true
	}
	for _, j := range who.jobs {
		state, err := p.stateOf(ctx, j, open, asks)
		if err != nil {
			return nil, err
		}
		if state.Last != nil && trouble(state.Last.Document) {
			b.Troubled = append(b.Troubled, state.Last.Document)
		}
		b.Jobs = append(b.Jobs, state)
		if !state.Next.IsZero() && (b.Next.IsZero() || state.Next.Before(b.Next)) {
			b.Next = state.Next
		}
	}
	for _, rec := range b.records {
		if d := rec.Document; d.State == claim.RunFinished && len(b.Ended) < listed {
			b.Ended = append(b.Ended, endedRun{d, outcomeOf(d, asks[runPath(d)])})
		}
	}
	b.follow(p, who)
	return b, nil
}

// stateOf looks at one job. Somebody has to look at its runs whose messages are open, and
// at its newest if that did not end well.
func (p *Page) stateOf(ctx context.Context, j Job, open []claim.Message, asks map[string]bool) (jobState, error) {
	state := jobState{Name: j.Name, Schedule: j.Schedule}
	if j.Next != nil {
		if next := j.Next(); len(next) > 0 {
			state.Next = next[0]
		}
	}
	for _, m := range open {
		if m.Job == j.Name {
			state.Doubts++
		}
	}
	last, err := p.cfg.Runs.Recent(ctx, j.Name, beats)
	if err != nil || len(last) == 0 {
		return state, err
	}
	state.Pulse = newPulse(last)
	d := last[0].Document
	asks[runPath(d)] = asks[runPath(d)] || trouble(d)
	state.Last = &endedRun{d, outcomeOf(d, asks[runPath(d)])}
	return state, nil
}

// follow brings what goes on up to this moment.
func (b *board) follow(p *Page, who *viewer) {
	b.Running = p.running(who, b.records)
	b.Say = say(b.Running)
}

// shared is the board for a viewer's streams: the ledger is looked into once for all of
// them, and again when a run of this process began or ended.
func (p *Page) shared(ctx context.Context, who *viewer) (*board, error) {
	p.mu.Lock()
	kept := p.boards[who.name]
	p.mu.Unlock()
	if kept == nil || p.now().Sub(kept.at) >= lookEvery/2 || kept.live != names(p.cfg.Live.Live()) {
		var err error
		if kept, err = p.board(ctx, who); err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.boards[who.name] = kept
		p.mu.Unlock()
	}
	b := *kept
	b.follow(p, who)
	return &b, nil
}

// names tells sets of runs apart.
func names(docs []claim.Document) string {
	var s strings.Builder
	for _, d := range docs {
		fmt.Fprintf(&s, "%q %q\n", d.Job, d.RunID)
	}
	return s.String()
}

// recent answers the newest runs that a viewer may see. One that is not bound sees
// those of jobs that are no longer configured too.
func (p *Page) recent(ctx context.Context, who *viewer) ([]claim.RunRecord, error) {
	const beside = 8 // that may be running
	if !who.bound {
		return p.cfg.Runs.Recent(ctx, "", listed+beside)
	}
	var all []claim.RunRecord
	for _, j := range who.jobs {
		recs, err := p.cfg.Runs.Recent(ctx, j.Name, listed+beside)
		if err != nil {
			return nil, err
		}
		all = append(all, recs...)
	}
	slices.SortStableFunc(all, func(a, b claim.RunRecord) int { return b.Document.StartedAt.Compare(a.Document.StartedAt) })
	return all[:min(listed+beside, len(all))], nil
}

// running answers the runs that go on: those of this process as they are at this
// moment, the others as they last wrote themselves down.
func (p *Page) running(who *viewer, recent []claim.RunRecord) []runView {
	var views []runView
	here := map[[2]string]bool{}
	for _, d := range p.cfg.Live.Live() {
		here[[2]string{d.Job, d.RunID}] = true
		if who.sees(d.Job) && d.State != claim.RunFinished {
			views = append(views, p.viewRun(d))
		}
	}
	for _, rec := range recent {
		d := rec.Document
		if d.State == claim.RunFinished || here[[2]string{d.Job, d.RunID}] {
			continue
		}
		view := p.viewRun(d)
		view.Elsewhere, view.Dead = true, !rec.Alive
		views = append(views, view)
	}
	slices.SortStableFunc(views, func(a, b runView) int { return b.StartedAt.Compare(a.StartedAt) })
	return views
}

// say tells in one sentence what goes on.
func say(running []runView) string {
	switch len(running) {
	case 0:
		return "No run is under way."
	case 1:
		r := running[0]
		return "Run " + r.RunID + " of " + r.Job + ": " + string(r.Step) + ", " + r.Progress()
	}
	sent, rows := 0, 0
	for _, r := range running {
		sent, rows = sent+r.Settled, rows+len(r.Rows)
	}
	return plural(len(running), "run", "runs") + " under way, " + plural(rows, "row", "rows") + ", " + plural(sent, "row", "rows") + " done."
}
