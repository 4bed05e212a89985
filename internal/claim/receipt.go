package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Receipt is a caller's word on a row that was handed out to it.
type Receipt struct {
	Job, RunID, Key string
	Outcome         Outcome // Sent, Failed, Unknown or Released
	Reason          string
}

// Errors of Service.Receive.
var (
	ErrNoClaim   = errors.New("the run holds no such key")
	ErrNotHanded = errors.New("the row was not handed out yet: fetch it with POST /v1/claims first")
	ErrMails     = errors.New("the run mails its rows itself and hands none out: settle a message of unknown fate with POST /v1/messages/settle")
	ErrSettled   = errors.New("the row was settled otherwise before")
	ErrNotSheet  = errors.New("the ledger has it; the sheet could not be written yet, and recovery does it")
)

// Receive settles a row that was handed out: the ledger first, then the cell, which
// is read back. A receipt that comes after the lease settles the doubt that the row
// has become, unless a person did; one that comes again changes nothing. With
// ErrNotSheet the receipt was taken.
func (s *Service) Receive(ctx context.Context, r Receipt) (Message, error) {
	job, ok := s.Jobs[r.Job]
	if !ok {
		return Message{}, fmt.Errorf("there is no job %q", r.Job)
	}
	if !s.enter() {
		return Message{}, ErrClosing
	}
	defer s.wg.Done()
	rec, err := s.Runs.Find(ctx, r.Job, r.RunID)
	if err != nil {
		return Message{}, err
	}
	if !rec.claimOnly() {
		return Message{}, ErrMails // or a flow could have a message sent again that may have left
	}
	m, err := s.take(ctx, job, rec.RunRef, r)
	if err != nil {
		return m, err
	}
	if !m.State.Ended() {
		if err := s.writeCells(ctx, job, m); err != nil {
			s.Log.Warn("a settled row could not be marked; recovery does it", "job", job.Name, "run", rec.ID, "key", m.Key, "error", err)
			return m, ErrNotSheet
		}
		if m, err = s.held(ctx, rec.RunRef, r.Key); err != nil {
			return m, err
		}
	}
	if s.Ended != nil {
		s.Ended()
	}
	return m, nil
}

// take puts a receipt into the ledger. When recovery, or the same receipt that comes
// twice at once, was faster, it looks again.
func (s *Service) take(ctx context.Context, job *Job, run RunRef, r Receipt) (m Message, err error) {
	for range writeTries {
		if m, err = s.held(ctx, run, r.Key); err != nil {
			return m, err
		}
		if m, err = s.settleHanded(ctx, job, run, m, r); !errors.Is(err, errOvertaken) {
			break
		}
	}
	return m, err
}

// errOvertaken says that a message was not any more what had been read of it.
var errOvertaken = fmt.Errorf("%w a moment ago: send it again", ErrSettled)

// held finds a key among those of a run.
func (s *Service) held(ctx context.Context, run RunRef, key string) (Message, error) {
	ms, err := s.Ledger.Held(ctx, run)
	if err != nil {
		return Message{}, err
	}
	i := slices.IndexFunc(ms, func(m Message) bool { return m.Key == key })
	if i < 0 {
		return Message{}, ErrNoClaim
	}
	return ms[i], nil
}

// settleHanded puts a receipt into the ledger and answers the message as it then is.
func (s *Service) settleHanded(ctx context.Context, job *Job, run RunRef, m Message, r Receipt) (Message, error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	late := m.Outcome == Unknown && m.SettledBy == "" && r.Outcome != Unknown
	switch {
	case m.State == Claimed || m.State == Confirmed:
		return m, ErrNotHanded
	case m.State != HandedOut && !late:
		if again(m, r.Outcome) {
			return m, nil
		}
		return m, fmt.Errorf("%w, as %s", ErrSettled, cmp.Or(m.Outcome, Released))
	}
	was := m
	move := Move{MessageKey: m.MessageKey, Claim: m.Claim, From: []State{HandedOut}, To: Settled, Event: "the caller settled it as " + string(r.Outcome)}
	if late {
		move.From = []State{Settled, Marked, Verified}
		move.If = func(m Message) bool { return m.Outcome == Unknown && m.SettledBy == "" }
		move.Event = "the caller settled it late as " + string(r.Outcome)
		m.From = m.Status
		m.Attempts-- // that recovery counted
	}
	if r.Outcome == Released && !late {
		move.To = Returning
		m.State = Returning
	} else {
		m.judge(job, r, s.Now())
		move.Attempt = &Attempt{Number: m.Attempts, Verdict: verdictOf(r.Outcome), Step: string(StepHandOut), Reply: m.Reason, At: m.SettledAt}
		if a := job.receiptAlert(m); a != nil {
			move.Alerts = []Alert{*a}
		}
		move.Set = func(have *Message) {
			have.Outcome, have.Attempts, have.Status, have.Reason = m.Outcome, m.Attempts, m.Status, m.Reason
			have.SettledAt, have.RetryAt, have.From = m.SettledAt, m.RetryAt, m.From
		}
	}
	moved, err := s.Ledger.Move(ctx, run, []Move{move})
	switch {
	case err != nil:
		return was, err
	case !moved[0]:
		return was, errOvertaken
	}
	outcome := cmp.Or(m.Outcome, Released)
	s.Log.Info("row", "job", job.Name, "run", run.ID, "key", m.Key, "outcome", outcome, "late", late)
	if s.Settled != nil {
		s.Settled(job.Name, outcome)
	}
	return m, nil
}

// again reports whether a receipt says what the ledger has.
func again(m Message, o Outcome) bool {
	switch o {
	case Failed:
		return m.Outcome == Failed || m.Outcome == GaveUp
	case Released:
		return m.State == Returning || m.State == Returned || m.Outcome == Failed && strings.HasPrefix(m.Reason, givenBack)
	case Sent, Unknown, GaveUp, Rejected, Taken, Skipped, Would:
	}
	return m.Outcome == o
}

// givenBack begins the reason of a row that was released after it had become unknown.
const givenBack = "given back by the caller"

// judge turns a receipt into the outcome of a message. A row that is released after
// it has become unknown has an unknown in its cell, so that it is not given back but
// failed, to be tried again at once.
func (m *Message) judge(job *Job, r Receipt, now time.Time) {
	m.State, m.Outcome, m.SettledAt, m.Reason = Settled, r.Outcome, now, oneLine(r.Reason)
	m.Attempts++
	retry := job.RetryAfter
	if r.Outcome == Released {
		m.Outcome, retry = Failed, 0
		m.Reason = oneLine(givenBack + "; " + r.Reason)
	}
	switch {
	case m.Outcome == Sent:
		m.Reason = ""
	case m.Outcome == Failed && m.Attempts >= job.MaxAttempts && r.Outcome == Failed:
		m.Outcome = GaveUp
	case m.Outcome == Failed:
		m.RetryAt = now.Add(retry)
	}
	if m.Outcome != Sent {
		m.Reason = cmp.Or(strings.TrimSpace(m.Reason), "the caller gave no reason")
	}
	if m.Outcome == Unknown {
		m.Reason = fmt.Sprintf("%s (%s)", m.Reason, tokenOf(m.Claim))
	}
	m.Status = statusText(m.Outcome, m.Run.ID, m.Attempts, job.MaxAttempts, m.Reason)
}

// verdictOf is a receipt in the words of an attempt.
func verdictOf(o Outcome) Verdict {
	switch o {
	case Sent:
		return Accepted
	case Failed:
		return Deferred
	case Released:
		return NotBegun
	case Unknown, GaveUp, Rejected, Taken, Skipped, Would:
	}
	return Doubtful
}

// receiptAlert is the alert that belongs to a receipt, if one does.
func (job *Job) receiptAlert(m Message) *Alert {
	switch m.Outcome {
	case Unknown:
		a := unknownAlert(m)
		return &a
	case GaveUp:
		return &Alert{
			Kind: AlertGaveUp, Job: m.Job, Run: m.Run.ID, Cause: "gave_up", Rows: []AlertRow{{Row: m.Row, Key: m.Key, Detail: m.Reason}},
			Seen: "the caller failed again: " + m.Reason, Done: fmt.Sprintf("the row is marked gave up after %d attempts", m.Attempts),
			Todo: "find out why, then type resend into the status cell",
		}
	case Sent, Failed, Rejected, Taken, Released, Skipped, Would:
	}
	return nil
}
