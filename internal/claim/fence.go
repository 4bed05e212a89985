package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// resolve finds out whether a claim that got no clear answer was applied. It uses
// up the claim's number with an empty entry: either that is accepted, and then the
// claim was not applied and can never land; or it is refused, and then the entry
// that has the number says whose it is. An error means that nobody knows yet.
func (w *Worker) resolve(ctx context.Context, g *Grid, s Stamp) (applied bool, err error) {
	const tries = 6
	void := Batch{Stamp: Stamp{N: s.N, Mark: voidMark, Ledger: s.Ledger, Count: s.Count}}
	for try := range tries {
		if try > 0 {
			if err := w.Wait(ctx, time.Second<<try); err != nil {
				return false, err
			}
		}
		_, err = w.Sheet.Claim(ctx, g, void)
		if err == nil {
			return false, nil
		}
		if !errors.Is(err, ErrFenced) {
			continue // no answer, or a refusal that says nothing about the claim: again
		}
		var look *Grid
		look, err = w.Sheet.Read(ctx, g.Target, fenceOnly(g))
		if err != nil {
			continue
		}
		for _, have := range look.Fence {
			if have.N == s.N {
				return have.Mark == s.Mark, nil
			}
		}
		err = fmt.Errorf("number %d of the fence is used up, but no entry shows it", s.N)
	}
	return false, err
}

// shows reports whether a read's fence shows that number n is used up. Fence and
// cells are one response, so the cells are no older than that.
func shows(g *Grid, n uint64) bool {
	return n == 0 || slices.ContainsFunc(g.Fence, func(s Stamp) bool { return s.N >= n })
}

// voidMark marks an entry that only uses up its number.
const voidMark = "void"

// Entries of the fence that stay: when only the newest stays, a number that was
// used up becomes free again, and a late batch lands.
const (
	fenceKeeps   = 100
	fenceKeepsOf = 10 * time.Minute
	fencePrunes  = 20 // entries that must have gathered before it is worth a call
)

// pruneFence deletes entries that are neither among the newest nor young, in a call
// of its own. An entry has no clock time; the ledger knows which number it used
// when, and all lower ones are older.
func (p *pass) pruneFence(ctx context.Context, g *Grid) {
	if len(g.Fence) < fenceKeeps+fencePrunes {
		return
	}
	old := g.Fence[:len(g.Fence)-fenceKeeps]
	n, err := p.Ledger.FenceBefore(ctx, g.Spreadsheet, g.Tab.ID, p.Now().Add(-fenceKeepsOf))
	if err != nil {
		return
	}
	var gone []Stamp
	for _, s := range old {
		if s.N <= n {
			gone = append(gone, s)
		}
	}
	if len(gone) < fencePrunes {
		return
	}
	if err := p.Sheet.Prune(ctx, g, gone); err != nil {
		p.log.Warn("old entries of the fence could not be deleted; the next run tries again", "error", err)
	}
}

// checkRewound stops the run when the fence knows of more claims by this ledger
// than the ledger does: it has gone back in time, or it runs twice.
func (p *pass) checkRewound(ctx context.Context, g *Grid) error {
	back, err := p.Worker.rewound(ctx, p.order.Run, g)
	if err != nil {
		return p.failed(causeLedger, err)
	}
	if !back {
		return nil
	}
	p.doubt(LedgerWentBack, nil, wentBack)
	return p.stopped(wentBack)
}

const wentBack = "the fence shows claims of this ledger that the ledger does not know"

// rewound asks the ledger about the highest count that the fence shows of each
// ledger; a ledger answers for its own id only. It is alerted once, since the ledger
// then counts on from there.
func (w *Worker) rewound(ctx context.Context, run RunRef, g *Grid) (bool, error) {
	highest := map[string]uint64{}
	for _, s := range g.Fence {
		highest[s.Ledger] = max(highest[s.Ledger], s.Count)
	}
	for ledger, count := range highest {
		back, err := w.Ledger.Rewound(ctx, ledger, count)
		if err != nil {
			return false, fmt.Errorf("the ledger could not be asked for its count: %w", err)
		}
		if !back {
			continue
		}
		alert := Alert{
			Kind: AlertLedgerDisagrees, Job: run.Job, Run: run.ID, Cause: string(LedgerWentBack), Seen: wentBack,
			Done: "what was under way when it was saved is unknown; it counts on above the highest count", Todo: LedgerWentBack.Advice(),
		}
		return true, w.Ledger.Report(ctx, run, []Report{{Alert: alert}})
	}
	return false, nil
}
