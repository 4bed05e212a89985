package claim

import (
	"context"
	"fmt"
	"time"
)

// confirm reads again and keeps the rows that are provably ours.
func (p *pass) confirm(ctx context.Context) (Step, error) {
	if p.age(p.claimedAt) > p.job.Wait+confirmWithin {
		return "", p.tooSlow(ctx, "the confirming read came too late after the claim")
	}
	g, err := p.readAll(ctx)
	if err != nil {
		p.doubt(SheetUnreadable, nil, err.Error())
		return "", p.stopped("the sheet could not be read to confirm the claim; nothing was sent: " + err.Error())
	}
	if g.Began.Sub(p.claimedAt) > p.job.Wait+confirmWithin {
		return "", p.tooSlow(ctx, "the confirming read came too late after the claim")
	}
	mine, err := p.recheck(ctx, g, p.held)
	p.doc.Counts.Confirmed = len(mine)
	if err != nil {
		return "", err
	}
	if len(mine) == 0 {
		return "", nil
	}
	moves := make([]Move, len(mine))
	for i, h := range mine {
		moves[i] = Move{MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Claimed}, To: Confirmed, Lease: true, Event: "read back"}
	}
	moved, err := p.Ledger.Move(ctx, p.order.Run, moves)
	if err != nil {
		return "", p.stopped("the ledger could not note the confirmation; nothing was sent: " + err.Error())
	}
	for i, h := range mine {
		if !moved[i] {
			return "", p.stopped("the run's lease ended before its rows were confirmed; nothing was sent")
		}
		h.State = Confirmed
	}
	if p.order.Pickup != nil {
		return StepHandOut, nil
	}
	return StepSend, nil
}

// recheck keeps the rows that a read confirms and records a doubt for each other
// one. A row that still shows its old value is read again, since reads may lag. With
// on_doubt: stop, one doubt ends the batch.
func (p *pass) recheck(ctx context.Context, g *Grid, rows []*held) ([]*held, error) {
	for try := 1; ; try++ {
		old := 0
		judged := make([]judgement, len(rows))
		byKey := p.fit.rowsByKey(g.Rows)
		for i, h := range rows {
			judged[i] = p.judge(byKey[h.Key], h)
			if judged[i].old {
				old++
			}
		}
		if old > 0 && try < lagTries {
			if err := p.Wait(ctx, time.Duration(try)*2*time.Second); err != nil {
				return nil, p.askedToStop(ctx)
			}
			again, err := p.readAll(ctx)
			if err != nil {
				p.doubt(SheetUnreadable, nil, err.Error())
				return nil, p.stopped("the sheet could not be read to confirm the claim: " + err.Error())
			}
			g = again
			continue
		}
		return p.keep(g, rows, judged)
	}
}

// keep sorts judged rows into those that are ours and doubts.
func (p *pass) keep(g *Grid, rows []*held, judged []judgement) ([]*held, error) {
	var mine []*held
	doubts := 0
	for i, h := range rows {
		if j := judged[i]; j.kind != "" {
			p.doubt(j.kind, h, j.detail)
			p.note(h, Skipped, j.detail)
			doubts++
			continue
		}
		h.row, h.readAt = judged[i].row, g.Began
		h.report.Row = h.row.Number
		mine = append(mine, h)
	}
	if doubts > 0 && p.job.OnDoubt != Skip {
		return mine, p.stopped(fmt.Sprintf("%d of %d claimed rows are in doubt; nothing more was sent, and the rest was given back", doubts, len(p.held)))
	}
	return mine, nil
}

// judgement is what a read says of a claim.
type judgement struct {
	row    Row
	kind   DoubtKind // "" when the row is ours
	detail string
	old    bool // the cell still reads as before the claim
}

// judge compares a claim with the rows of a read that carry its key: there is one,
// and it carries exactly its text, has the same address, is still due and still
// passes where.
func (p *pass) judge(rows []Row, h *held) judgement {
	switch len(rows) {
	case 0:
		return judgement{kind: RowGone, detail: "no row carries this key any more"}
	case 1:
	default:
		return judgement{kind: KeyRepeated, detail: fmt.Sprintf("%d rows carry this key", len(rows))}
	}
	row := rows[0]
	j := judgement{row: row}
	text := row.Cell(p.fit.cols.Status).Shown
	switch {
	case text == h.Claim:
	case text == h.Before[colStatus]:
		j.kind, j.detail, j.old = ClaimMissing, fmt.Sprintf("the cell still reads %q", text), true
		return j
	default:
		j.kind, j.detail = ClaimOverwritten, fmt.Sprintf("the cell reads %q", text)
		return j
	}
	if row.Cell(p.fit.cols.Email).Value() != h.email {
		j.kind, j.detail = AddressChanged, "the address is not the one that was claimed"
		return j
	}
	c := candidate{row: row, status: h.cand.status}
	if due, err := p.fit.isDue(&c, p.Now()); err != nil || !due {
		j.kind, j.detail = NoLongerDue, "the row is no longer due or no longer passes where"
		if err != nil {
			j.detail = err.Error()
		}
	}
	return j
}
