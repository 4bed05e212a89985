package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// checkPlaces looks at what the claim's answer shows. A claim whose text is not on
// the row with its key went astray: rows moved at that moment. A cell that held a
// text and no longer did kept what it has now: that row falls out.
func (p *pass) checkPlaces(ctx context.Context, g, reply *Grid, n uint64) error {
	if reply == nil {
		// The claim was applied, but its answer was lost: only a read can tell.
		var err error
		if reply, err = p.readClaimed(ctx, n); err != nil {
			p.leave("the claim's answer was lost; recovery gives the row back")
			p.doubt(SheetUnreadable, nil, "the claim's answer was lost and the sheet cannot be read: "+err.Error())
			return p.stopped("the claim's answer was lost; nothing was sent")
		}
	}
	if !slices.Equal(reply.HeaderTexts(), p.grid.HeaderTexts()) {
		return p.columnsMoved(ctx, reply)
	}
	var changed []*held
	astray := 0
	for _, h := range p.held {
		row, ok := rowAt(reply, h.row.Number)
		key, _ := p.fit.key(row)
		text := row.Cell(p.fit.cols.Status).Shown
		switch {
		case ok && key == h.Key && text == h.Claim:
		case ok && key == h.Key && h.cand.status.Kind != StatusEmpty:
			changed = append(changed, h)
		default:
			astray++
			p.doubt(ClaimMisplaced, h, fmt.Sprintf("row %d carries key %q and status %q", h.row.Number, key, text))
		}
	}
	p.giveBack(ctx, changed, nil, "the cell changed before the claim")
	if astray > 0 {
		// Every row may have moved: give back by where the answer shows each text, also
		// what cannot be given back at once.
		p.astray = reply
		p.giveBack(ctx, p.held, reply, "rows moved at the moment of the claim")
		return p.stopped(fmt.Sprintf("rows moved at the moment of the claim (%d of %d claims landed beside their rows); nothing was sent", astray, p.doc.Counts.Claimed))
	}
	p.pruneFence(ctx, g)
	return nil
}

// readClaimed reads until the fence in the same response shows that the claim of
// number n had been applied: an older state does not show its texts, and a text that
// is nowhere to be seen would be taken for one that need not be taken out.
func (p *pass) readClaimed(ctx context.Context, n uint64) (*Grid, error) {
	for try := range lagTries {
		if try > 0 {
			if err := p.Wait(ctx, readLag); err != nil {
				return nil, err
			}
		}
		g, err := p.Sheet.Read(ctx, p.order.Target, Ask{Tab: &p.grid.Tab, Columns: p.fit.Used(), Fence: true})
		if err != nil {
			return nil, err
		}
		if shows(g, n) {
			return g, nil
		}
	}
	return nil, errLags
}

// errLags says that reads show a state from before a claim that was applied.
var errLags = errors.New("reads lag behind a claim that was applied")

// leave lets go of rows without touching them: their claims stay in the ledger, and
// recovery settles them as soon as the run has ended. Unlike the run's own end it looks
// where each text stands.
func (p *pass) leave(why string) {
	for _, h := range p.held {
		p.note(h, Released, why)
	}
	p.held = nil
}

// columnsMoved handles a claim that landed in other columns than the job's: columns
// moved in that moment. By the header of the answer it is known which column each
// text is in now, and by the first read what stood there.
func (p *pass) columnsMoved(ctx context.Context, reply *Grid) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	const why = "columns moved at the moment of the claim"
	before := p.grid.HeaderTexts()
	var rs []Replacement
	rows := p.toReturning(ctx, p.held, why)
	for _, h := range rows {
		for _, w := range p.fit.cols.written() {
			name := ""
			if w.index < len(reply.Header) {
				name = reply.Header[w.index].Shown
			}
			if _, ok := h.Before[w.name]; !ok {
				continue // it was not written
			}
			was := slices.Index(before, name)
			twice := was >= 0 && slices.Contains(before[was+1:], name)
			if was < 0 && name != "" || twice || !h.row.Cell(was).restorable() {
				p.doubt(ClaimMisplaced, h, fmt.Sprintf("the claim's text stands in the column %q, and what stood there cannot be put back; it was left", name))
				continue
			}
			rs = append(rs, Replacement{Column: w.index, From: h.Claim, To: h.row.Cell(was).Shown})
		}
		p.doubt(ClaimMisplaced, h, why)
	}
	_, err := p.Worker.replaceSurely(ctx, p.grid, rs)
	if err == nil {
		p.toReturned(ctx, rows)
	}
	if len(p.held) > 0 {
		p.log.Error("texts of the claim could not be taken out; recovery looks for them", "error", err)
		p.leave(why)
		return p.stopped(why + "; nothing was sent, and recovery looks for its texts")
	}
	return p.stopped(why + "; nothing was sent, and what stood there was put back")
}

// readAll reads the columns that the job uses, over all rows. When the header is not
// the one that the job was fitted to, columns have moved: then it reads everything
// and fits the job anew.
func (p *pass) readAll(ctx context.Context) (*Grid, error) {
	ask := Ask{Tab: &p.grid.Tab, Columns: p.fit.Used()}
	if p.order.Pickup != nil {
		ask.Columns = nil // the caller gets all cells of its rows
	}
	g, err := p.Sheet.Read(ctx, p.order.Target, ask)
	if err != nil || slices.Equal(g.HeaderTexts(), p.grid.HeaderTexts()) {
		return g, err
	}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	return p.grid, nil
}

// putBack says what the cells that carry a claim's text get back. A text on its own
// row, or nowhere to be seen, gives back what stood in the row. On a row of another
// key it is what the second read saw there; where that is not known the cell is
// left: blanking it would make a row eligible that perhaps was not.
func (f *fitted) putBack(m Message, g *Grid, seen map[string]Before) (Before, bool) {
	if g == nil {
		return m.Before, true
	}
	for _, row := range g.Rows {
		if row.Cell(f.cols.Status).Shown != m.Claim {
			continue
		}
		key, err := f.key(row)
		switch {
		case err == nil && key == m.Key:
			return m.Before, true
		case err == nil && seen[key] != nil:
			return seen[key], true
		case f.onlyCarries(row, m.Claim):
			return Before{}, true // a new, empty row: nothing stood there
		}
		return nil, false
	}
	return m.Before, true
}

// onlyCarries reports whether a row holds nothing but a claim's text.
func (f *fitted) onlyCarries(row Row, text string) bool {
	for _, col := range f.Used() {
		if c := row.Cell(col); !c.IsBlank() && c.Shown != text {
			return false
		}
	}
	return true
}
