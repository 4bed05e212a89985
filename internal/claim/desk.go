package claim

import (
	"context"
	"errors"
	"time"
)

// desk gathers settled rows of a job whose cells wait to be written: callers settle
// many rows at the same moment, and one round of calls to the sheet does for all.
type desk struct {
	busy    bool
	waiting []errand
}

type errand struct {
	message Message
	done    chan<- error
}

// writeCells shows a settled row in the sheet, together with those that wait beside
// it, and brings its run's document up to date.
func (s *Service) writeCells(ctx context.Context, job *Job, m Message) error {
	done := make(chan error, 1)
	s.mu.Lock()
	d := s.desks[job.Name]
	if d == nil {
		d = &desk{}
		s.desks[job.Name] = d
	}
	d.waiting = append(d.waiting, errand{m, done})
	if !d.busy {
		d.busy = true
		s.wg.Go(func() { s.rounds(context.WithoutCancel(ctx), job, d) })
	}
	s.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rounds writes cells until none wait.
func (s *Service) rounds(ctx context.Context, job *Job, d *desk) {
	for {
		s.mu.Lock()
		now := d.waiting
		d.waiting, d.busy = nil, len(now) > 0
		s.mu.Unlock()
		if len(now) == 0 {
			return
		}
		err := s.round(ctx, job, now)
		for _, e := range now {
			e.done <- err
		}
	}
}

// round writes the cells of some rows and reads them back.
func (s *Service) round(ctx context.Context, job *Job, errands []errand) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	ms := make([]Message, len(errands))
	runs := map[RunRef]bool{}
	for i, e := range errands {
		ms[i] = e.message
		runs[e.message.Run] = true
	}
	errs := []error{s.Worker().show(ctx, job, ms)}
	for run := range runs {
		rec, err := s.Runs.Find(ctx, run.Job, run.ID)
		if err == nil && rec.Seq == run.Seq && rec.Document.State != RunFinished {
			err = s.updateHanded(ctx, job, rec)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// show writes what became of messages into their cells, as recovery does.
func (w *Worker) show(ctx context.Context, job *Job, ms []Message) error {
	var errs []error
	for _, r := range w.byPlace(job, RunRef{Job: job.Name, ID: "settle"}, ms, nil) {
		if _, err := r.look(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		if r.grid == nil {
			errs = append(errs, r.settleGone(ctx))
			continue
		}
		var back, mark []Message
		for _, m := range r.orphans {
			if m.State == Returning {
				back = append(back, m)
			} else {
				mark = append(mark, m)
			}
		}
		errs = append(errs, r.giveBack(ctx, back), r.mark(ctx, mark))
	}
	return errors.Join(errs...)
}

// expireHandOut settles what a caller was handed and did not settle, as soon as the lease
// has ended: RecoverAll comes by only now and then.
func (s *Service) expireHandOut(ctx context.Context, job *Job, t *Ticket) {
	d := t.Document()
	if d.State == RunFinished || d.LeaseUntil == nil {
		return
	}
	const grace = time.Second // the ledger's lease was prolonged a little later
	if s.Wait(ctx, d.LeaseUntil.Sub(s.Now())+grace) != nil {
		return
	}
	if err := s.buryDead(ctx, job); err != nil && ctx.Err() == nil {
		s.Log.Warn("rows that their caller did not settle could not be marked yet", "job", job.Name, "run", t.Run.ID, "error", err)
	}
	if s.Ended != nil {
		s.Ended()
	}
}

// updateHanded brings the document of a run whose rows were handed out up to what the
// ledger knows, and ends the run when all of them are settled.
func (s *Service) updateHanded(ctx context.Context, job *Job, rec RunRecord) error {
	ms, err := s.Ledger.Held(ctx, rec.RunRef)
	if err != nil {
		return err
	}
	d, open := rec.Document, 0
	byKey := map[string]Message{}
	for _, m := range ms {
		byKey[m.Key] = m
		if m.State == HandedOut {
			open++
		}
	}
	for i, row := range d.Rows {
		if m, ok := byKey[row.Key]; ok && (row.Outcome == "" || row.Outcome == Unknown) {
			d.Rows[i] = row.settled(m)
		}
	}
	d.Counts.tally(d.Rows)
	d.Detail = d.Counts.String()
	if open > 0 {
		return s.Runs.Save(ctx, rec.RunRef, d)
	}
	now := s.Now()
	d.State, d.Step, d.Outcome, d.FinishedAt = RunFinished, "", d.Counts.outcome(), &now
	s.Log.Info("run finished", "job", job.Name, "run", rec.ID, "outcome", d.Outcome, "detail", d.Detail, "due", d.Counts.Due, "sent", d.Counts.Sent)
	return s.Runs.Finish(ctx, rec.RunRef, d, true)
}

// settled is a row's report with what became of its message.
func (r RowReport) settled(m Message) RowReport {
	switch {
	case m.State == Returning || m.State == Returned:
		r.Outcome, r.Status = Released, m.Before[colStatus]
		r.Reason = "given back by the caller"
	case m.Outcome != "" && m.State != HandedOut:
		at := m.SettledAt
		r.Outcome, r.Status, r.Reason, r.Attempt, r.At = m.Outcome, m.Status, m.Reason, m.Attempts, &at
	}
	return r
}
