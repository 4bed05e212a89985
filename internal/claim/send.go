package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// send hands over the messages of the next chunk, one transaction after another.
func (p *pass) send(ctx context.Context) (Step, error) {
	p.chunk = nil
	for _, h := range p.held {
		if h.State == Confirmed && !h.doubtful && len(p.chunk) < chunkRows {
			p.chunk = append(p.chunk, h)
		}
	}
	for i, h := range p.chunk {
		if p.ending == nil {
			p.ending = p.askedToStop(ctx)
		}
		if p.ending != nil {
			return StepMark, nil //nolint:nilerr // what was sent is marked before the run ends
		}
		if h.doubtful {
			continue // a later read of this chunk left it out
		}
		p.sendOne(ctx, h, p.chunk[i:])
		p.observe()
	}
	return StepMark, nil
}

// askedToStop ends the run when its context has ended.
func (p *pass) askedToStop(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, errLeaseEnded) {
		return p.stopped(cause.Error() + "; nothing more was sent")
	}
	return &endError{outcome: RunStopped, cause: causeAsked, detail: "asked to stop; what was sent is marked, the rest was given back"}
}

// errStale says that the read that confirmed a row is too old to begin on.
var errStale = errors.New("the confirming read is too old")

// errLeaseLost says that the ledger would not record the intent.
var errLeaseLost = errors.New("the ledger refused the commit record: the run's lease has ended, or the row is no longer this run's")

// sendOne carries one message over. rest is what is left of the chunk, h included:
// it is confirmed again when the last read has grown old.
func (p *pass) sendOne(ctx context.Context, h *held, rest []*held) {
	for {
		_, letter, err := p.compose(h.MessageKey, h.row)
		if err != nil {
			h.doubtful = true
			p.note(h, Skipped, err.Error())
			return
		}
		h.MessageID = letter.MessageID
		r := p.Mailer.Send(ctx, letter, p.hooks(ctx, h))
		h.unsent = r.Verdict == NotBegun
		if !h.unsent {
			p.settle(ctx, h, r)
			return
		}
		switch {
		case errors.Is(r.Err, errStale):
			if p.ending = p.refresh(ctx, rest); p.ending != nil || h.doubtful {
				return
			}
			continue
		case ctx.Err() != nil:
			p.ending = p.askedToStop(ctx)
		case r.Err != nil:
			p.ending = p.stopped(r.Err.Error())
		default:
			p.ending = p.stopped("a message could not be begun")
		}
		return
	}
}

// hooks are the two looks from inside a transaction: is the read still young, and
// may this very claim commit?
func (p *pass) hooks(ctx context.Context, h *held) Hooks {
	return Hooks{
		Begin: func() error {
			if p.age(h.readAt) >= readAgeMost {
				return errStale
			}
			return nil
		},
		Commit: func() error {
			moved, err := p.Ledger.Move(ctx, p.order.Run, []Move{{
				MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Confirmed}, To: Sending, Lease: true,
				Set: func(m *Message) { m.MessageID = h.MessageID },
				Attempt: &Attempt{
					Number: h.Attempts + 1, Step: "dot", MessageID: h.MessageID, At: p.Now(),
				},
				Event: "the final dot comes next",
			}})
			switch {
			case err != nil:
				return fmt.Errorf("the ledger could not record the intent to send: %w", err)
			case !moved[0]:
				return errLeaseLost
			}
			h.State = Sending
			return nil
		},
	}
}

// refresh confirms the rest of a chunk again by one read.
func (p *pass) refresh(ctx context.Context, rest []*held) error {
	g, err := p.readAll(ctx)
	if err != nil {
		p.doubt(SheetUnreadable, nil, err.Error())
		return p.stopped("the sheet could not be read to confirm the claim again: " + err.Error())
	}
	rest = slices.DeleteFunc(slices.Clone(rest), func(h *held) bool { return h.State != Confirmed || h.doubtful })
	_, err = p.recheck(ctx, g, rest)
	return err
}

// settle puts the outcome of a transaction on disk, before the next one begins.
func (p *pass) settle(ctx context.Context, h *held, r Result) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if r.Account && r.Verdict != Accepted && r.Verdict != Doubtful {
		p.accountFault(ctx, h, r)
		return
	}
	h.Attempts++
	h.Outcome = p.outcome(h, r.Verdict)
	h.Reason, h.Reply, h.SettledAt = "", r.Reply, r.At
	if h.Outcome != Sent {
		h.Reason = r.Reason()
	}
	if h.Outcome == Unknown {
		// With the claim's own token no two cells read alike, so that the one can be
		// replaced when its doubt is settled.
		h.Reason = "the answer to the message was lost (" + h.Reason + "; " + tokenOf(h.Claim) + ")"
		p.doubt(SMTPReplyLost, h, h.Reason)
	}
	p.record(ctx, h, r, p.alertsFor(h))
	p.reportSettled(h, r)
	p.countStreaks(ctx, h)
}

// outcome turns a verdict into what became of the message.
func (p *pass) outcome(h *held, v Verdict) Outcome {
	switch v {
	case Accepted:
		return Sent
	case Refused:
		return Rejected
	case Deferred, NotBegun:
		if h.Attempts >= p.job.MaxAttempts {
			return GaveUp
		}
		return Failed
	case Doubtful:
		return Unknown
	}
	return Unknown
}

// record moves a claim to settled. When that fails although the server answered,
// the claim stays sending and a later run calls it unknown: that is the safe side.
func (p *pass) record(ctx context.Context, h *held, r Result, alerts []Alert) {
	h.Status = statusText(h.Outcome, p.order.Run.ID, h.Attempts, p.job.MaxAttempts, h.Reason)
	if h.Outcome == Failed {
		h.RetryAt = r.At.Add(p.job.RetryAfter)
	}
	set := func(m *Message) {
		m.Outcome, m.Attempts, m.Status, m.Reason = h.Outcome, h.Attempts, h.Status, h.Reason
		m.MessageID, m.Reply, m.SettledAt, m.RetryAt = h.MessageID, h.Reply, h.SettledAt, h.RetryAt
	}
	move := Move{
		// From claimed: the ledger may have lost what came after it, see docs/OPERATIONS.md, standbys.
		MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Claimed, Confirmed, Sending}, To: Settled, Set: set, Alerts: alerts,
		Attempt: &Attempt{Number: h.Attempts, Verdict: r.Verdict, Step: r.Step, Reply: r.Reason(), MessageID: h.MessageID, At: r.At},
		Event:   "outcome: " + string(h.Outcome),
	}
	moved, err := p.moveSurely(ctx, move)
	if err == nil && !moved {
		moved, err = p.settleLate(ctx, h, move)
	}
	if err != nil || !moved {
		p.log.Error("an outcome could not be put into the ledger", "key", h.Key, "outcome", h.Outcome, "reply", r.Reply, "error", err)
		p.ending = p.stopped(fmt.Sprintf("the outcome of key %q (%s) could not be put into the ledger; a later run will call it unknown", h.Key, h.Outcome))
		return
	}
	h.State = Settled
}

// settleLate settles an unknown that another run had to call while we waited for
// the server's answer. A person's word stays.
func (p *pass) settleLate(ctx context.Context, h *held, move Move) (bool, error) {
	set := move.Set
	move.Set = func(m *Message) {
		h.from = m.Status // of this very generation; it names its claim, so no other cell reads so
		set(m)
		m.From = h.from
	}
	move.From = []State{Settled, Marked, Verified}
	move.If = func(m Message) bool { return m.Outcome == Unknown && m.SettledBy == "" }
	move.Event = "late outcome: " + string(h.Outcome)
	return p.moveSurely(ctx, move)
}

// moveSurely tries a move whose loss would turn a known outcome into a doubt.
func (p *pass) moveSurely(ctx context.Context, m Move) (bool, error) {
	var err error
	for range writeTries {
		var moved []bool
		if moved, err = p.Ledger.Move(ctx, p.order.Run, []Move{m}); err == nil {
			return moved[0], nil
		}
	}
	return false, err
}

// alertsFor are the alerts that belong to an outcome.
func (p *pass) alertsFor(h *held) []Alert {
	rows := []AlertRow{{Row: h.row.Number, Key: h.Key, Detail: h.Reason}}
	switch h.Outcome {
	case Rejected:
		return []Alert{p.alert(AlertRejected, "rejected", rows, "the mail server refused the message for good: "+h.Reason,
			"the row is marked rejected and not tried again", "correct the address, then type resend into the status cell")}
	case GaveUp:
		return []Alert{p.alert(AlertGaveUp, "gave_up", rows, "the mail server refused the message again: "+h.Reason,
			fmt.Sprintf("the row is marked gave up after %d attempts", h.Attempts), "find out why, then type resend into the status cell")}
	case Unknown:
		return []Alert{p.alert(AlertUnknown, string(SMTPReplyLost), rows, h.Reason+"; Message-ID "+h.MessageID,
			"the row is marked unknown and never sent again by itself", SMTPReplyLost.Advice())}
	case Sent, Failed, Taken, Released, Skipped, Would:
	}
	return nil
}

// reportSettled puts an outcome into the run document.
func (p *pass) reportSettled(h *held, r Result) {
	at := r.At
	h.report.Outcome, h.report.Reason, h.report.Attempt = h.Outcome, h.Reason, h.Attempts
	h.report.MessageID, h.report.SMTPReply, h.report.Status, h.report.At = h.MessageID, h.Reply, h.Status, &at
	p.log.Info("row", "key", h.Key, "row", h.row.Number, "outcome", h.Outcome, "attempt", h.Attempts, "smtp_code", r.Code, "message_id", h.MessageID)
}
