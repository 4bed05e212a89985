package claim

import (
	"context"
	"fmt"
)

// openBatch notes the claim in the ledger and makes the batch that writes it.
func (p *pass) openBatch(ctx context.Context, g *Grid) (Batch, error) {
	n := p.skipTo
	for _, s := range g.Fence {
		n = max(n, s.N)
	}
	n++
	p.seen = map[string]Before{}
	for _, rows := range [][]Row{p.grid.Rows, g.Rows} { // what the second read shows counts more
		for _, row := range rows {
			if key, err := p.fit.key(row); err == nil {
				p.seen[key] = p.fit.cols.before(row)
			}
		}
	}
	ob := OpenBatch{
		Mark: p.batchMark, Run: p.order.Run, Target: p.order.Target, Tab: g.Tab, N: n,
		Before: map[string]Before{}, Seen: map[string]Before{},
	}
	b := Batch{Cols: p.fit.Used()}
	for _, h := range p.held {
		ob.Claims = append(ob.Claims, h.MessageKey)
		ob.Before[h.Key] = h.Before
		b.Rows = append(b.Rows, h.row.Number)
		b.Cells = append(b.Cells, p.cells(h)...)
	}
	for _, number := range withNeighbours(p.held, g.FirstRow) {
		if row, ok := rowAt(g, number); ok {
			if key, err := p.fit.key(row); err == nil && ob.Before[key] == nil {
				ob.Seen[key] = p.seen[key]
			}
		}
	}
	ledger, count, err := p.Ledger.OpenBatch(ctx, p.order.Run, ob)
	if err != nil {
		return Batch{}, fmt.Errorf("the ledger could not note the claim, so the sheet was not touched: %w", err)
	}
	b.Stamp = Stamp{N: n, Mark: p.batchMark, Ledger: ledger, Count: count}
	return b, nil
}

// cells are the cells that claim a row: the status, by condition where it held a
// text, and the mapped optional columns.
func (p *pass) cells(h *held) []BatchCell {
	var cells []BatchCell
	for _, w := range p.fit.cols.written() {
		if _, ok := h.Before[w.name]; !ok {
			continue
		}
		c := BatchCell{Row: h.row.Number, Column: w.index, Text: h.Claim}
		if w.name == colStatus && h.cand.status.Kind != StatusEmpty {
			c.Held = h.Before[colStatus]
		}
		cells = append(cells, c)
	}
	return cells
}
