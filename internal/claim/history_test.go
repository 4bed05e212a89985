package claim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// every is a history of n runs that claimed, one every interval, each taking as long.
func every(interval, takes time.Duration, n int) claim.History {
	began := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	h := claim.History{Since: began, Until: began.Add(time.Duration(n) * interval)}
	for range n {
		h.Runs = append(h.Runs, claim.Span{Began: began, Until: began.Add(takes), Ended: true, Claimed: true})
		began = began.Add(interval)
	}
	return h
}

func TestOverlapOfAHistory(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	outlier := every(5*minute, minute, 100)
	for i := range 5 {
		outlier.Runs[i*20].Until = outlier.Runs[i*20].Began.Add(4 * minute)
	}
	idle := every(5*minute, minute, 10)
	for i := range idle.Runs {
		idle.Runs[i].Claimed = false
	}
	three := every(5*minute, minute, 30) // three starts at once, each time
	for i := range three.Runs {
		three.Runs[i] = three.Runs[i-i%3]
	}
	foreign := every(5*minute, minute, 10)
	foreign.Foreign = []claim.ForeignClaim{{Key: "B-1"}, {Key: "B-2"}}
	running := every(5*minute, minute, 3)
	running.Runs[1].Until, running.Runs[1].Ended, running.Runs[1].Claimed = running.Runs[1].Began.Add(time.Hour), false, false

	tests := map[string]struct {
		history    claim.History
		interval   time.Duration
		verdict    claim.OverlapVerdict
		runTime    time.Duration
		seen       time.Duration
		overlapped int
		says       string
	}{
		"room":            {every(5*minute, minute, 10), 5 * minute, claim.OverlapNone, minute, 5 * minute, 0, "end within 1m and one starts every 5m: runs have room"},
		"half is room":    {every(5*minute, 150*time.Second, 10), 5 * minute, claim.OverlapNone, 150 * time.Second, 5 * minute, 0, "runs have room"},
		"over half":       {every(5*minute, 3*minute, 10), 5 * minute, claim.OverlapRegular, 3 * minute, 5 * minute, 0, "overlap regularly; start the job every 6m or less often"},
		"over all":        {every(5*minute, 6*minute, 10), 5 * minute, claim.OverlapAlways, 6 * minute, 5 * minute, 9, "always overlap; start the job every 12m or less often, or lower its limit; 9 of 10 runs since 2026-11-24 began"},
		"no schedule":     {every(7*minute, 6*minute, 10), 0, claim.OverlapRegular, 6 * minute, 7 * minute, 0, "one starts every 7m"},
		"5 of 100 slow":   {outlier, 5 * minute, claim.OverlapNone, minute, 5 * minute, 0, "95 of 100 runs end within 1m"},
		"three at once":   {three, 0, claim.OverlapNone, minute, 15 * minute, 20, "20 of 30 runs"},
		"nothing claimed": {idle, 5 * minute, claim.OverlapUnknown, 0, 5 * minute, 0, "no run has claimed a row since 2026-11-24"},
		"one run":         {every(minute, minute, 1), 0, claim.OverlapUnknown, minute, 0, 0, "is not known yet"},
		"no run":          {claim.History{}, 0, claim.OverlapUnknown, 0, 0, 0, "no run has claimed"},
		"other tools":     {foreign, 5 * minute, claim.OverlapNone, minute, 5 * minute, 0, "other tools claimed 2 rows"},
		"one goes on":     {running, 5 * minute, claim.OverlapNone, minute, 5 * minute, 1, "1 of 3 runs"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := tt.history.Overlap(tt.interval)
			if o.Verdict() != tt.verdict || o.RunTime != tt.runTime || o.Interval != tt.seen || o.Overlapped != tt.overlapped {
				t.Errorf("%s: %+v, ratio %.2f", o.Verdict(), o, o.Ratio())
			}
			if !strings.Contains(o.Sentence(), tt.says) {
				t.Errorf("%q does not say %q", o.Sentence(), tt.says)
			}
		})
	}
}
