package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// learnClocks reads the time zones of the spreadsheets by whose clock times of day in
// the schedules and windows of jobs go. Without it nobody could say when such a job is
// to run, so that a spreadsheet which cannot be read is an error.
func (m *Main) learnClocks(ctx context.Context, p *parts, jobs ...string) error {
	for _, name := range jobs {
		spec := p.cfg.Jobs[name]
		if !spec.NeedsClock() {
			continue
		}
		zone, err := readZone(ctx, p.service.Worker().Sheet, p.service.Jobs[name].Target)
		if err != nil {
			return fmt.Errorf("job %s: its schedule or window goes by the time zone of its spreadsheet, which could not be read; mend this, or set timezone in the job: %w", name, err)
		}
		spec.SetClock(zone)
		m.log.Info("times of day go by the spreadsheet's time zone", "job", name, "zone", zone.String())
	}
	return nil
}

// readZone reads the time zone of a spreadsheet, with the header alone.
func readZone(ctx context.Context, s claim.Sheet, t claim.Target) (*time.Location, error) {
	g, err := s.Read(ctx, t, claim.Ask{Columns: []int{}, Rows: []int{}})
	if err != nil {
		return nil, err
	}
	return claim.LoadZone(g.Zone)
}
