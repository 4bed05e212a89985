package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Validate says what is wrong with a schedule, if anything is.
func Validate(spec string) error {
	_, err := parse(spec, time.UTC)
	return err
}

// Next answers the next n ticks after from, in zone; nil means UTC.
func Next(spec string, zone *time.Location, from time.Time, n int) ([]time.Time, error) {
	zone = zoneOf(zone)
	p, err := parse(spec, zone)
	if err != nil {
		return nil, err
	}
	var ticks []time.Time
	for t := p.next(from); len(ticks) < n && !t.IsZero(); t = p.next(t) {
		ticks = append(ticks, t.In(zone))
	}
	return ticks, nil
}

// Interval answers the shortest time between two of the ticks that follow from: of
// those of a month, or of the next two where they are rarer. It is 0 when fewer come.
func Interval(spec string, zone *time.Location, from time.Time) (time.Duration, error) {
	const most, month = 50, 31 * 24 * time.Hour // 50 are more than the ticks of a day at work
	if zone == nil {
		zone = time.UTC
	}
	p, err := parse(spec, zone)
	if err != nil {
		return 0, err
	}
	var shortest time.Duration
	last := p.next(from)
	for range most {
		tick := p.next(last)
		if last.IsZero() || tick.IsZero() || shortest > 0 && tick.Sub(from) > month {
			break
		}
		if gap := tick.Sub(last); shortest == 0 || gap < shortest {
			shortest = gap
		}
		last = tick
	}
	return shortest, nil
}

// TooLate is how late a tick can be and still count as kept: a restart or an update
// is no downtime.
const TooLate = 10 * time.Minute

// Missed answers the ticks, in zone, after the one that the run lastRun is named
// after, whose time is over by more than TooLate; none when lastRun is the name of no
// tick.
func Missed(spec string, zone *time.Location, lastRun string, now time.Time) ([]time.Time, error) {
	zone = zoneOf(zone)
	p, err := parse(spec, zone)
	if err != nil {
		return nil, err
	}
	last, ok := Ran(lastRun)
	if !ok {
		return nil, nil
	}
	var ticks []time.Time
	for t := p.next(last); !t.IsZero() && now.Sub(t) > TooLate; t = p.next(t) {
		ticks = append(ticks, t.In(zone))
	}
	return ticks, nil
}

// SameInAllZones reports whether a schedule means the same moments wherever it is
// read: @every does, and so does one for every hour of every day at minutes that a
// shift by a quarter of an hour, by which zones differ, leaves alone.
func SameInAllZones(spec string) bool {
	p, err := parse(spec, time.UTC)
	if err != nil {
		return false
	}
	c, ok := p.(calendar)
	if !ok {
		return true
	}
	const hour = 60
	mask := uint64(1)<<hour - 1
	minutes := c.fields.Minute & mask
	shifted := (minutes<<15 | minutes>>(hour-15)) & mask
	return minutes == shifted && !c.once && bits.OnesCount64(c.fields.Dom&(1<<32-2)) == 31 &&
		bits.OnesCount64(c.fields.Month&(1<<13-2)) == 12 && bits.OnesCount64(c.fields.Dow&(1<<7-1)) == 7
}

// zoneOf makes UTC of nil.
func zoneOf(zone *time.Location) *time.Location {
	if zone == nil {
		return time.UTC
	}
	return zone
}

// RunID names the run of a tick by its minute in UTC: cron-20261130T0905Z. Two
// ticks of one schedule never fall into the same minute.
func RunID(tick time.Time) string {
	return claim.TickID(tick)
}

// Ran answers the end of the minute that a run is named after: up to then all ticks
// have run. ok is false for the name of a run that no schedule asked for.
func Ran(runID string) (until time.Time, ok bool) {
	minute, isTick := strings.CutPrefix(runID, claim.TickPrefix)
	t, err := time.Parse(claim.TickLayout, minute)
	if !isTick || err != nil {
		return time.Time{}, false
	}
	return t.Add(time.Minute - time.Nanosecond), true
}

// plan is a schedule that has been read.
type plan interface {
	// next answers the first tick after t, in UTC; zero if none comes.
	next(t time.Time) time.Time
}

// parse reads a schedule that is meant in a zone.
func parse(spec string, zone *time.Location) (plan, error) {
	spec = strings.TrimSpace(spec)
	// The library takes a zone as part of the schedule, and panics on half of one.
	if strings.Contains(spec, "TZ=") {
		return nil, errors.New("expected a schedule without a time zone: it is in the time zone of its job, use the key timezone")
	}
	read, err := cron.ParseStandard(spec)
	if err != nil {
		text := "expected the five fields minute, hour, day, month and weekday such as \"*/5 * * * *\", or @hourly, @daily, \"@every 10m\""
		if strings.HasPrefix(err.Error(), "expected") {
			return nil, errors.New(text) // the library would only say again how many words that are
		}
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	switch s := read.(type) {
	case cron.ConstantDelaySchedule:
		if s.Delay < time.Minute {
			return nil, errors.New("expected at least a minute between runs, which are named after the minute")
		}
		return interval(s.Delay), nil
	case *cron.SpecSchedule:
		s.Location = time.UTC // calendar gives it wall clocks, see there
		c := calendar{fields: s, zone: zone, once: !everyHour(s)}
		// From the start of a leap cycle the library's five years hold every date.
		if c.next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
			return nil, errors.New("expected a schedule with a time that comes")
		}
		return c, nil
	}
	return nil, errors.New("expected a schedule")
}

// everyHour reports whether a schedule names no hours.
func everyHour(s *cron.SpecSchedule) bool {
	const hours = 24
	return bits.OnesCount64(s.Hour&(1<<hours-1)) == hours
}

// interval is @every: multiples of itself since a fixed moment, the zero Time.
type interval time.Duration

func (d interval) next(t time.Time) time.Time {
	return t.UTC().Truncate(time.Duration(d)).Add(time.Duration(d))
}

// calendar is a schedule of fields on the clock of a zone. The library is asked
// about wall clocks only, written as if they were UTC, where no time is skipped
// and none exists twice; what a change of the clock means is decided here.
type calendar struct {
	fields *cron.SpecSchedule
	zone   *time.Location
	once   bool // each time on the clock once; otherwise real time counts
}

func (c calendar) next(t time.Time) time.Time {
	t = t.Round(0).In(c.zone)
	wall := wallClock(t)
	for {
		begin, end := t.ZoneBounds()
		if again := repeatedUntil(begin); c.once && wall.Before(again) {
			wall = again
		}
		w := c.fields.Next(wall)
		if w.IsZero() {
			return time.Time{}
		}
		_, offset := t.Zone()
		tick := w.Add(-seconds(offset))
		if end.IsZero() || tick.Before(end) {
			return tick
		}
		// The clock changes first. Whether w is skipped by the change is decided by
		// what the clock shows right after it.
		after := wallClock(end)
		if c.once && w.Before(after) {
			return end.UTC()
		}
		t, wall = end, after.Add(-time.Second) // end itself may be a tick
	}
}

// wallClock is what a clock in t's zone shows, as a time in UTC.
func wallClock(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(seconds(offset))
}

// repeatedUntil answers the last second of the wall clock that is shown a second
// time after the change of the clock at begin. After a change that repeats nothing
// it lies before begin's own wall clock.
func repeatedUntil(begin time.Time) time.Time {
	if begin.IsZero() { // the zone has always been what it is
		return time.Time{}
	}
	_, before := begin.Add(-time.Second).Zone()
	return begin.UTC().Add(seconds(before) - time.Second)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
