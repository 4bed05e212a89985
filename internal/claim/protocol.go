package claim

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// The method, in the order in which rows go through it.
//
//  1. pick     read the sheet; choose rows that are due and that the ledger gives
//  2. claim    log in to the mail server; take the keys in the ledger; read again,
//     with the fence; write a claim text of its own into each row, in one
//     batch that the fence refuses if anyone claimed meanwhile
//  3. wait     let those who do not know the fence finish what they began
//  4. confirm  read again; a row is ours if it carries exactly our text and is still
//     what it was
//  5. send     for each row: hand over the content, write "sending" to disk, write
//     the final dot, write the outcome to disk
//  6. mark     replace each claim text, wherever it is now, by its outcome
//  7. verify   read the marks back
//
// A run that only claims has one step more and ends there:
//
//	hand_out  give the confirmed rows, once, to a caller that does the work itself and
//	          settles each
//
// Steps 5 to 7 go through the rows in chunks; the read that verifies one chunk
// confirms the next. Until the final dot of step 5 nothing has left the house and a
// row can be given back. From there on, what cannot be proved is unknown, and what
// is unknown is never sent again by itself.
var method = map[Step]func(*pass, context.Context) (next Step, err error){
	StepPick:    (*pass).pick,
	StepClaim:   (*pass).claim,
	StepWait:    (*pass).wait,
	StepConfirm: (*pass).confirm,
	StepHandOut: (*pass).handOut,
	StepSend:    (*pass).send,
	StepMark:    (*pass).mark,
	StepVerify:  (*pass).verify,
}

// The figures of the method. Each is a bound that the promise leans on.
const (
	claimAgeMost  = 5 * time.Second  // from second read to the claim's answer; a third of wait if that is less
	confirmWithin = 30 * time.Second // after wait, or the rows are given back
	readAgeMost   = 60 * time.Second // a transaction begins only on a read younger than this
	chunkRows     = 25               // rows between two marks
	pickTries     = 3                // times a run picks again because the fence refused it
	writeTries    = 3                // times a mark or a give-back is tried
	lagTries      = 3                // times an old value is read before it is a doubt
	readLag       = 5 * time.Second  // by which reads are known to lag behind writes
	youngMark     = 2 * time.Minute  // a status that differs from a younger mark is read twice
	wholeLook     = 2000             // rows up to which the second read fetches all of them
)

// Worker carries rows through the method. One worker serves one run.
type Worker struct {
	Sheet   Sheet
	Ledger  Ledger
	Mailer  Mailer
	Now     func() time.Time
	Wait    func(ctx context.Context, d time.Duration) error
	NewMark func() string   // eight random characters
	Calls   func() APICalls // calls made to the Sheets API so far
	Observe func(Document)  // told after each step; nil: nobody watches
	Trace   Tracer          // nil: nobody counts
	Log     *slog.Logger
}

// Order is what one run is asked to do.
type Order struct {
	Run       RunRef
	Target    Target // the job's own, or one that it allows
	Limit     int    // rows; the job's own, or less
	Few       int    // the limit that the caller named; 0: none
	DryRun    bool   // touch nothing
	Confirmed bool   // a person has agreed to a large first run
	Pickup    Pickup // where a caller fetches the rows that it asked to claim only; nil: they are mailed
	Tick      bool   // the schedule asked for it
}

// Carry makes one pass of a job over its sheet. It answers a finished document, but
// for rows that were handed out: theirs is finished when they are settled. What it
// could not finish is left to recovery, and said.
func (w *Worker) Carry(ctx context.Context, job *Job, o Order) Document {
	p := newPass(w, job, o)
	err := p.carry(ctx)
	p.giveBackRest(ctx)
	if p.doc.HandedOutAt != nil {
		p.leaveToCaller(ctx)
		return p.doc
	}
	p.finish(ctx, err)
	return p.doc
}

// carry goes from step to step until one has no next.
func (p *pass) carry(ctx context.Context) error {
	if err := p.lookBack(ctx); err != nil {
		return err
	}
	if until, why := p.notNow(ctx); why != "" {
		p.notBefore(until, why)
		return nil
	}
	for step := StepPick; step != ""; {
		next, err := p.step(ctx, step)
		if err != nil {
			p.log.Info("step ended the run", "step", step, "error", err)
			if asked := p.askedToStop(ctx); asked != nil {
				return asked // whatever failed then, failed because of it
			}
			return err
		}
		step = next
	}
	return nil
}

// notNow answers why the job is not to run at this time: outside its send window,
// or paused after a fault of its mail account.
func (p *pass) notNow(ctx context.Context) (time.Time, string) {
	if until, why := p.closed(); why != "" || p.order.Confirmed || p.order.DryRun || p.order.Pickup != nil {
		return until, why
	}
	return p.resting(ctx)
}

// notBefore says until when this run does nothing, and why.
func (p *pass) notBefore(until time.Time, why string) {
	p.doc.Detail = why + " until " + until.Format(time.RFC3339)
}

// closed answers until when the job's send window is closed, and says so; "" if it is
// open, or goes by the clock of a spreadsheet that was not read yet.
func (p *pass) closed() (time.Time, string) {
	zone := p.job.Zone
	if p.fit != nil {
		zone = p.fit.zone
	}
	if p.job.Open != nil && zone != nil {
		if open, next := p.job.Open(p.Now(), zone); !open {
			return next, "outside the job's window; closed"
		}
	}
	return time.Time{}, ""
}

// resting answers until when the job is paused, and why; "" if it is not.
func (p *pass) resting(ctx context.Context) (time.Time, string) {
	until, err := p.Ledger.Paused(ctx, p.job.Name)
	if err == nil && p.Now().Before(until) {
		return until, "waiting after a fault of the mail account"
	}
	return time.Time{}, "" // a ledger that cannot be read stops the run at its first step
}

// wait lets writes that are under way land, and those who read before our claim
// find out.
func (p *pass) wait(ctx context.Context) (Step, error) {
	if err := p.Wait(ctx, p.job.Wait); err != nil {
		return "", p.askedToStop(ctx)
	}
	return StepConfirm, nil
}

// age is how long ago a moment was, by the greater of wall and monotonic time:
// monotonic clocks stand still while a machine sleeps, wall clocks can be set.
func (p *pass) age(then time.Time) time.Duration {
	now := p.Now()
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// endError ends a run early with an outcome and a sentence for people. Alerts of one
// cause are grouped.
type endError struct {
	outcome RunOutcome
	cause   string
	detail  string
}

func (e *endError) Error() string { return e.detail }

// Causes of an early end.
const (
	causeAsked  = "asked to stop" // by a person: no alert
	causeFirst  = "first_run_limit"
	causeLogin  = "login"
	causeSheet  = "sheet"
	causeLedger = "ledger"
	causeSetup  = "setup"
	causeDoubt  = "stopped"
	causeBehind = "overlap"
)

// stopped ends a run that handled some rows, or could have.
func (p *pass) stopped(detail string) error {
	return &endError{outcome: RunStopped, cause: causeDoubt, detail: detail}
}

// failed ends a run in which nothing could be handled.
func (p *pass) failed(cause string, err error) error {
	var end *endError
	if errors.As(err, &end) {
		return err
	}
	return &endError{outcome: RunFailed, cause: cause, detail: err.Error()}
}
