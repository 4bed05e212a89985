package schedule

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones must be there whatever the machine has
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestNext(t *testing.T) {
	tests := []struct {
		name, spec, zone, from string
		want                   []string
	}{
		{
			"every five minutes", "*/5 * * * *", "Europe/Berlin", "2026-11-30T09:02:30Z",
			[]string{"2026-11-30T10:05:00+01:00", "2026-11-30T10:10:00+01:00"},
		},
		{"a tick itself is not after itself", "@hourly", "UTC", "2026-11-30T09:00:00Z", []string{"2026-11-30T10:00:00Z"}},
		{"in the job's zone", "0 9 * * mon-fri", "Asia/Kolkata", "2026-11-27T12:00:00Z", []string{"2026-11-30T09:00:00+05:30"}},
		{
			"either day is enough", "0 0 13 * fri", "UTC", "2026-11-10T00:00:00Z",
			[]string{"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"},
		},
		{"leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
		{
			"@every does not count from now", "@every 90s", "UTC", "2026-11-30T09:00:10.5Z",
			[]string{"2026-11-30T09:01:30Z", "2026-11-30T09:03:00Z", "2026-11-30T09:04:30Z"},
		},
		{"@every 24h is midnight UTC", "@every 24h", "Europe/Berlin", "2026-11-30T09:00:00Z", []string{"2026-12-01T01:00:00+01:00"}},

		{
			"a time that exists twice runs at its first", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		},
		{"asked inside the repeated hour", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", []string{"2026-10-26T02:30:00+01:00"}},
		{"the end of the repeated hour is no part of it", "0 3 * * *", "Europe/Berlin", "2026-10-25T00:10:00Z", []string{"2026-10-25T03:00:00+01:00"}},
		{
			"a skipped time runs right after the gap", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"},
		},
		{
			"skipped times become one run", "*/10 2-3 * * *", "Europe/Berlin", "2026-03-29T00:55:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:10:00+02:00"},
		},
		{
			"every hour goes through the repeated one", "*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00"},
		},
		{
			"every hour makes nothing up for the skipped one", "15 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:15:00+01:00", "2026-03-29T03:15:00+02:00"},
		},
		{
			"a midnight that does not exist", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		},
		{
			"a change by half an hour", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ticks, err := Next(tt.spec, zone(t, tt.zone), at(t, tt.from), len(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			wantTicks(t, ticks, tt.want)
		})
	}
}

func wantTicks(t *testing.T, ticks []time.Time, want []string) {
	t.Helper()
	var got []string
	for _, tick := range ticks {
		got = append(got, tick.Format(time.RFC3339))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestYearOfTicks goes through a year of clocks that change: a schedule of hours
// has one tick for each day and named hour, whatever the clock does, and ticks
// come in order.
func TestYearOfTicks(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "America/Santiago"} {
		z := zone(t, name)
		for _, spec := range []string{"30 0 * * *", "30 1 * * *", "15 2 * * *", "0 3 * * *", "59 23 * * *"} {
			ticks, err := Next(spec, z, time.Date(2026, 1, 1, 0, 0, 0, 0, z).Add(-time.Second), 365)
			if err != nil {
				t.Fatal(err)
			}
			for i, tick := range ticks {
				if day := tick.YearDay(); day != i+1 {
					t.Fatalf("%s in %s: tick %d is %v", spec, name, i, tick)
				}
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for _, spec := range []string{"*/5 * * * *", " 0 9 * * MON-FRI ", "@daily", "@every 1m", "0 0 29 2 *"} {
		if err := Validate(spec); err != nil {
			t.Errorf("%q: %v", spec, err)
		}
	}
	tests := []struct{ spec, wants string }{
		{"", "expected the five fields minute"},
		{"* * * *", "expected the five fields minute"},
		{"* * * * * *", "expected the five fields minute"},
		{"61 * * * *", "above maximum"},
		{"@sometimes", "unrecognized"},
		{"@every soon", "expected the five fields minute"},
		{"@every 59s", "at least a minute"},
		{"@every -5m", "at least a minute"},
		{"0 0 30 2 *", "a time that comes"},
		{", * * * *", "a time that comes"},
		{"CRON_TZ=Asia/Tokyo 0 9 * * *", "without a time zone"},
		{"TZ=Asia/Tokyo", "without a time zone"},
	}
	for _, tt := range tests {
		if err := Validate(tt.spec); err == nil || !strings.Contains(err.Error(), tt.wants) {
			t.Errorf("%q: got %v, want %q", tt.spec, err, tt.wants)
		}
	}
}

func TestRunID(t *testing.T) {
	id := RunID(time.Date(2026, 11, 30, 10, 5, 30, 0, time.FixedZone("", 3600)))
	if id != "cron-20261130T0905Z" {
		t.Error(id)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`).MatchString(id) {
		t.Errorf("%q is no run id", id)
	}
}

func TestInterval(t *testing.T) {
	from := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for spec, want := range map[string]time.Duration{
		"*/5 * * * *":  5 * time.Minute,
		"@every 90m":   90 * time.Minute,
		"0 9 * * 1-5":  24 * time.Hour,
		"0,20 9 * * *": 20 * time.Minute,
		"0 0 29 2 *":   4*365*24*time.Hour + 24*time.Hour,
		"*/7 * * * *":  4 * time.Minute, // 56 to 60
	} {
		if got, err := Interval(spec, time.UTC, from); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", spec, got, err, want)
		}
	}
	if _, err := Interval("nonsense", nil, from); err == nil {
		t.Error("nonsense has an interval")
	}
}

func TestRan(t *testing.T) {
	for _, tick := range []string{"2026-11-30T09:05:00Z", "2026-11-30T09:05:30Z"} {
		until, ok := Ran(RunID(at(t, tick)))
		if !ok || until.Before(at(t, tick)) || !until.Before(at(t, "2026-11-30T09:06:00Z")) {
			t.Errorf("%s: until %v, %t", tick, until, ok)
		}
	}
	for _, id := range []string{"4711", "cron-", "cron-4711", "20261130T0905Z", "cron-20261131T0905Z"} {
		if until, ok := Ran(id); ok {
			t.Errorf("%s: until %v", id, until)
		}
	}
}

func TestMissed(t *testing.T) {
	tests := []struct {
		name, spec, last, now string
		want                  []string
	}{
		{"none", "@hourly", "cron-20261130T0900Z", "2026-11-30T10:10:00Z", nil},
		{"ten minutes are no downtime", "*/5 * * * *", "cron-20261130T0900Z", "2026-11-30T09:15:00Z", nil},
		{"more are", "*/5 * * * *", "cron-20261130T0900Z", "2026-11-30T09:15:01Z", []string{"2026-11-30T09:05:00Z"}},
		{"three days", "0 9 * * *", "cron-20261126T0900Z", "2026-11-29T15:00:00Z", []string{"2026-11-27T09:00:00Z", "2026-11-28T09:00:00Z", "2026-11-29T09:00:00Z"}},
		{"a tick within a minute is not missed by itself", "@every 90s", "cron-20261130T0901Z", "2026-11-30T09:13:01Z", []string{"2026-11-30T09:03:00Z"}},
		{"no tick ran", "@hourly", "4711", "2026-11-30T10:10:00Z", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ticks, err := Missed(tt.spec, nil, tt.last, at(t, tt.now))
			if err != nil {
				t.Fatal(err)
			}
			wantTicks(t, ticks, tt.want)
		})
	}
}

func TestSameInAllZones(t *testing.T) {
	for spec, want := range map[string]bool{
		"*/5 * * * *": true, "@every 7m": true, "@every 24h": true, "*/15 * * * *": true,
		"@hourly": false, "*/20 * * * *": false, "0 9 * * *": false, "*/5 * * * mon": false, "*/5 9-17 * * *": false, "nonsense": false,
	} {
		if got := SameInAllZones(spec); got != want {
			t.Errorf("%q: %t", spec, got)
		}
	}
}
