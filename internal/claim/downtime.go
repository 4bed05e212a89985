package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lookBack sees what became of the ticks before this run: whether one of them still
// runs, and whether some were missed.
func (p *pass) lookBack(ctx context.Context) error {
	if p.order.Tick {
		if err := p.behind(ctx); err != nil {
			return err
		}
	}
	return p.countMissed(ctx, p.job.Zone)
}

// countMissed is missed, once: before the sheet is read if that can be, since a run that
// cannot read it is the last one for the next.
func (p *pass) countMissed(ctx context.Context, zone *time.Location) error {
	if p.job.Missed == nil || p.looked {
		return nil
	}
	if err := p.missed(ctx, zone); err != nil {
		return p.failed(causeLedger, fmt.Errorf("the ledger could not be read, so nothing was touched: %w", err))
	}
	return nil
}

// behind ends the run of a tick that finds the run of an earlier tick still going
// on. Side by side they would only compete for the account's quota and rate; what is
// due stays due for the next tick.
func (p *pass) behind(ctx context.Context) error {
	running, err := p.Ledger.Running(ctx, p.job.Name)
	if err != nil {
		return p.failed(causeLedger, err)
	}
	for _, r := range running {
		if strings.HasPrefix(r.ID, TickPrefix) && r.Seq < p.order.Run.Seq {
			p.doc.Behind = r.ID
			return &endError{outcome: RunOverlapped, cause: causeBehind, detail: fmt.Sprintf("the run %s of an earlier tick still goes on since %s; what is due is left to it and to the next tick",
				r.ID, r.Document.StartedAt.UTC().Format(time.RFC3339))}
		}
	}
	return nil
}

// missed finds out which ticks made no run, and writes down whose rows are to be
// left: the next run would not know it any more.
func (p *pass) missed(ctx context.Context, zone *time.Location) error {
	last, err := p.Ledger.LastTicks(ctx, p.job.Name, TickID(p.Now()), 2)
	if err != nil {
		return err
	}
	last = slices.DeleteFunc(last, func(r RunRecord) bool { return r.Seq == p.order.Run.Seq })
	var missed []time.Time
	if len(last) > 0 { // a job whose schedule never ran has missed nothing
		if missed, p.looked = p.job.Missed(last[0].ID, p.Now(), zone); !p.looked {
			return nil // asked again when the sheet has said its zone
		}
	}
	p.looked = true
	if p.job.CatchUp == CatchNewest && len(missed) > 0 {
		missed = missed[:len(missed)-1]
	}
	if len(missed) > 0 {
		p.log.Warn("ticks of the schedule were missed", "ticks", len(missed), "after", last[0].ID, "catch_up", p.job.CatchUp)
	}
	if p.job.CatchUp == CatchAll || p.job.CatchUp == "" {
		p.backlog = len(missed)
		return nil
	}
	if p.downtimes, err = p.Ledger.Downtimes(ctx, p.job.Name); err != nil {
		return err
	}
	// One that goes on into the future was written down by a clock that was ahead: what
	// comes due in it would be left for as long.
	p.downtimes = slices.DeleteFunc(p.downtimes, func(d Downtime) bool { return d.Ended.After(p.Now()) })
	if len(missed) == 0 {
		return nil
	}
	d := Downtime{Began: last[0].Document.StartedAt, Ended: missed[len(missed)-1]}
	p.downtimes = append(p.downtimes, d)
	if p.order.DryRun {
		return nil
	}
	return p.Ledger.MissedTicks(ctx, p.job.Name, d)
}

// isLeft reports whether a row came due for a tick that is not made up for.
func isLeft(downtimes []Downtime, due time.Time) bool {
	return slices.ContainsFunc(downtimes, func(d Downtime) bool { return due.After(d.Began) && !due.After(d.Ended) })
}

// announce says how many rows a downtime has piled up, before they are sent, where
// they are more than would surprise nobody.
func (p *pass) announce(ctx context.Context, due int) {
	if p.backlog == 0 || p.order.DryRun || p.job.FirstRunLimit == 0 || due <= p.job.FirstRunLimit {
		return
	}
	p.queue(ctx, Report{Alert: p.alert(AlertRowFault, "backlog", nil,
		fmt.Sprintf("%d ticks of the schedule were missed, and %d rows are due now", p.backlog, due),
		fmt.Sprintf("they are being sent, up to %d a run (catch_up: all)", p.order.Limit),
		"to leave them, stop the service and set catch_up: none or max_lateness")})
	p.backlog = 0
}
