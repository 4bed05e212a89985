package claim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Service starts runs and lets callers find them again. A run goes on whatever
// becomes of the caller; the name (job, run id) stands for one run.
type Service struct {
	Jobs     map[string]*Job
	Worker   func() *Worker // a fresh one for each run, so that its calls are counted alone
	Ledger   Ledger
	Runs     Runs
	Instance string        // this process, by a random id made at its start
	Memory   time.Duration // how long a name stands for its run after that ended
	Now      func() time.Time
	Wait     func(ctx context.Context, d time.Duration) error
	Log      *slog.Logger
	Ended    func() // called when there may be alerts or callbacks to deliver; nil: nobody
	// Settled is told what a caller said of a row that it was handed; nil: nobody counts.
	Settled func(job string, o Outcome)
	// Callbacks keeps whom to tell of the ends of runs; nil: nobody can ask for that.
	Callbacks Callbacks

	mu      sync.Mutex
	live    map[int64]*Ticket // runs of this process, by sequence number
	stops   map[*Ticket]context.CancelFunc
	closing bool
	changed chan struct{}    // closed at the next change of a run
	wg      sync.WaitGroup   // calls of Start, and what they left running
	desks   map[string]*desk // settled rows of each job that wait for their cells
}

// Request asks the service for a run.
type Request struct {
	Job, RunID string
	Target     Target // zero: the job's own
	Limit      int    // 0: the job's own
	DryRun     bool
	Confirmed  bool
	ClaimOnly  bool   // the caller does the work itself: see Ticket.Collect
	Callback   string // whom to tell of the end, once for each address; "": nobody
	Tick       bool   // the schedule asks; such a run keeps its name also when it claimed nothing
}

// params is what makes a request under the same name another request. What does
// not change the run is left out: callers evaluate their bodies anew on each try.
func (r Request) params() string {
	params := fmt.Sprintf("spreadsheet=%q range=%q limit=%d dry_run=%t", r.Target.Spreadsheet, r.Target.Range, r.Limit, r.DryRun)
	if r.ClaimOnly {
		params += claimOnlyParam
	}
	return params
}

const claimOnlyParam = " claim_only"

// claimOnly reports whether a run was asked to hand its rows out.
func (r RunRecord) claimOnly() bool { return strings.HasSuffix(r.Params, claimOnlyParam) }

// ErrReused says that a name stands for a run that was asked for differently.
var ErrReused = errors.New("this run_id names another run: use a new run_id, or send the same spreadsheet, range, limit and dry_run to the same address")

// ErrNoMail says that a job has nothing to mail.
var ErrNoMail = errors.New("the job is claim_only and has no message: claim its rows with POST /v1/claims, or give it a message in place of claim_only")

// errLeaseEnded ends a run whose claims another may have settled.
var errLeaseEnded = errors.New("the run's lease has ended")

// ErrClosing says that the service is stopping.
var ErrClosing = errors.New("the service is stopping and starts no more runs: try again in a moment")

// Open readies the service.
func (s *Service) Open() {
	s.live, s.stops, s.desks = map[int64]*Ticket{}, map[*Ticket]context.CancelFunc{}, map[string]*desk{}
	s.changed = make(chan struct{})
}

// Close asks all runs to stop and waits for them: the message in flight is
// finished, what was sent is marked, the rest is given back.
func (s *Service) Close() {
	s.mu.Lock()
	s.closing = true
	for _, stop := range s.stops {
		stop()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// enter notes a call of Start, so that Close waits for it; false once Close was
// called.
func (s *Service) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.wg.Add(1)
	return true
}

// background runs f for a ticket until it ends, or Close ends its context. It
// outlives the call that asked for it.
func (s *Service) background(t *Ticket, f func(ctx context.Context)) {
	ctx, stop := context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops[t] = stop
	if s.closing {
		stop()
	}
	s.wg.Go(func() {
		defer stop()
		f(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.stops, t)
	})
}

// Start starts the run that a request names, or attaches to it, or answers its
// result.
func (s *Service) Start(ctx context.Context, r Request) (*Ticket, error) {
	job, ok := s.Jobs[r.Job]
	if !ok {
		return nil, fmt.Errorf("there is no job %q", r.Job)
	}
	if r.Target == (Target{}) {
		r.Target = job.Target
	}
	if job.ClaimOnly && !r.ClaimOnly {
		return nil, ErrNoMail
	}
	if !s.enter() {
		return nil, ErrClosing
	}
	defer s.wg.Done()
	req := RunRequest{Job: r.Job, ID: r.RunID, Params: r.params(), Instance: s.Instance, Lease: job.Lease, Memory: s.Memory, Once: r.Tick}
	rec, created, err := s.Runs.Begin(ctx, req, s.Now())
	if err != nil {
		return nil, fmt.Errorf("the ledger could not begin the run: %w", err)
	}
	if !created && rec.Document.State != RunFinished && !rec.Alive {
		if err := s.bury(ctx, job, rec); err != nil {
			return nil, err
		}
		if rec, created, err = s.Runs.Begin(ctx, req, s.Now()); err != nil {
			return nil, fmt.Errorf("the ledger could not begin the run: %w", err)
		}
	}
	if !created && rec.Params != req.Params {
		return nil, ErrReused
	}
	var t *Ticket
	if created {
		t = s.launch(job, rec, r)
	} else {
		t = s.attach(rec)
	}
	return t, s.callBack(ctx, rec.RunRef, r.Callback)
}

// launch carries a run in the background.
func (s *Service) launch(job *Job, rec RunRecord, r Request) *Ticket {
	t := newTicket(rec)
	if r.ClaimOnly {
		t.pickup = make(Pickup)
	}
	s.mu.Lock()
	s.live[rec.Seq] = t
	s.mu.Unlock()
	s.tell()
	s.background(t, func(ctx context.Context) {
		s.carry(ctx, job, t, r)
		s.expireHandOut(ctx, job, t)
	})
	return t
}

// carry makes the run, keeps its lease while it lives, and ends it.
func (s *Service) carry(ctx context.Context, job *Job, t *Ticket, r Request) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// The lease is kept until the run has ended, also while it is being stopped: a mail
	// server may take minutes over its last answer.
	leased, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	go s.keepLease(leased, stop, job, t.Run)
	w := s.Worker()
	ctx, ended := w.traceRun(ctx, t.Run)
	watch := w.Observe
	step, handed := Step(""), false
	w.Observe = func(d Document) {
		t.set(d)
		s.tell()
		if d.Step != step || handed != (d.HandedOutAt != nil) { // other processes see how far it is, too
			step, handed = d.Step, d.HandedOutAt != nil
			if err := s.save(ctx, t.Run, d); err != nil {
				s.Log.Warn("the run's progress could not be saved", "job", job.Name, "run", t.Run.ID, "error", err)
			}
		}
		if watch != nil {
			watch(d)
		}
	}
	if !r.DryRun {
		if err := w.Recover(ctx, job, t.Run); err != nil {
			s.Log.Warn("recovery is not complete", "job", job.Name, "run", t.Run.ID, "error", err)
		}
	}
	doc := s.carrySafely(ctx, w, job, Order{
		Run: t.Run, Target: r.Target, Limit: r.Limit, Few: r.Limit, DryRun: r.DryRun, Confirmed: r.Confirmed, Pickup: t.pickup, Tick: r.Tick,
	})
	if err := s.keep(ctx, t.Run, doc); err != nil {
		s.Log.Error("the end of a run could not be put into the ledger", "job", job.Name, "run", t.Run.ID, "error", err)
	}
	t.set(doc)
	ended(doc)
	s.mu.Lock()
	delete(s.live, t.Run.Seq)
	s.mu.Unlock()
	s.tell()
	if s.Ended != nil {
		s.Ended()
	}
	close(t.done)
}

// carrySafely carries a run and turns a panic into the end of that run alone: the
// runs beside it must not die of it. What it held is settled by recovery.
func (s *Service) carrySafely(ctx context.Context, w *Worker, job *Job, o Order) (doc Document) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		s.Log.Error("a run ended in a panic; please report this", "job", job.Name, "run", o.Run.ID, "panic", r, "stack", string(debug.Stack()))
		p := newPass(w, job, o)
		p.finish(ctx, p.stopped("an error inside sheetclaim ended the run; what it had claimed is settled by recovery"))
		doc = p.doc
		doc.Counts.Claimed = 1 // it may have claimed, so its name is kept
	}()
	return w.Carry(ctx, job, o)
}

// keep puts a run's last document into the ledger. One whose rows were handed out
// is not finished by that.
func (s *Service) keep(ctx context.Context, run RunRef, d Document) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if d.State != RunFinished {
		return s.Runs.Save(ctx, run, d)
	}
	return s.Runs.Finish(ctx, run, d, d.Counts.Claimed > 0)
}

// save keeps a run's progress, also while it is being stopped.
func (s *Service) save(ctx context.Context, run RunRef, d Document) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	return s.Runs.Save(ctx, run, d)
}

// keepLease renews a run's lease until the run ends. A run that cannot renew is
// stopped; even if it does not notice, no commit record of it succeeds any more.
func (s *Service) keepLease(ctx context.Context, stop context.CancelCauseFunc, job *Job, run RunRef) {
	for s.Wait(ctx, job.Lease/3) == nil {
		alive, err := s.Ledger.Renew(ctx, run, job.Lease)
		if err == nil && !alive {
			s.Log.Error("the run's lease has ended; it stops", "job", run.Job, "run", run.ID)
			stop(errLeaseEnded)
			return
		}
	}
}

// bury ends the record of a run whose process died, after its claims were settled.
func (s *Service) bury(ctx context.Context, job *Job, rec RunRecord) error {
	if err := s.Worker().Recover(ctx, job, rec.RunRef); err != nil {
		return fmt.Errorf("run %q died and cannot be settled yet: %w", rec.ID, err)
	}
	if rec.Document.HandedOutAt != nil {
		return s.updateHanded(ctx, job, rec)
	}
	d := rec.Document
	now := s.Now()
	d.State, d.Step, d.Outcome, d.FinishedAt = RunFinished, "", RunStopped, &now
	d.Detail = "the process ended in mid-run; what it had claimed was settled by recovery"
	return s.Runs.Finish(ctx, rec.RunRef, d, d.Counts.Claimed > 0)
}

// RecoverAll settles what dead runs of any job left. The program calls it at its
// start and on a timer.
func (s *Service) RecoverAll(ctx context.Context) error {
	var errs []error
	for name, job := range s.Jobs {
		errs = append(errs, s.buryDead(ctx, job), s.Worker().Recover(ctx, job, RunRef{Job: name, ID: "recovery"}))
	}
	return errors.Join(append(errs, s.recoverForgotten(ctx))...)
}

// buryDead ends the records of a job's dead runs.
func (s *Service) buryDead(ctx context.Context, job *Job) error {
	dead, err := s.Runs.Abandoned(ctx, job.Name)
	errs := []error{err}
	for _, rec := range dead {
		errs = append(errs, s.bury(ctx, job, rec))
	}
	return errors.Join(errs...)
}

// recoverForgotten says what may have left of jobs that are configured no more. Their
// sheets cannot be marked.
func (s *Service) recoverForgotten(ctx context.Context) error {
	orphans, _, err := s.Ledger.Orphans(ctx, "")
	if err != nil {
		return fmt.Errorf("the ledger could not be asked for claims of dead runs: %w", err)
	}
	for _, m := range orphans {
		if s.Jobs[m.Job] == nil && AfterCrash(m.State) == CallUnknown {
			s.Worker().callUnknown(ctx, RunRef{Job: m.Job, ID: "recovery"}, m, "the process ended before the mail server answered, and its job is no longer configured")
		}
	}
	return nil
}
