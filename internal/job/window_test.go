package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

// window is a window of a job.
func window(t *testing.T, text string) job.Window {
	t.Helper()
	return mustParse(t, minimal+"    window: \""+text+"\"\n").Jobs["j"].Window
}

func TestWindow(t *testing.T) {
	tests := []struct{ window, zone, at, next string }{
		// 2026-01-05 is a Monday.
		{"Mon-Fri 09:00-17:00", "Europe/Berlin", "2026-01-05T07:59:59Z", "2026-01-05T08:00:00Z"},
		{"Mon-Fri 09:00-17:00", "Europe/Berlin", "2026-01-05T08:00:00Z", "2026-01-05T08:00:00Z"},
		{"Mon-Fri 09:00-17:00", "Europe/Berlin", "2026-01-05T15:59:59Z", "2026-01-05T15:59:59Z"},
		{"Mon-Fri 09:00-17:00", "Europe/Berlin", "2026-01-09T16:00:00Z", "2026-01-12T08:00:00Z"},
		{"Mon-Fri 9:00-12:00, Sat 10:00-11:00", "UTC", "2026-01-09T12:00:00Z", "2026-01-10T10:00:00Z"},
		{"sat-mon 08:00 - 09:00", "UTC", "2026-01-05T08:30:00Z", "2026-01-05T08:30:00Z"},
		{"sat-mon 08:00 - 09:00", "UTC", "2026-01-05T09:00:00Z", "2026-01-10T08:00:00Z"},
		{"22:00-06:00", "UTC", "2026-01-05T05:59:00Z", "2026-01-05T05:59:00Z"},
		{"22:00-06:00", "UTC", "2026-01-05T06:00:00Z", "2026-01-05T22:00:00Z"},
		{"Fri 22:00-06:00", "UTC", "2026-01-10T03:00:00Z", "2026-01-10T03:00:00Z"},
		{"Fri 22:00-06:00", "UTC", "2026-01-09T03:00:00Z", "2026-01-09T22:00:00Z"},
		{"00:00-24:00", "UTC", "2026-01-05T23:59:59Z", "2026-01-05T23:59:59Z"},
		// Clocks go from 02:00 to 03:00 on that Sunday: the window opens right after.
		{"Sun 02:30-03:30", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
		{"", "UTC", "2026-01-05T23:59:59Z", "2026-01-05T23:59:59Z"},
	}
	for _, tt := range tests {
		t.Run(tt.window+" "+tt.at, func(t *testing.T) {
			w := window(t, tt.window)
			at, err := time.Parse(time.RFC3339, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			zone, err := time.LoadLocation(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			at = at.In(zone)
			if got := w.Next(at).UTC().Format(time.RFC3339); got != tt.next {
				t.Errorf("next = %s, want %s", got, tt.next)
			}
			if got := w.Contains(at); got != (tt.at == tt.next) {
				t.Errorf("open = %v", got)
			}
			if w.String() != tt.window {
				t.Errorf("text = %q", w)
			}
		})
	}
}

func TestSchedulesThatNeedNoZone(t *testing.T) {
	for plan, need := range map[string]bool{
		"*/5 * * * *": false, "* * * * *": false, "7-59/15 * * * *": false, "0 * * * *": true, "@hourly": true,
		"*/5 9 * * *": true, "*/5 * * * 1-5": true, "*/5 * 1 * *": true, "*/20 * * * *": true,
	} {
		s := mustParse(t, minimal+"    schedule: \""+plan+"\"\n").Jobs["j"]
		if needs := s.NeedsClock(); needs != need {
			t.Errorf("%s: needs a zone %v, want %v", plan, needs, need)
		}
		s = mustParse(t, minimal+"    timezone: Europe/Rome\n    schedule: \""+plan+"\"\n").Jobs["j"]
		if s.NeedsClock() || s.Clock().String() != "Europe/Rome" {
			t.Errorf("%s: goes by %v", plan, s.Clock())
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"48h": 48 * time.Hour, "2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "0": 0, "0s": 0,
		"1m30s": 90 * time.Second, "100000d": 100000 * 24 * time.Hour,
	} {
		if got, err := job.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "1", "1d1", "1h1d", "-1d", "100001d", "1e3s", "1 d", strings.Repeat("9", 400) + "d"} {
		if got, err := job.ParseDuration(text); err == nil {
			t.Errorf("%q = %v, want an error", text, got)
		}
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]job.Rate{
		"30/m": {Count: 30, Per: time.Minute}, "1/s": {Count: 1, Per: time.Second},
		"500 / h": {Count: 500, Per: time.Hour}, "2000/d": {Count: 2000, Per: 24 * time.Hour},
	} {
		var got job.Rate
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s = %v, %v", text, got, err)
		}
	}
	if got := (job.Rate{}).String(); got != "" {
		t.Errorf("no rate = %q", got)
	}
}
