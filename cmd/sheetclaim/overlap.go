package main

import (
	"context"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/schedule"
)

// overlapDays is how far the look at past runs goes back.
const overlapDays = 7

// overlap says how the runs of a job fit into the time between their starts.
func (m *Main) overlap(ctx context.Context, p *parts, name string) (claim.Overlap, error) {
	now := m.Now()
	h, err := p.ledger.History(ctx, name, now.AddDate(0, 0, -overlapDays))
	if err != nil {
		return claim.Overlap{}, err
	}
	var interval time.Duration
	if spec := p.cfg.Jobs[name]; spec.Schedule != "" {
		// The configuration was checked: a schedule that cannot be read does not come here.
		if interval, err = schedule.Interval(spec.Schedule, spec.Clock(), now); err != nil {
			return claim.Overlap{}, err
		}
	}
	return h.Overlap(interval), nil
}
