package claim

import (
	"fmt"
	"strings"
	"time"
)

// dueAt reads a due cell in a zone. ok is false for a blank cell: not due, and no
// fault. Text is taken only in the forms of ISO 8601, since any other would have to
// be guessed (is 05/01 in May or in January?).
func dueAt(c Cell, zone *time.Location) (at time.Time, ok bool, err error) {
	switch c.Kind {
	case Blank:
		return time.Time{}, false, nil
	case Date:
		return inZone(c.Civil(), zone), true, nil
	case Text:
		text := strings.TrimSpace(c.Shown)
		if text == "" {
			return time.Time{}, false, nil
		}
		return parseISO(text, zone)
	case Number:
		return time.Time{}, false, fmt.Errorf("the due cell holds the plain number %s: format it as a date", c.Value())
	case Bool, Error:
	}
	return time.Time{}, false, fmt.Errorf("the due cell reads %q: a date was expected", c.Shown)
}

// parseISO reads a date or date-time as ISO 8601 writes it.
func parseISO(text string, zone *time.Location) (time.Time, bool, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true, nil
		}
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return inZone(t, zone), true, nil
		}
	}
	return time.Time{}, false, fmt.Errorf("the due cell reads %q, which cannot be read without guessing: use a real date cell or write it like 2026-11-30 or 2026-11-30 09:00", text)
}

// inZone finds the instant of a wall clock time in a zone, never early: of two
// instants the later, and for a time that the clock skips the first moment after
// the gap.
func inZone(civil time.Time, zone *time.Location) time.Time {
	wall := time.Date(civil.Year(), civil.Month(), civil.Day(), civil.Hour(), civil.Minute(), civil.Second(), civil.Nanosecond(), time.UTC)
	// The offsets in force half a day around the time are all that can apply.
	_, before := wall.Add(-14 * time.Hour).In(zone).Zone()
	_, after := wall.Add(14 * time.Hour).In(zone).Zone()
	early := wall.Add(-time.Duration(max(before, after)) * time.Second)
	late := wall.Add(-time.Duration(min(before, after)) * time.Second)
	if reads(late, zone, wall) {
		return late.In(zone)
	}
	if reads(early, zone, wall) {
		return early.In(zone)
	}
	// Skipped: somewhere between the two lies the moment at which the clock jumps.
	_, offset := early.In(zone).Zone()
	lo, hi := early, late
	for hi.Sub(lo) > time.Second {
		mid := lo.Add(hi.Sub(lo) / 2).Truncate(time.Second)
		if _, o := mid.In(zone).Zone(); o == offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi.In(zone)
}

// reads reports whether a clock in zone reads wall at t.
func reads(t time.Time, zone *time.Location, wall time.Time) bool {
	_, offset := t.In(zone).Zone()
	return t.Add(time.Duration(offset) * time.Second).Equal(wall)
}

// LoadZone resolves the zone of a spreadsheet: an IANA name, or Google's own form
// for an offset, "GMT-07:00". Its error is for people.
// Source: Sheets API, SpreadsheetProperties.timeZone.
func LoadZone(name string) (*time.Location, error) {
	if zone, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
		return zone, nil
	}
	if t, err := time.Parse("GMT-07:00", name); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(name, offset), nil
	}
	return nil, fmt.Errorf("the spreadsheet's time zone %q is not known here: set timezone in the job", name)
}
