package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
)

// Recover settles the claims of a job whose runs are dead: their lease has ended by
// the ledger's clock, or they ended and left something to mark. The rule is
// AfterCrash; every step can be repeated, so that two recoveries, or a recovery
// that dies, do no harm. It makes no call to the sheet when there is nothing to do.
func (w *Worker) Recover(ctx context.Context, job *Job, run RunRef) error {
	orphans, batches, err := w.Ledger.Orphans(ctx, job.Name)
	if err != nil {
		return fmt.Errorf("the ledger could not be asked for claims of dead runs: %w", err)
	}
	targets := map[Target]bool{}
	for _, m := range orphans {
		targets[Target{Spreadsheet: m.Spreadsheet, Range: m.Range}] = true
	}
	for _, b := range batches {
		targets[b.Target] = true
	}
	var errs []error
	for t := range targets {
		r := &recovery{Worker: w, job: job, run: run, target: t, log: w.Log.With("job", job.Name, "run", run.ID)}
		for _, m := range orphans {
			if m.Spreadsheet == t.Spreadsheet && m.Range == t.Range {
				r.orphans = append(r.orphans, m)
			}
		}
		for _, b := range batches {
			if b.Target == t {
				r.batches = append(r.batches, b)
			}
		}
		errs = append(errs, r.do(ctx))
	}
	return errors.Join(errs...)
}

// recovery settles what dead runs left in one target.
type recovery struct {
	*Worker
	job     *Job
	run     RunRef
	target  Target
	log     *slog.Logger
	orphans []Message
	batches []OpenBatch
	grid    *Grid
	fit     *fitted
}

func (r *recovery) do(ctx context.Context) error {
	if err := r.read(ctx); err != nil {
		return err
	}
	back, err := r.rewound(ctx, r.grid)
	if err != nil {
		return err
	}
	if err := r.closeBatches(ctx); err != nil {
		return err
	}
	var giveBack, mark []Message
	for _, m := range r.orphans {
		remedy := AfterCrash(m.State)
		if back && remedy == GiveBack {
			remedy = CallUnknown // what came after the backup is not known
		}
		switch remedy {
		case GiveBack:
			giveBack = append(giveBack, m)
		case CallUnknown:
			if settled, ok := r.callUnknown(ctx, m, back); ok {
				mark = append(mark, settled)
			}
		case Mark, Verify:
			mark = append(mark, m)
		case Leave:
		}
	}
	return errors.Join(r.giveBack(ctx, giveBack), r.mark(ctx, mark))
}

// read fetches the range with the fence.
func (r *recovery) read(ctx context.Context) error {
	g, err := r.Sheet.Read(ctx, r.target, Ask{Fence: true})
	if err != nil {
		return fmt.Errorf("claims of a dead run wait for the sheet: %w", err)
	}
	r.grid = g
	r.fit, err = fit(r.job, g)
	return err
}

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
		r.log.Info("recovered a claim without an answer", "mark", b.Mark, "n", b.N, "applied", applied)
	}
	return r.read(ctx)
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

// callUnknown settles a claim whose message may have left.
func (r *recovery) callUnknown(ctx context.Context, m Message, rewound bool) (Message, bool) {
	now := r.Now()
	m.Outcome, m.SettledAt = Unknown, now
	m.Reason = fmt.Sprintf("the process ended between the final dot and the answer (%s)", tokenOf(m.Claim))
	from := []State{Sending}
	if rewound {
		m.Reason = fmt.Sprintf("the ledger went back to an earlier state (%s)", tokenOf(m.Claim))
		from = []State{Claimed, Confirmed, Sending, Returning}
	}
	m.Attempts++
	m.Status = statusText(Unknown, m.Run.ID, 0, 0, m.Reason)
	alert := Alert{
		Kind: AlertUnknown, Job: r.job.Name, Run: m.Run.ID, Cause: string(SMTPReplyLost),
		Rows: []AlertRow{{Row: m.Row, Key: m.Key, Detail: m.Reason}},
		Seen: m.Reason + "; Message-ID " + m.MessageID, Done: "the row is marked unknown and never sent again by itself", Todo: SMTPReplyLost.Advice(),
	}
	moved, err := r.Ledger.Move(ctx, r.run, []Move{{
		MessageKey: m.MessageKey, Claim: m.Claim, From: from, To: Settled,
		Set: func(have *Message) {
			have.Outcome, have.Attempts, have.Status, have.Reason, have.SettledAt = m.Outcome, m.Attempts, m.Status, m.Reason, m.SettledAt
		},
		Attempt: &Attempt{Number: m.Attempts, Verdict: Doubtful, Step: "dot", Reply: m.Reason, MessageID: m.MessageID, At: now},
		Alerts:  []Alert{alert}, Event: "recovered: " + m.Reason,
	}})
	if err != nil || !moved[0] {
		r.log.Error("a claim could not be called unknown now", "key", m.Key, "error", err)
		return m, false
	}
	r.log.Warn("recovered", "key", m.Key, "remedy", CallUnknown)
	m.State = Settled
	return m, true
}

// giveBack returns rows of dead runs, from which nothing has left.
func (r *recovery) giveBack(ctx context.Context, ms []Message) error {
	if len(ms) == 0 {
		return nil
	}
	if _, err := r.Ledger.Move(ctx, r.run, r.moves(ms, []State{Claimed, Confirmed}, Returning, "recovered: given back")); err != nil {
		return err
	}
	seen := map[string]map[string]Before{} // by mark: what its batch saw
	for _, b := range r.batches {
		seen[b.Mark] = maps.Clone(b.Seen)
		if seen[b.Mark] == nil {
			seen[b.Mark] = map[string]Before{}
		}
		maps.Copy(seen[b.Mark], b.Before)
	}
	var rs []Replacement
	returned := r.moves(ms, []State{Returning}, Returned, "recovered: the sheet has back what stood there")
	for i, m := range ms {
		back, known := r.fit.putBack(m, r.grid, seen[m.Mark])
		if !known || r.elsewhere(m.Claim) {
			returned[i].Event = "recovered: the claim's text stands beside its row and was left"
			returned[i].Alerts = []Alert{{
				Kind: AlertDoubt, Job: r.job.Name, Run: m.Run.ID, Cause: string(ClaimMisplaced), Rows: []AlertRow{{Row: m.Row, Key: m.Key, Detail: m.Claim}},
				Seen: "the text " + strconv.Quote(m.Claim) + " stands beside its row, and what stood there is not known",
				Done: "nothing was sent for this row; the text was left", Todo: ClaimMisplaced.Advice(),
			}}
			continue
		}
		rs = append(rs, r.fit.replacements(m, back, m.Claim)...)
	}
	if len(rs) > 0 {
		if _, err := r.replaceSurely(ctx, r.grid, rs); err != nil {
			return fmt.Errorf("claims of a dead run could not be taken out of the sheet yet: %w", err)
		}
	}
	r.log.Info("recovered", "remedy", GiveBack, "rows", len(ms))
	_, err := r.Ledger.Move(ctx, r.run, returned)
	return err
}

// elsewhere reports whether a claim's text stands in a column that the job does not
// write.
func (r *recovery) elsewhere(text string) bool {
	written := map[int]bool{}
	for _, w := range r.fit.cols.written() {
		written[w.index] = true
	}
	return slices.ContainsFunc(r.grid.Rows, func(row Row) bool {
		for i, c := range row.Cells {
			if c.Shown == text && !written[i] {
				return true
			}
		}
		return false
	})
}

// moves makes the same move for each message.
func (r *recovery) moves(ms []Message, from []State, to State, event string) []Move {
	moves := make([]Move, len(ms))
	for i, m := range ms {
		moves[i] = Move{MessageKey: m.MessageKey, Claim: m.Claim, From: from, To: to, Event: event}
	}
	return moves
}

// mark writes outcomes that the sheet does not show yet, and verifies them.
func (r *recovery) mark(ctx context.Context, ms []Message) error {
	if len(ms) == 0 {
		return nil
	}
	var rs []Replacement
	for _, m := range ms {
		rs = append(rs, r.fit.replacements(m, r.fit.after(m), cmp.Or(m.From, m.Claim))...)
	}
	if _, err := r.replaceSurely(ctx, r.grid, rs); err != nil {
		return fmt.Errorf("outcomes could not be written into the sheet yet: %w", err)
	}
	if _, err := r.Ledger.Move(ctx, r.run, r.moves(ms, []State{Settled}, Marked, "recovered: marked")); err != nil {
		return err
	}
	g, err := r.Sheet.Read(ctx, r.target, Ask{Tab: &r.grid.Tab, Columns: r.fit.Used()})
	if err != nil {
		return fmt.Errorf("marks could not be read back yet: %w", err)
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
			move.Alerts = []Alert{{
				Kind: AlertMarkUnverified, Job: r.job.Name, Run: m.Run.ID, Cause: string(doubt), Rows: []AlertRow{{Row: m.Row, Key: m.Key, Detail: detail}},
				Seen: detail, Done: "the outcome (" + string(m.Outcome) + ") is in the ledger; the message is not sent again", Todo: doubt.Advice(),
			}}
		}
		verified = append(verified, move)
	}
	r.log.Info("recovered", "remedy", Mark, "rows", len(ms), "verified", len(verified))
	_, err = r.Ledger.Move(ctx, r.run, verified)
	return err
}

// carries reports whether a claim's text stands anywhere in the status column.
func (f *fitted) carries(g *Grid, text string) bool {
	return slices.ContainsFunc(g.Rows, func(row Row) bool { return row.Cell(f.cols.Status).Shown == text })
}

// tokenOf is the part of a claim text that no other claim has.
func tokenOf(claim string) string { return ParseStatus(claim).Token }
