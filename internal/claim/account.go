package claim

import (
	"context"
	"fmt"
	"slices"
)

// accountFault handles a refusal that is the mail account's and not the row's: it
// burns no attempt, stops the batch and lets the job rest for retry_after.
func (p *pass) accountFault(ctx context.Context, h *held, r Result) {
	moved, err := p.moveSurely(ctx, Move{
		MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Confirmed, Sending}, To: Returning,
		Attempt: &Attempt{Number: h.Attempts + 1, Verdict: r.Verdict, Step: r.Step, Reply: r.Reason(), MessageID: h.MessageID, At: r.At},
		Event:   "refused through no fault of the row: " + r.Reason(),
	})
	switch {
	case err == nil && moved:
		h.State = Returning
	case err == nil:
		// Another run has called it unknown meanwhile; now it is known.
		h.Outcome, h.Reason, h.Reply, h.SettledAt = Failed, r.Reason(), r.Reply, r.At
		p.record(ctx, h, r, nil)
		p.reportSettled(h, r)
	}
	p.rest(ctx, h, "the mail account cannot send now: "+r.Reason())
}

// rest ends the batch and pauses the job.
func (p *pass) rest(ctx context.Context, h *held, why string) {
	until := p.Now().Add(p.job.RetryAfter)
	if err := p.Ledger.Pause(ctx, p.job.Name, until); err != nil {
		p.log.Error("the job could not be paused", "error", err)
	}
	p.queue(ctx, Report{Alert: p.alert(AlertRunFailed, "account", []AlertRow{{Row: h.row.Number, Key: h.Key}}, why,
		"what was sent is marked, the rest was given back; no attempt was counted", "the next run waits until "+p.stamp(until)+"; look at the mail account's limits and login")})
	p.pausing, p.ending = why, p.stopped(why)
}

// countStreaks stops the batch when the outcomes look like the account's fault
// after all: three rejections of different recipients in a row, or two unknowns in
// a row.
func (p *pass) countStreaks(ctx context.Context, h *held) {
	const rejections, unknowns = 3, 2
	if h.Outcome == Unknown {
		p.unknowns++
	} else {
		p.unknowns = 0
	}
	switch {
	case h.Outcome != Rejected:
		p.streak = nil
	case !slices.ContainsFunc(p.streak, func(s *held) bool { return s.email == h.email }):
		p.streak = append(p.streak, h)
	}
	switch {
	case p.unknowns >= unknowns:
		p.rest(ctx, h, "two answers in a row were lost after the final dot")
	case len(p.streak) >= rejections:
		for _, s := range p.streak {
			p.soften(ctx, s)
		}
		p.streak = nil
		p.rest(ctx, h, fmt.Sprintf("%d rejections in a row: %s", rejections, h.Reply))
	}
}

// soften turns a rejection that is not marked yet into a failure.
func (p *pass) soften(ctx context.Context, h *held) {
	if h.State != Settled {
		return
	}
	h.Outcome = p.outcome(h, Deferred)
	p.softenRecord(ctx, h)
	h.report.Outcome, h.report.Status = h.Outcome, h.Status
}

// softenRecord puts the milder outcome on disk.
func (p *pass) softenRecord(ctx context.Context, h *held) {
	h.Status = statusText(h.Outcome, p.order.Run.ID, h.Attempts, p.job.MaxAttempts, h.Reason)
	h.RetryAt = p.Now().Add(p.job.RetryAfter)
	_, err := p.moveSurely(ctx, Move{
		MessageKey: h.MessageKey, Claim: h.Claim, From: []State{Settled}, To: Settled,
		Set: func(m *Message) {
			m.Outcome, m.Status, m.RetryAt = h.Outcome, h.Status, h.RetryAt
		},
		Event: "one of several rejections in a row: " + string(h.Outcome),
	})
	if err != nil {
		p.log.Error("an outcome could not be softened", "key", h.Key, "error", err)
	}
}
