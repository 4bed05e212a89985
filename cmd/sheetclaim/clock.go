package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheets"
)

// learnClocks reads the time zones of the spreadsheets by whose clock times of day in
// the schedules and windows of jobs go. Without it nobody could say when such a job is
// to run, so that a spreadsheet which cannot be read is an error. What else is wrong with
// it, a run says, and alerts.
func (m *Main) learnClocks(ctx context.Context, p *parts, jobs ...string) error {
	for _, name := range jobs {
		spec := p.cfg.Jobs[name]
		if !spec.NeedsClock() {
			continue
		}
		zone, err := readZone(ctx, p.sheets, spec.Spreadsheet)
		if err != nil {
			return fmt.Errorf("job %s: its schedule or window goes by the time zone of its spreadsheet, which could not be read; mend this, or set timezone in the job: %w", name, err)
		}
		spec.SetClock(zone)
		m.log.Info("times of day go by the spreadsheet's time zone", "job", name, "zone", zone.String())
	}
	return nil
}

// readZone reads the time zone of a spreadsheet.
func readZone(ctx context.Context, c *sheets.Client, spreadsheet string) (*time.Location, error) {
	name, err := c.Zone(ctx, spreadsheet)
	if err != nil {
		return nil, err
	}
	return claim.LoadZone(name)
}
