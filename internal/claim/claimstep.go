package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// claim takes the rows: in the mail server's favour first, then in the ledger, then
// in the sheet. Whatever refuses, nothing has been written before it.
func (p *pass) claim(ctx context.Context) (Step, error) {
	if p.order.Pickup == nil {
		if err := p.Mailer.Login(ctx); err != nil {
			p.held = nil
			return "", p.failed(causeLogin, err)
		}
	}
	if err := p.take(ctx); err != nil {
		return "", err
	}
	if len(p.held) == 0 {
		return "", nil
	}
	g, err := p.look(ctx)
	if err != nil {
		return "", err
	}
	if len(p.held) == 0 {
		return p.again(), nil
	}
	return p.stake(ctx, g)
}

// again picks once more, a few times at most.
func (p *pass) again() Step {
	if p.tries >= pickTries {
		return ""
	}
	return StepPick
}

// take takes all chosen keys in the ledger in one transaction.
func (p *pass) take(ctx context.Context) error {
	p.batchMark = p.NewMark()
	takes := make([]Take, len(p.held))
	for i, h := range p.held {
		h.Mark, h.Claim = p.batchMark, claimText(p.order.Run.ID, p.batchMark, i+1)
		h.from, h.Run = h.Claim, p.order.Run
		takes[i] = Take{
			MessageKey: h.MessageKey, Claim: h.Claim, Mark: h.Mark, Range: p.order.Target.Range,
			Tab: p.grid.Tab, Row: h.row.Number, Attempts: h.Attempts,
		}
	}
	got, err := p.Ledger.Take(ctx, p.order.Run, takes)
	if err != nil {
		p.held = nil
		return p.failed(causeLedger, fmt.Errorf("the ledger could not take the rows, so nothing was touched: %w", err))
	}
	var mine []*held
	for i, h := range p.held {
		if !got[i] {
			p.note(h, Taken, "another run took the key first")
			continue
		}
		h.State = Claimed
		h.ClaimedAt = p.Now()
		mine = append(mine, h)
	}
	p.held = mine
	return nil
}

// look is the second read: fence, tab, zone, header and rows in one response. Rows
// that are no longer what pick saw fall out; a header or zone that changed means
// that nothing of the first read can be trusted.
func (p *pass) look(ctx context.Context) (*Grid, error) {
	ask := Ask{Tab: &p.grid.Tab, Columns: p.fit.Used(), Fence: true}
	if len(p.grid.Rows) > wholeLook {
		ask.Rows = withNeighbours(p.held, p.grid.FirstRow)
	}
	g, err := p.Sheet.Read(ctx, p.order.Target, ask)
	if err != nil {
		p.free(ctx, p.held, Released, "the sheet could not be read again")
		return nil, p.failed(causeSheet, err)
	}
	if !slices.Equal(g.HeaderTexts(), p.grid.HeaderTexts()) || g.Zone != p.grid.Zone {
		p.free(ctx, p.held, Released, "the header or time zone changed between two reads")
		return g, nil
	}
	if err := p.checkRewound(ctx, g); err != nil {
		p.free(ctx, p.held, Released, "the ledger went back in time")
		return nil, err
	}
	var moved, busy []*held
	for _, h := range p.held {
		row, _ := rowAt(g, h.row.Number)
		switch {
		case p.sameRow(row, h.row):
		case ParseStatus(row.Cell(p.fit.cols.Status).Shown).Kind == StatusSending:
			busy = append(busy, h)
		default:
			moved = append(moved, h)
		}
	}
	p.free(ctx, busy, Taken, "another run claimed the row between two reads")
	p.free(ctx, moved, Released, "the row changed between two reads")
	return g, nil
}

// withNeighbours answers the numbers of the rows and of those beside them: when
// rows move, a claim lands on a neighbour, and what stood there must be known.
func withNeighbours(rows []*held, header int) []int {
	set := map[int]bool{}
	for _, h := range rows {
		for n := h.row.Number - 1; n <= h.row.Number+1; n++ {
			if n > header {
				set[n] = true
			}
		}
	}
	numbers := make([]int, 0, len(set))
	for n := range set {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// sameRow reports whether two reads show the same row, in the columns that count.
func (p *pass) sameRow(a, b Row) bool {
	for _, col := range p.fit.Used() {
		x, y := a.Cell(col), b.Cell(col)
		if x.Kind != y.Kind || x.Shown != y.Shown || x.Value() != y.Value() {
			return false
		}
	}
	return true
}

// free lets go of rows that were taken in the ledger and never written in the
// sheet.
func (p *pass) free(ctx context.Context, rows []*held, o Outcome, why string) {
	if len(rows) == 0 {
		return
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	var ms []Move
	for _, h := range rows {
		ms = append(ms,
			Move{MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Claimed}, To: Returning, Event: why},
			Move{MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Returning}, To: Returned, Event: "nothing had been written in the sheet"})
		p.note(h, o, why)
		h.State = Returned
	}
	if _, err := p.Ledger.Move(ctx, p.order.Run, ms); err != nil {
		p.log.Error("keys could not be freed now; the next run frees them", "error", err)
	}
	p.held = slices.DeleteFunc(p.held, func(h *held) bool { return h.State == Returned })
}

// AgeLimit is how old the second read may be when the claim's answer comes. A wait
// under five seconds is for emulators, which share their machine with the tests.
func AgeLimit(wait time.Duration) time.Duration {
	const least = time.Second
	return min(max(wait/3, least), claimAgeMost)
}

// stake writes the claim into the sheet.
func (p *pass) stake(ctx context.Context, g *Grid) (Step, error) {
	most := AgeLimit(p.job.Wait)
	g, b, err := p.youngBatch(ctx, g, most)
	if err != nil || len(p.held) == 0 {
		return p.again(), err
	}
	reply, err := p.Sheet.Claim(ctx, g, b)
	applied, err := p.answer(ctx, g, b, err)
	if err != nil || !applied {
		return p.again(), err
	}
	p.claimedAt = p.Now()
	p.doc.Counts.Claimed = len(p.held)
	late := p.age(g.Began) > most
	if err := p.checkPlaces(ctx, g, reply, b.Stamp.N); err != nil {
		return "", err
	}
	if late {
		return "", p.tooSlow(ctx, "the claim's answer came later than a claim may be old")
	}
	if len(p.held) == 0 {
		return "", nil
	}
	return StepWait, nil
}

// youngBatch notes a claim in the ledger on a read that is young when that is done:
// right before the batch is sent. An older read is made again.
func (p *pass) youngBatch(ctx context.Context, g *Grid, most time.Duration) (*Grid, Batch, error) {
	for range pickTries {
		if p.age(g.Began) > most {
			var err error
			if g, err = p.look(ctx); err != nil || len(p.held) == 0 {
				return g, Batch{}, err
			}
		}
		b, err := p.openBatch(ctx, g)
		if err != nil {
			p.free(ctx, p.held, Released, "the ledger could not note the claim")
			return g, b, p.failed(causeLedger, err)
		}
		if p.age(g.Began) <= most {
			return g, b, nil
		}
		if err := p.Ledger.CloseBatch(ctx, b.Stamp.Mark, false); err != nil {
			p.free(ctx, p.held, Released, "the ledger could not note the claim")
			return g, b, p.failed(causeLedger, err)
		}
	}
	return g, Batch{}, p.tooSlow(ctx, "reading took longer than a claim may be old")
}

// tooSlow gives up the batch: whoever read before us may have claimed meanwhile.
func (p *pass) tooSlow(ctx context.Context, detail string) error {
	p.doubt(TooSlow, nil, detail)
	if p.claimedAt.IsZero() {
		p.free(ctx, p.held, Released, detail)
	}
	return p.stopped("too slow to confirm: " + detail)
}

// answer settles what became of the batch. It does not return before that is known
// or given up.
func (p *pass) answer(ctx context.Context, g *Grid, b Batch, err error) (applied bool, _ error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	var unclear *UnclearError
	fenced := errors.Is(err, ErrFenced)
	if errors.As(err, &unclear) {
		p.log.Warn("the claim got no clear answer", "error", err)
		fate, resolveErr := p.Worker.resolve(ctx, g, b.Stamp)
		if resolveErr != nil {
			p.leave("the claim's fate is not known yet; recovery gives the row back")
			p.doubt(SheetUnreadable, nil, "the claim got no clear answer and the sheet cannot be asked: "+resolveErr.Error())
			return false, p.stopped("the claim got no clear answer; nothing was sent, and the rows are given back as soon as the sheet answers")
		}
		if fate {
			err = nil
		} else {
			fenced = true
		}
	}
	if closeErr := p.Ledger.CloseBatch(ctx, b.Stamp.Mark, err == nil); closeErr != nil {
		p.log.Error("the claim's answer could not be noted; recovery asks the fence", "error", closeErr)
	}
	switch {
	case err == nil:
		return true, nil
	case fenced:
		p.noteCollision(ctx, g, b.Stamp.N)
		p.free(ctx, p.held, Taken, "the fence refused the claim: somebody claimed since the sheet was read")
		return false, nil
	}
	p.free(ctx, p.held, Released, "the claim was refused")
	return false, p.failed(causeSheet, err)
}

// noteCollision tells a number that somebody else's claim used up from an id that
// belongs to something else: then no entry of this tab has that number, and the
// next one has to be taken. A read may lag behind the claim that was made, so one
// that shows no entry is not believed alone.
func (p *pass) noteCollision(ctx context.Context, g *Grid, n uint64) {
	if p.skipTo >= n {
		return
	}
	for try := range 2 {
		if try > 0 && p.Wait(ctx, p.job.Wait) != nil {
			return
		}
		look, err := p.Sheet.Read(ctx, p.order.Target, fenceOnly(g))
		if err != nil || slices.ContainsFunc(look.Fence, func(s Stamp) bool { return s.N >= n }) {
			return
		}
	}
	p.skipTo = n
}

// fenceOnly asks for the fence and the header alone.
func fenceOnly(g *Grid) Ask {
	return Ask{Tab: &g.Tab, Columns: []int{}, Rows: []int{}, Fence: true}
}
