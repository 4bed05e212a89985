package claim

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// verify reads the marks back; the same read confirms the next chunk.
func (p *pass) verify(ctx context.Context) (Step, error) {
	g, err := p.verifyMarks(ctx)
	if err == nil && p.ending == nil && p.job.OnDoubt != Skip && p.markDoubt() {
		err = p.stopped("a mark is in doubt; what was sent is in the ledger, and the rest was given back")
	}
	if err != nil || p.ending != nil || !p.left() {
		return "", err
	}
	var next []*held
	for _, h := range p.held {
		if h.State == Confirmed && !h.doubtful && len(next) < chunkRows {
			next = append(next, h)
		}
	}
	if _, err := p.recheck(ctx, g, next); err != nil {
		p.ending = err
		return StepMark, nil //nolint:nilerr // rejections that were held back are marked before the run ends
	}
	return StepSend, nil
}

// markDoubt reports whether a mark of the chunk ended in doubt.
func (p *pass) markDoubt() bool {
	return slices.ContainsFunc(p.chunk, func(h *held) bool { return h.doubtful && h.Outcome != Unknown })
}

// verifyMarks reads until every mark shows, or three times.
func (p *pass) verifyMarks(ctx context.Context) (*Grid, error) {
	last, cancel := lasting(ctx)
	defer cancel()
	rows := p.chunk
	var g *Grid
	for try := 1; len(rows) > 0; try++ {
		var err error
		if g, err = p.readAll(last); err != nil {
			p.markFailed(last, fmt.Errorf("the marks could not be read back: %w", err))
			return nil, p.stopped("the marks could not be read back; the next run verifies them")
		}
		rows = p.verifyRows(last, g, rows, try == writeTries)
		if len(rows) == 0 {
			break
		}
		if err := p.Wait(last, time.Duration(try)*2*time.Second); err != nil {
			return nil, p.stopped("the marks could not be read back in time; the next run verifies them")
		}
		if err := p.markRows(last, rows); err != nil {
			p.markFailed(last, err)
			return nil, p.stopped("the outcomes could not be written into the sheet: " + err.Error())
		}
	}
	return g, nil
}

// verifyRows ends the claims whose mark shows and answers the others. The last
// time, what does not show is a doubt, and ends too: its outcome is in the ledger.
func (p *pass) verifyRows(ctx context.Context, g *Grid, rows []*held, lastTry bool) []*held {
	var ms []Move
	var again []*held
	byKey := p.fit.rowsByKey(g.Rows)
	for _, h := range rows {
		move := Move{MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Marked}, To: Verified, Event: "the mark was read back"}
		doubt, detail := p.fit.judgeMark(byKey[h.Key], h.Message, h.counted)
		if doubt != "" && !lastTry && doubt != RowGone {
			again = append(again, h)
			continue
		}
		if doubt != "" {
			p.doubt(doubt, h, detail)
			move.Event = string(doubt) + ": " + detail
			move.Alerts = []Alert{p.alert(AlertMarkUnverified, string(doubt), []AlertRow{{Row: h.row.Number, Key: h.Key, Detail: detail}},
				detail, "the outcome ("+string(h.Outcome)+") is in the ledger; the message is not sent again", doubt.Advice())}
		}
		h.State = Verified
		ms = append(ms, move)
	}
	p.noteMoves(ctx, ms)
	return again
}

// judgeMark compares a mark with the rows of a read that carry its key. A text that
// is neither the mark nor ours is a person's, if the mark was seen to be applied:
// then it came after it.
func (f *fitted) judgeMark(rows []Row, m Message, counted bool) (DoubtKind, string) {
	for _, row := range rows {
		text := row.Cell(f.cols.Status).Shown
		switch {
		case text == m.Status:
			return "", ""
		case text == m.Claim, text == m.Before[colStatus] && ParseStatus(text).Kind != StatusResend:
			return MarkUnverified, fmt.Sprintf("the cell still reads %q instead of %q", text, m.Status)
		case !counted:
			return MarkUnverified, fmt.Sprintf("the cell reads %q instead of %q: somebody wrote over the claim", text, m.Status)
		}
	}
	if len(rows) == 0 {
		return RowGone, fmt.Sprintf("no row carries this key any more; its outcome is %q", m.Outcome)
	}
	return "", ""
}
