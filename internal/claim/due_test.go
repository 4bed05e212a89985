package claim

import (
	"testing"
	"time"
	_ "time/tzdata"
)

func TestDueAt(t *testing.T) {
	t.Parallel()
	zone := func(name string) *time.Location {
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	civil := func(s string) Cell {
		at, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return Cell{Kind: Date, Number: at.Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Hours() / 24, Shown: s}
	}
	text := func(s string) Cell { return Cell{Kind: Text, Shown: s} }
	for _, tc := range []struct {
		name string
		cell Cell
		zone string
		want string // in UTC; "" for blank
	}{
		{"date cell", civil("2026-01-05 09:00"), "Europe/Berlin", "2026-01-05T08:00:00Z"},
		{"date alone", text("2026-11-30"), "America/New_York", "2026-11-30T05:00:00Z"},
		{"iso with zone", text("2026-11-30T09:00:00+05:30"), "Europe/Berlin", "2026-11-30T03:30:00Z"},
		{"iso with Z", text("2026-11-30T09:00Z"), "Europe/Berlin", "2026-11-30T09:00:00Z"},
		{"space for T", text(" 2026-11-30 09:00 "), "Australia/Sydney", "2026-11-29T22:00:00Z"},
		{"blank", Cell{}, "Europe/Berlin", ""},
		{"blanks", text("  "), "Europe/Berlin", ""},
		{"twice means the later", civil("2026-10-25 02:30"), "Europe/Berlin", "2026-10-25T01:30:00Z"},
		{"skipped means the first moment after", civil("2026-03-29 02:30"), "Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"just before the gap", civil("2026-03-29 01:59"), "Europe/Berlin", "2026-03-29T00:59:00Z"},
		{"just after the gap", civil("2026-03-29 03:00"), "Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"twice in New York", civil("2026-11-01 01:15"), "America/New_York", "2026-11-01T06:15:00Z"},
		{"half hour of Lord Howe, skipped", civil("2026-10-04 02:15"), "Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
		{"skipped midnight in Beirut", civil("2026-03-29 00:30"), "Asia/Beirut", "2026-03-28T22:00:00Z"},
	} {
		got, ok, err := dueAt(tc.cell, zone(tc.zone))
		switch {
		case err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case ok != (tc.want != ""):
			t.Errorf("%s: ok is %t", tc.name, ok)
		case ok && got.UTC().Format(time.RFC3339) != tc.want:
			t.Errorf("%s: got %s, want %s", tc.name, got.UTC().Format(time.RFC3339), tc.want)
		}
	}
	for _, cell := range []Cell{
		text("05/01/2026"), text("tomorrow"), text("1.2.2026"),
		{Kind: Number, Number: 46027, Shown: "46027"},
		{Kind: Bool, Bool: true, Shown: "TRUE"},
		{Kind: Error, Shown: "#N/A"},
	} {
		if _, _, err := dueAt(cell, time.UTC); err == nil {
			t.Errorf("%q was read by guessing", cell.Shown)
		}
	}
}

// Whatever the zone and the wall clock time, the instant is never early: no clock
// in the zone has shown a later time before it that day.
func TestInZoneIsNeverEarly(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Pacific/Apia", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for minute := 0; minute < 366*24*60; minute += 15 {
			wall := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
			at := inZone(wall, zone)
			_, offset := at.Zone()
			if shown := at.Add(time.Duration(offset) * time.Second).UTC(); shown.Before(wall) {
				t.Fatalf("%s: %s became %s, at which the clock shows only %s", name, wall, at, shown)
			}
		}
	}
}

func TestLoadZone(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]int{"Europe/Berlin": 3600, "GMT-07:00": -7 * 3600, "Etc/GMT": 0} {
		zone, err := LoadZone(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, got := time.Date(2026, 1, 1, 0, 0, 0, 0, zone).Zone(); got != offset {
			t.Errorf("%s: offset %d, want %d", name, got, offset)
		}
	}
	for _, name := range []string{"", "Local", "Mars/Olympus"} {
		if _, err := LoadZone(name); err == nil {
			t.Errorf("zone %q was accepted", name)
		}
	}
}

// Whatever stands in a due cell, reading it does not panic, and a time that is read
// is never shown before it was meant.
func FuzzDueText(f *testing.F) {
	for _, s := range []string{"2026-11-30", "2026-03-29 02:30", "2026-10-25T02:30", "2026-11-30T09:00:00+05:30", "05/01/2026", "", "9999-12-31T23:59:59Z", "0001-01-01"} {
		f.Add(s)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, ok, err := dueAt(Cell{Kind: Text, Shown: s}, zone)
		if err != nil && ok {
			t.Errorf("%q is read as %s and refused: %v", s, at, err)
		}
	})
}

func TestCivil(t *testing.T) {
	t.Parallel()
	for serial, want := range map[float64]string{
		46027.375:          "2026-01-05T09:00:00Z",
		46027:              "2026-01-05T00:00:00Z",
		0:                  "1899-12-30T00:00:00Z",
		-0.25:              "1899-12-29T18:00:00Z",
		1:                  "1899-12-31T00:00:00Z",
		43831.5:            "2020-01-01T12:00:00Z",
		46027 + 1.0/3:      "2026-01-05T08:00:00Z",
		46027.3333333333:   "2026-01-05T08:00:00Z", // as decimals
		46027.99999999999:  "2026-01-06T00:00:00Z",
		46027.000005787037: "2026-01-05T00:00:00.5Z",
	} {
		if got := (Cell{Number: serial}).Civil().Format(time.RFC3339Nano); got != want {
			t.Errorf("the date %v = %s, want %s", serial, got, want)
		}
	}
	// Every second of a day comes out as that second.
	for s := range 24 * 60 * 60 {
		want := time.Date(2026, 1, 5, 0, 0, s, 0, time.UTC)
		if got := (Cell{Number: 46027 + float64(s)/86400}).Civil(); !got.Equal(want) {
			t.Fatalf("second %d: %s, want %s", s, got, want)
		}
	}
}
