package job

import (
	"errors"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ParseSchedule reads five cron fields, or @hourly and the like. Its times are those
// of the zone of the time given to Next. @every is refused: it counts from the start
// of a process, so that two instances would not agree.
func ParseSchedule(s string) (*cron.SpecSchedule, error) {
	if strings.Contains(s, "TZ=") {
		return nil, errors.New("expected a schedule without a time zone, use the key timezone")
	}
	plan, err := cron.ParseStandard(s)
	spec, ok := plan.(*cron.SpecSchedule)
	if err != nil || !ok {
		return nil, errors.New("expected minute, hour, day, month and weekday such as \"*/5 * * * *\"")
	}
	// Four years and a leap day hold every date that there is.
	if spec.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, errors.New("expected a schedule with a time that comes")
	}
	return spec, nil
}

// sameInAllZones reports whether a schedule fires at the same moments wherever it is
// read: every hour of every day, and at minutes that a shift by a quarter of an hour,
// by which zones differ, leaves alone.
func sameInAllZones(s *cron.SpecSchedule) bool {
	const hour = 60
	mask := uint64(1)<<hour - 1
	minutes := s.Minute & mask
	shifted := (minutes<<15 | minutes>>(hour-15)) & mask
	return minutes == shifted && bits.OnesCount64(s.Hour&(1<<24-1)) == 24 &&
		bits.OnesCount64(s.Dom&(1<<32-2)) == 31 && bits.OnesCount64(s.Month&(1<<13-2)) == 12 &&
		bits.OnesCount64(s.Dow&(1<<7-1)) == 7
}
