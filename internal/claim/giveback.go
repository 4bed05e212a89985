package claim

import (
	"context"
	"slices"
)

// giveBackRest gives back whatever the run still holds unsent.
func (p *pass) giveBackRest(ctx context.Context) {
	var rest []*held
	for _, h := range p.held {
		switch {
		case h.State == Claimed, h.State == Confirmed, h.State == Returning, h.State == Sending && h.unsent:
			rest = append(rest, h)
		}
	}
	p.giveBack(ctx, rest, p.astray, "")
}

// giveBack returns rows in three steps, each of which can be repeated: the ledger
// says returning, so that no commit record can succeed any more; the sheet gets
// back what stood there; the ledger frees the key. Given a read, it goes by where
// that read shows each text.
func (p *pass) giveBack(ctx context.Context, rows []*held, g *Grid, why string) {
	if len(rows) == 0 {
		return
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	rows = p.toReturning(ctx, rows, why)
	err := p.restore(ctx, rows, g)
	if err != nil {
		p.log.Error("rows could not be given back now; recovery does it", "error", err)
		p.queue(ctx, Report{Alert: p.alert(AlertStaleClaim, "give_back", alertRows(rows), "claims could not be taken out of the sheet: "+err.Error(),
			"nothing was sent for these rows; they are given back as soon as the sheet can be written", "check that the sheet is shared for editing")})
		return
	}
	p.toReturned(ctx, rows)
}

// restore gives the sheet back what stood in the rows. A text that the reply did
// not count is looked for: columns may have moved.
func (p *pass) restore(ctx context.Context, rows []*held, g *Grid) error {
	for try := 1; ; try++ {
		var rs []Replacement
		of := map[int]*held{} // by the place of its status in rs
		for _, h := range rows {
			back, known := p.fit.putBack(h.Message, g, p.seen)
			if !known {
				p.doubt(ClaimMisplaced, h, "the claim's text stands on a row of another key, and what stood there is not known; it was left")
				continue
			}
			of[len(rs)] = h // the status comes first
			rs = append(rs, p.fit.replacements(h.Message, back, h.Claim)...)
		}
		counts, err := p.Worker.replaceSurely(ctx, p.grid, rs)
		if err != nil {
			return err
		}
		rows = nil
		for i, h := range of {
			if counts[i] == 0 {
				rows = append(rows, h)
			}
		}
		if len(rows) == 0 || try == writeTries {
			return nil
		}
		if g, err = p.readAll(ctx); err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(h *held) bool { return !p.fit.carries(g, h.Claim) })
		if len(rows) == 0 {
			return nil
		}
	}
}

// toReturning is the first step. A row that the ledger does not move is no longer
// this run's to give back.
func (p *pass) toReturning(ctx context.Context, rows []*held, why string) []*held {
	ms := make([]Move, len(rows))
	for i, h := range rows {
		if why != "" && h.report.Outcome == "" {
			p.note(h, Released, why)
		}
		if h.report.Outcome == "" {
			p.note(h, Released, "given back unsent")
		}
		ms[i] = Move{MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Claimed, Confirmed}, To: Returning, Event: h.report.Reason}
		if h.unsent { // the intent is on disk, but the dot was never written
			ms[i].From = append(ms[i].From, Sending)
		}
	}
	moved, err := p.Ledger.Move(ctx, p.order.Run, ms)
	if err != nil {
		p.log.Error("the ledger could not note that rows are given back; recovery does it", "error", err)
		return nil
	}
	var mine []*held
	for i, h := range rows {
		if moved[i] || h.State == Returning {
			h.State = Returning
			mine = append(mine, h)
		}
	}
	return mine
}

// toReturned is the last step: the key is free.
func (p *pass) toReturned(ctx context.Context, rows []*held) {
	ms := make([]Move, len(rows))
	for i, h := range rows {
		ms[i] = Move{MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Returning}, To: Returned, Event: "the sheet has back what stood there"}
		h.State = Returned
		if h.report.Outcome == Released || h.report.Outcome == Skipped {
			h.report.Status = h.Before[colStatus]
		}
	}
	p.noteMoves(ctx, ms)
	p.held = slices.DeleteFunc(p.held, func(h *held) bool { return h.State == Returned })
}

// alertRows names rows in an alert.
func alertRows(rows []*held) []AlertRow {
	out := make([]AlertRow, len(rows))
	for i, h := range rows {
		out[i] = AlertRow{Row: h.row.Number, Key: h.Key, Detail: h.report.Reason}
	}
	return out
}
