package claim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// closeBatches uses up the numbers of batches whose answer is not recorded, else a
// batch still under way could land after its rows were given back, and its texts
// would stay for ever.
func (r *recovery) closeBatches(ctx context.Context) error {
	open := slices.DeleteFunc(slices.Clone(r.batches), func(b OpenBatch) bool { return b.Answered })
	if len(open) == 0 {
		return nil
	}
	for _, b := range open {
		applied, known := r.shown(b)
		if !known {
			var err error
			s := Stamp{N: b.N, Mark: b.Mark, Ledger: b.Ledger, Count: b.LedgerCount}
			if applied, err = r.resolve(ctx, r.grid, s); err != nil {
				return fmt.Errorf("a claim without an answer could not be settled yet: %w", err)
			}
		}
		if err := r.Ledger.CloseBatch(ctx, b.Mark, applied); err != nil {
			return err
		}
		if applied {
			r.needs = max(r.needs, b.N)
		}
		r.log.Info("recovered a claim without an answer", "mark", b.Mark, "n", b.N, "applied", applied)
	}
	_, err := r.look(ctx)
	return err
}

// shown answers whose entry has a batch's number, if the read shows one.
func (r *recovery) shown(b OpenBatch) (applied, known bool) {
	for _, s := range r.grid.Fence {
		if s.N == b.N {
			return s.Mark == b.Mark, true
		}
	}
	return false, false
}

// giveBack returns rows of dead runs, from which nothing has left.
func (r *recovery) giveBack(ctx context.Context, ms []Message) error {
	if len(ms) == 0 {
		return nil
	}
	if _, err := r.Ledger.Move(ctx, r.run, r.moves(ms, []State{Claimed, Confirmed}, Returning, "recovered: given back")); err != nil {
		return err
	}
	seen := r.seen()
	var rs []Replacement
	returned := r.moves(ms, []State{Returning}, Returned, "recovered: the sheet has back what stood there")
	for i, m := range ms {
		back, known := r.fit.putBack(m, r.grid, seen[m.Mark])
		if !known || r.elsewhere(m.Claim) {
			returned[i].Event = "recovered: the claim's text stands beside its row and was left"
			returned[i].Alerts = []Alert{r.leftAlert(m)}
			continue
		}
		rs = append(rs, r.fit.replacements(m, back, m.Claim)...)
	}
	if len(rs) > 0 {
		if _, err := r.replaceSurely(ctx, r.grid, rs); err != nil {
			return fmt.Errorf("claims of a dead run could not be taken out of the sheet yet: %w", err)
		}
		if _, err := r.readBack(ctx); err != nil {
			return err
		}
	}
	r.log.Info("recovered", "remedy", GiveBack, "rows", len(ms))
	_, err := r.Ledger.Move(ctx, r.run, returned)
	return err
}

// seen is what each batch saw in the rows around its own, by its mark.
func (r *recovery) seen() map[string]map[string]Before {
	seen := map[string]map[string]Before{}
	for _, b := range r.batches {
		all := map[string]Before{}
		maps.Copy(all, b.Seen)
		maps.Copy(all, b.Before)
		seen[b.Mark] = all
	}
	return seen
}

// leftAlert reports a claim's text that was left beside its row.
func (r *recovery) leftAlert(m Message) Alert {
	return Alert{
		Kind: AlertDoubt, Job: r.job.Name, Run: m.Run.ID, Cause: string(ClaimMisplaced), Rows: []AlertRow{{Row: m.Row, Key: m.Key, Detail: m.Claim}},
		Seen: "the text " + strconv.Quote(m.Claim) + " stands beside its row, and what stood there is not known",
		Done: "nothing was sent for this row; the text was left", Todo: ClaimMisplaced.Advice(),
	}
}

// elsewhere reports whether a claim's text stands in a column that the job does not
// write.
func (r *recovery) elsewhere(text string) bool {
	written := map[int]bool{}
	for _, w := range r.fit.cols.written() {
		written[w.index] = true
	}
	return slices.ContainsFunc(r.grid.Rows, func(row Row) bool {
		for i := range r.grid.Header {
			if row.Cell(i).Shown == text && !written[i] {
				return true
			}
		}
		return false
	})
}

// readBack reads the place again after a write. Columns that moved meanwhile mean
// that the write may have looked in the wrong ones: the next recovery repeats it.
func (r *recovery) readBack(ctx context.Context) (*Grid, error) {
	g, err := r.Sheet.Read(ctx, r.target, Ask{Tab: &r.grid.Tab, Columns: r.fit.Used()})
	if err != nil {
		return nil, fmt.Errorf("the sheet could not be read back yet: %w", err)
	}
	if !slices.Equal(g.HeaderTexts(), r.grid.HeaderTexts()) {
		return nil, fmt.Errorf("columns of tab %q moved while claims of a dead run were settled", r.grid.Tab.Title)
	}
	return g, nil
}

// mark writes outcomes that the sheet does not show yet, and verifies them.
func (r *recovery) mark(ctx context.Context, ms []Message) error {
	if len(ms) == 0 {
		return nil
	}
	marked, err := r.write(ctx, ms)
	if err != nil {
		return fmt.Errorf("outcomes could not be written into the sheet yet: %w", err)
	}
	if _, err := r.Ledger.Move(ctx, r.run, marked); err != nil {
		return err
	}
	g, err := r.readBack(ctx)
	if err != nil {
		return err
	}
	var verified []Move
	byKey := r.fit.rowsByKey(g.Rows)
	for _, m := range ms {
		if r.fit.carries(g, cmp.Or(m.From, m.Claim)) {
			continue // reads may lag; the next recovery looks again
		}
		move := Move{MessageKey: m.MessageKey, Claim: m.Claim, From: []State{Marked}, To: Verified, Event: "recovered: the mark was read back"}
		if doubt, detail := r.fit.judgeMark(byKey[m.Key], m, true); doubt != "" {
			move.Event = "recovered: " + detail
			move.Alerts = []Alert{r.unmarkedAlert(m, doubt, detail)}
		}
		verified = append(verified, move)
	}
	r.log.Info("recovered", "remedy", Mark, "rows", len(ms), "verified", len(verified))
	_, err = r.Ledger.Move(ctx, r.run, verified)
	return err
}

// write replaces the texts of claims by their outcomes, and answers the moves that say
// so in the ledger. An outcome that went into several cells is reported with its move:
// the row was copied meanwhile, and the copy may have become another row.
func (r *recovery) write(ctx context.Context, ms []Message) ([]Move, error) {
	var rs []Replacement
	of := map[int]int{} // by the place in rs of what marks a status: the message
	for i, m := range ms {
		of[len(rs)] = i // the status comes first
		rs = append(rs, r.fit.replacements(m, r.fit.after(m), cmp.Or(m.From, m.Claim))...)
		if m.From != "" { // which may not have come as far as the cell
			of[len(rs)] = i
			rs = append(rs, Replacement{Column: r.fit.cols.Status, From: m.Claim, To: m.Status})
		}
	}
	counts, err := r.replaceSurely(ctx, r.grid, rs)
	if err != nil {
		return nil, err
	}
	moves := r.moves(ms, []State{Settled}, Marked, "recovered: marked")
	for at, i := range of {
		if counts[at] > 1 {
			moves[i].Alerts = append(moves[i].Alerts, r.copiedAlert(ms[i], counts[at]))
		}
	}
	return moves, nil
}

// copiedAlert reports a row that was copied while it was claimed.
func (r *recovery) copiedAlert(m Message, cells int) Alert {
	return Alert{
		Kind: AlertDoubt, Job: r.job.Name, Run: m.Run.ID, Cause: string(KeyRepeated), Rows: []AlertRow{{Row: m.Row, Key: m.Key, Detail: m.Status}},
		Seen: fmt.Sprintf("%d cells carried this claim: the row was copied while it was claimed", cells),
		Done: "all of them got its outcome", Todo: "find the copies; clear the status of one that is a row of its own, or it is never handled",
	}
}

// unmarkedAlert reports an outcome that the sheet does not show.
func (r *recovery) unmarkedAlert(m Message, doubt DoubtKind, detail string) Alert {
	return Alert{
		Kind: AlertMarkUnverified, Job: r.job.Name, Run: m.Run.ID, Cause: string(doubt), Rows: []AlertRow{{Row: m.Row, Key: m.Key, Detail: detail}},
		Seen: detail, Done: "the outcome (" + string(m.Outcome) + ") is in the ledger; the message is not sent again", Todo: doubt.Advice(),
	}
}

// settleGone ends claims whose tab was deleted: nothing can be given back or marked,
// and no batch can land there any more.
func (r *recovery) settleGone(ctx context.Context) error {
	var ms []Move
	for _, m := range r.orphans {
		detail := fmt.Sprintf("the tab %q was deleted", r.tab.Title)
		steps := []State{Returning, Returned}
		from := []State{Claimed, Confirmed}
		if m.Outcome != "" {
			steps, from = []State{Marked, Verified}, []State{Settled}
		}
		ms = append(ms,
			Move{MessageKey: m.MessageKey, Claim: m.Claim, From: from, To: steps[0], Event: "recovered: " + detail},
			Move{
				MessageKey: m.MessageKey, Claim: m.Claim, From: steps[:1], To: steps[1], Event: "recovered: " + detail,
				Alerts: []Alert{r.unmarkedAlert(m, RowGone, detail)},
			})
	}
	if _, err := r.Ledger.Move(ctx, r.run, ms); err != nil {
		return err
	}
	for _, b := range r.batches {
		if b.Answered {
			continue
		}
		if err := r.Ledger.CloseBatch(ctx, b.Mark, false); err != nil {
			return err
		}
	}
	return nil
}

// moves makes the same move for each message.
func (r *recovery) moves(ms []Message, from []State, to State, event string) []Move {
	moves := make([]Move, len(ms))
	for i, m := range ms {
		moves[i] = Move{MessageKey: m.MessageKey, Claim: m.Claim, From: from, To: to, Event: event}
	}
	return moves
}

// carries reports whether a claim's text stands anywhere in the status column.
func (f *fitted) carries(g *Grid, text string) bool {
	return slices.ContainsFunc(g.Rows, func(row Row) bool { return row.Cell(f.cols.Status).Shown == text })
}

// tokenOf is the part of a claim text that no other claim has.
func tokenOf(claim string) string { return ParseStatus(claim).Token }
