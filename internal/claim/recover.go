package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// What may have left is said first: that needs no sheet.
	for i, m := range orphans {
		if AfterCrash(m.State) == CallUnknown {
			orphans[i] = w.callUnknown(ctx, run, m, whyUnknown(m.State))
		}
	}
	var errs []error
	places := w.byPlace(job, run, orphans, batches)
	back := false
	for _, r := range places {
		// All places are looked at before any is settled: the fence of one may show that
		// the ledger is not to be believed about the others.
		wentBack, err := r.look(ctx)
		back = back || wentBack
		errs = append(errs, err)
	}
	for i, r := range places {
		if errs[i] == nil {
			errs[i] = r.settle(ctx, back)
		}
		if errs[i] != nil && !errors.Is(errs[i], errLags) {
			r.reportStuck(ctx, errs[i])
		}
	}
	return errors.Join(errs...)
}

// place is where claims stand: a tab, by its id, since it may be renamed.
type place struct {
	target Target
	tab    Tab
}

// byPlace sorts what dead runs left by where it stands.
func (w *Worker) byPlace(job *Job, run RunRef, orphans []Message, batches []OpenBatch) []*recovery {
	var list []*recovery
	at := func(p place) *recovery {
		for _, r := range list {
			if r.target == p.target && r.tab.ID == p.tab.ID {
				return r
			}
		}
		r := &recovery{Worker: w, job: job, run: run, place: p, log: w.Log.With("job", job.Name, "run", run.ID)}
		list = append(list, r)
		return r
	}
	for _, m := range orphans {
		r := at(place{Target{Spreadsheet: m.Spreadsheet, Range: m.Range}, m.Tab})
		r.orphans = append(r.orphans, m)
	}
	for _, b := range batches {
		r := at(place{b.Target, b.Tab})
		r.batches = append(r.batches, b)
		if b.Applied {
			r.needs = max(r.needs, b.N)
		}
	}
	return list
}

// whyUnknown says how it came that nobody knows what became of a claim.
func whyUnknown(s State) string {
	if s == HandedOut {
		return "handed out to a caller that did not settle it within the lease"
	}
	return "the process ended before the mail server answered"
}

// callUnknown settles a claim whose message may have left, and answers it as the
// ledger then holds it.
func (w *Worker) callUnknown(ctx context.Context, run RunRef, m Message, why string) Message {
	was := m
	m.State, m.Outcome, m.SettledAt = Settled, Unknown, w.Now()
	m.Reason = fmt.Sprintf("%s (%s)", why, tokenOf(m.Claim))
	m.Attempts++
	m.Status = statusText(Unknown, m.Run.ID, 0, 0, m.Reason)
	alert := unknownAlert(m)
	moved, err := w.Ledger.Move(ctx, run, []Move{{
		MessageKey: m.MessageKey, Claim: m.Claim, From: []State{was.State}, To: Settled,
		Set: func(have *Message) {
			have.Outcome, have.Attempts, have.Status, have.Reason, have.SettledAt = m.Outcome, m.Attempts, m.Status, m.Reason, m.SettledAt
		},
		Attempt: &Attempt{Number: m.Attempts, Verdict: Doubtful, Step: lastStep(was.State), Reply: m.Reason, MessageID: m.MessageID, At: m.SettledAt},
		Alerts:  []Alert{alert}, Event: "recovered: " + m.Reason,
	}})
	switch {
	case err != nil:
		w.Log.Error("a claim could not be called unknown now", "job", m.Job, "run", m.Run.ID, "key", m.Key, "error", err)
		return was
	case !moved[0]: // another process, or the caller's receipt, was faster
		return was
	}
	w.Log.Warn("recovered", "job", m.Job, "run", m.Run.ID, "key", m.Key, "remedy", CallUnknown)
	return m
}

// lastStep names what was under way when a claim's fate was lost.
func lastStep(s State) string {
	if s == HandedOut {
		return string(StepHandOut)
	}
	return "dot"
}

// unknownAlert says that nobody knows what became of a message.
func unknownAlert(m Message) Alert {
	a := Alert{
		Kind: AlertUnknown, Job: m.Job, Run: m.Run.ID, Cause: string(SMTPReplyLost),
		Rows: []AlertRow{{Row: m.Row, Key: m.Key, Detail: m.Reason}},
		Seen: m.Reason + "; Message-ID " + cmp.Or(m.MessageID, "not known"),
		Done: "the row is unknown and never sent again by itself", Todo: m.Advice(),
	}
	if m.MessageID == "" { // no message of ours: it was handed out
		a.Cause, a.Seen = "not_settled", m.Reason
	}
	return a
}

// Advice says what a person can do about a message of unknown fate.
func (m Message) Advice() string {
	if m.MessageID == "" { // no message of ours: it was handed out
		return "find out in the caller's log (n8n: the execution) whether it did its work for the row; then type sent or resend into the status cell, or use sheetclaim settle"
	}
	return SMTPReplyLost.Advice()
}

// recovery settles what dead runs left in one place.
type recovery struct {
	*Worker
	place
	job     *Job
	run     RunRef
	log     *slog.Logger
	orphans []Message
	batches []OpenBatch
	needs   uint64 // number of the newest claim that was applied: an older read tells nothing
	grid    *Grid  // nil: the tab is gone
	fit     *fitted
}

// look reads the place, with the fence, and answers whether the ledger has gone
// back in time. A tab that was deleted leaves nothing to read.
func (r *recovery) look(ctx context.Context) (wentBack bool, err error) {
	g, err := r.Sheet.Read(ctx, r.target, Ask{Tab: &r.tab, Fence: true})
	var sheet *SheetError
	switch {
	case errors.As(err, &sheet) && sheet.Gone:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("claims of a dead run wait for the sheet: %w", err)
	case !shows(g, r.needs):
		return false, errLags
	}
	if r.fit, err = fit(r.job, g); err != nil {
		return false, fmt.Errorf("claims of a dead run wait for the sheet: %w", err)
	}
	r.grid = g
	return r.rewound(ctx, r.run, g)
}

// settle does with each claim what the rule says.
func (r *recovery) settle(ctx context.Context, back bool) error {
	if r.grid == nil {
		return r.settleGone(ctx)
	}
	if err := r.closeBatches(ctx); err != nil {
		return err
	}
	var giveBack, mark []Message
	for _, m := range r.orphans {
		switch remedy := AfterCrash(m.State); {
		case remedy == GiveBack && (back || m.Rewound):
			// What came after the ledger was saved is not known.
			mark = append(mark, r.callUnknown(ctx, r.run, m, "the ledger went back to an earlier state"))
		case remedy == GiveBack:
			giveBack = append(giveBack, m)
		case remedy == Mark, remedy == Verify:
			mark = append(mark, m)
		}
	}
	return errors.Join(r.giveBack(ctx, giveBack), r.mark(ctx, mark))
}

// reportStuck tells people, once, what keeps claims from being settled.
func (r *recovery) reportStuck(ctx context.Context, why error) {
	rows := make([]AlertRow, len(r.orphans))
	for i, m := range r.orphans {
		rows[i] = AlertRow{Row: m.Row, Key: m.Key, Detail: string(m.State)}
	}
	report := Report{
		Once: fmt.Sprintf("stuck %s!%s %d", r.target.Spreadsheet, r.target.Range, r.tab.ID), Text: why.Error(),
		Alert: Alert{
			Kind: AlertStaleClaim, Job: r.job.Name, Run: r.run.ID, Cause: "recovery", Rows: rows, Seen: why.Error(),
			Done: "claims of a run that died stay in the sheet until this is mended; none of these rows is mailed", Todo: "mend what the message names; sheetclaim tries again every minute",
		},
	}
	if err := r.Ledger.Report(ctx, r.run, []Report{report}); err != nil {
		r.log.Error("an alert could not be queued", "error", err)
	}
}
