package claim

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// staleAtLeast is the least age at which a claim that no ledger of ours knows is
// reported.
const staleAtLeast = 15 * time.Minute

// strays looks at the claim texts that pick found in due rows. One that our ledger
// made, of a run that no longer lives, is settled by what the ledger says of its key.
// One that it does not know is left alone, and reported once it is older than any
// run should be: resetting it is a person's decision.
func (p *pass) strays(ctx context.Context, busy []candidate, known map[string]Message) error {
	if len(busy) == 0 || p.order.DryRun {
		return nil
	}
	found := make([]Stray, len(busy))
	for i, c := range busy {
		mark, _, _ := strings.Cut(c.status.Token, ".")
		found[i] = Stray{Key: c.key, Text: c.text, Mark: mark}
	}
	found, slowest, err := p.Ledger.Strays(ctx, p.book(), found)
	if err != nil {
		return p.failed(causeLedger, fmt.Errorf("the ledger could not be read, so nothing was touched: %w", err))
	}
	var rs []Replacement
	for i, s := range found {
		switch m, ok := known[busy[i].key]; {
		case s.Own && !s.Alive && ok && m.State.Ended():
			rs = append(rs, p.fit.settledText(m, s.Text)...)
		case s.Own && !s.Alive && !ok, !s.Own && p.Now().Sub(s.Since) > max(2*slowest, staleAtLeast):
			p.queue(ctx, p.staleClaim(busy[i], s))
		}
	}
	if len(rs) == 0 {
		return nil
	}
	if _, err := p.Worker.replaceSurely(ctx, p.grid, rs); err != nil {
		p.log.Warn("claim texts that were left over could not be replaced; the next run tries again", "error", err)
	}
	return nil
}

// settledText replaces a claim text that was left over by what the ledger says.
func (f *fitted) settledText(m Message, text string) []Replacement {
	to := m.Before
	if m.State == Verified {
		to = f.after(m)
	}
	left := m
	left.Claim = text
	return f.replacements(left, to, text)
}

// staleClaim reports a claim that no ledger of ours knows, once.
func (p *pass) staleClaim(c candidate, s Stray) Report {
	seen := fmt.Sprintf("the cell has read %q since %s or longer, and the ledger does not know that claim", c.text, p.stamp(s.Since))
	return Report{
		Once: "stale_claim " + c.key, Text: c.text,
		Alert: p.alert(AlertStaleClaim, "stale_claim", []AlertRow{{Row: c.row.Number, Key: c.key, Detail: c.text}}, seen,
			"the row was left alone", "find out whether the tool that wrote it still works on the row and whether its message went out; then clear the cell or type sent into it"),
	}
}
