package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// mark tells the sheet what became of the chunk's rows.
func (p *pass) mark(ctx context.Context) (Step, error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	p.chunk = p.toMark()
	if len(p.chunk) == 0 {
		return p.afterMark(), nil
	}
	if err := p.markRows(ctx, p.chunk); err != nil {
		p.markFailed(ctx, err)
		return "", p.stopped("the outcomes could not be written into the sheet: " + err.Error() + "; the ledger has them, and the next run writes them")
	}
	return StepVerify, nil
}

// afterMark is the step after a chunk that has nothing to mark.
func (p *pass) afterMark() Step {
	if p.ending == nil && p.left() {
		return StepSend
	}
	return ""
}

// left reports whether rows wait to be sent.
func (p *pass) left() bool {
	return slices.ContainsFunc(p.held, func(h *held) bool { return h.State == Confirmed && !h.doubtful })
}

// toMark are the settled rows, less a run of rejections that may still turn out to
// be the account's fault.
func (p *pass) toMark() []*held {
	var rows []*held
	open := p.ending == nil && p.left()
	for _, h := range p.held {
		if h.State == Settled && !(open && slices.Contains(p.streak, h)) {
			rows = append(rows, h)
		}
	}
	return rows
}

// markFailed tells people that sheet and ledger differ for now.
func (p *pass) markFailed(ctx context.Context, err error) {
	var rows []AlertRow
	for _, h := range p.chunk {
		rows = append(rows, AlertRow{Row: h.row.Number, Key: h.Key, Detail: string(h.Outcome)})
		p.doubt(MarkUnverified, h, "the outcome "+string(h.Outcome)+" could not be written: "+err.Error())
	}
	p.queue(ctx, Report{Alert: p.alert(AlertMarkUnverified, "mark", rows, err.Error(),
		"the messages have their outcome in the ledger and are not sent again", MarkUnverified.Advice())})
}

// markRows replaces claim texts by outcomes and notes it in the ledger.
func (p *pass) markRows(ctx context.Context, rows []*held) error {
	var rs []Replacement
	var of []*held // the row whose status each replacement marks; nil for other columns
	for _, h := range rows {
		for _, r := range p.fit.replacements(h.Message, p.fit.after(h.Message), h.from) {
			of = append(of, nil)
			if r.Column == p.fit.cols.Status {
				of[len(of)-1] = h
			}
			rs = append(rs, r)
		}
	}
	counts, err := p.Worker.replaceSurely(ctx, p.grid, rs)
	if err != nil {
		return err
	}
	var ms []Move
	for i, h := range of {
		if h == nil {
			continue
		}
		h.counted = h.counted || counts[i] > 0
		if counts[i] > 1 {
			p.doubt(KeyRepeated, h, fmt.Sprintf("%d cells carried this claim: the row was copied while it was claimed", counts[i]))
		}
		if h.State == Settled {
			ms = append(ms, Move{MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Settled}, To: Marked, Event: "marked"})
			h.State = Marked
		}
	}
	p.noteMoves(ctx, ms)
	return nil
}

// noteMoves moves claims whose sheet side is done; a ledger that fails here only
// makes the next run do it again.
func (p *pass) noteMoves(ctx context.Context, ms []Move) {
	if len(ms) == 0 {
		return
	}
	if _, err := p.Ledger.Move(ctx, p.order.Run, ms); err != nil {
		p.log.Error("the ledger could not note what the sheet shows; the next run repeats it", "error", err)
	}
}

// after is what the written columns of a settled row get.
func (f *fitted) after(m Message) Before {
	a := Before{
		colStatus: m.Status, colNote: noteText(m.Reason), colSentAt: m.Before[colSentAt],
		colClaimedAt: m.ClaimedAt.In(f.zone).Format(time.RFC3339), colClaimedBy: m.Run.ID,
		colAttempts: strconv.Itoa(m.Attempts),
	}
	if m.Outcome == Sent {
		a[colSentAt] = m.SettledAt.In(f.zone).Format(time.RFC3339)
	}
	return a
}

// noteText is a reason as a note: it begins with a letter, so that no sheet takes it
// for a number or a formula.
func noteText(reason string) string {
	first, _ := utf8.DecodeRuneInString(reason)
	if reason == "" || unicode.IsLetter(first) {
		return reason
	}
	return "server: " + reason
}

// replacements change the cells that carry a claim's text. The status may carry
// another text by now: from. When that is the one of an unknown, the note says why,
// with the claim's own mark, so that no other note reads alike.
func (f *fitted) replacements(m Message, to Before, from string) []Replacement {
	var rs []Replacement
	for _, w := range f.cols.written() {
		r := Replacement{Column: w.index, From: m.Claim, To: to[w.name]}
		if w.name == colStatus {
			r.From = from
		}
		rs = append(rs, r)
		if reason, ok := strings.CutPrefix(from, statusText(Unknown, m.Run.ID, 0, 0, "")); ok && w.name == colNote {
			rs = append(rs, Replacement{Column: w.index, From: noteText(reason), To: to[w.name]})
		}
	}
	return rs
}

// replaceSurely writes replacements, several times if it must: a second time finds
// nothing to change where the first did its work. The counts are the sums.
func (w *Worker) replaceSurely(ctx context.Context, g *Grid, rs []Replacement) ([]int, error) {
	sums := make([]int, len(rs))
	var err error
	for try := range writeTries {
		if try > 0 {
			if werr := w.Wait(ctx, time.Duration(try)*2*time.Second); werr != nil {
				return nil, errors.Join(err, werr)
			}
		}
		var counts []int
		if counts, err = w.Sheet.Replace(ctx, g, rs); err == nil {
			for i, n := range counts {
				sums[i] += n
			}
			return sums, nil
		}
	}
	return nil, err
}
