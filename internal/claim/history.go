package claim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// History is how the runs of a job lay in time, as the ledger remembers it.
type History struct {
	Since, Until time.Time      // the period; Until is when the ledger was asked
	Runs         []Span         // begun in it, oldest first
	Foreign      []ForeignClaim // first seen in it, oldest first
}

// Span is the time of one run.
type Span struct {
	Run     string
	Began   time.Time
	Until   time.Time // its end, or of a run that has not ended that of its lease
	Ended   bool
	Claimed bool // it ended and had claimed rows
}

// ForeignClaim is a row that another tool, or sheetclaim with another ledger,
// claimed while this job wanted it.
type ForeignClaim struct {
	At  time.Time
	Key string
}

// Standing is what a ledger holds at this moment, in numbers.
type Standing struct {
	Jobs   map[string]JobStanding // of jobs that have something open
	Alerts map[string]int         // not delivered yet, by route
}

// JobStanding is a job's part of it.
type JobStanding struct {
	Unknown int // messages of unknown fate that wait for a person
	Resend  int // messages that a person wants sent again and no run has taken yet
	Open    int // claims that have not ended
	Stuck   int // of those: claims of runs that no longer live, not settled yet
}

// OverlapVerdict says whether runs fit into the time between their starts.
type OverlapVerdict string

const (
	OverlapUnknown OverlapVerdict = "unknown" // too few runs to tell
	OverlapNone    OverlapVerdict = "fits"    // up to half of the interval
	OverlapRegular OverlapVerdict = "regular" // over half of it: a start that is a little late meets the next
	OverlapAlways  OverlapVerdict = "always"  // over all of it
)

// The shares of the interval from which runs overlap.
const (
	regularShare = 0.5
	alwaysShare  = 1.0
)

// Overlap is what a history says about runs that meet.
type Overlap struct {
	Since      time.Time
	Runs       int           // begun since then
	Overlapped int           // of those: begun before an earlier one had ended
	Foreign    int           // claims of other tools
	LastEnd    time.Time     // of the run that ended last; zero: none has
	RunTime    time.Duration // 95th percentile, of the runs that claimed rows; 0: none has
	Interval   time.Duration // between two starts; 0: unknown
}

// Overlap judges a history. The interval is that of the job's schedule; 0 takes
// what was seen.
func (h History) Overlap(interval time.Duration) Overlap {
	o := Overlap{Since: h.Since, Runs: len(h.Runs), Foreign: len(h.Foreign), Interval: interval}
	if interval <= 0 {
		o.Interval = h.interval()
	}
	var took []time.Duration
	var busy time.Time // until when an earlier run went on
	for _, r := range h.Runs {
		if r.Began.Before(busy) {
			o.Overlapped++
		}
		if r.Until.After(busy) {
			busy = r.Until
		}
		if r.Ended && r.Until.After(o.LastEnd) {
			o.LastEnd = r.Until
		}
		if r.Ended && r.Claimed {
			took = append(took, r.Until.Sub(r.Began))
		}
	}
	o.RunTime = percentile95(took)
	return o
}

// interval is the usual time between two starts, as it was seen; 0 when there were
// too few. Starts that come together count as one: how often they do is counted as
// overlaps.
func (h History) interval() time.Duration {
	const together, few = time.Second, 2
	var gaps []time.Duration
	for i := 1; i < len(h.Runs); i++ {
		if gap := h.Runs[i].Began.Sub(h.Runs[i-1].Began); gap >= together {
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) < few {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// percentile95 is the least of the values that 95 of 100 do not exceed (nearest
// rank); 0 of none.
func percentile95(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	const share = 0.95
	return ds[int(math.Ceil(share*float64(len(ds))))-1]
}

// Ratio is the share of the interval that a run takes; 0: unknown.
func (o Overlap) Ratio() float64 {
	if o.Interval <= 0 {
		return 0
	}
	return float64(o.RunTime) / float64(o.Interval)
}

// Verdict judges the ratio.
func (o Overlap) Verdict() OverlapVerdict {
	switch ratio := o.Ratio(); {
	case ratio == 0:
		return OverlapUnknown
	case ratio > alwaysShare:
		return OverlapAlways
	case ratio > regularShare:
		return OverlapRegular
	}
	return OverlapNone
}

// Sentence says what it means, and what to do about it.
func (o Overlap) Sentence() string {
	var s strings.Builder
	s.WriteString(o.meaning())
	if o.Overlapped > 0 {
		fmt.Fprintf(&s, "; %d of %s since %s began before an earlier one had ended", o.Overlapped, counted(o.Runs, "run"), o.Since.Format(time.DateOnly))
	}
	if o.Foreign > 0 {
		fmt.Fprintf(&s, "; other tools claimed %s that this job wanted", counted(o.Foreign, "row"))
	}
	return s.String()
}

func (o Overlap) meaning() string {
	times := fmt.Sprintf("95 of 100 runs end within %s and one starts every %s", rough(o.RunTime), rough(o.Interval))
	advice := fmt.Sprintf("start the job every %s or less often, or lower its limit", roomFor(o.RunTime))
	switch o.Verdict() {
	case OverlapNone:
		return times + ": runs have room"
	case OverlapRegular:
		return times + ": that is over half of the interval, so runs overlap regularly; " + advice
	case OverlapAlways:
		return times + ": that is over the whole interval, so runs always overlap; " + advice
	case OverlapUnknown:
	}
	if o.RunTime == 0 {
		return fmt.Sprintf("no run has claimed a row since %s, so nothing can be said about overlaps yet", o.Since.Format(time.DateOnly))
	}
	return fmt.Sprintf("95 of 100 runs end within %s; how often one starts is not known yet", rough(o.RunTime))
}

// roomFor is an interval of whole minutes into which a run fits twice.
func roomFor(run time.Duration) string {
	twice := 2 * run
	return rough(max(time.Minute, (twice + time.Minute - 1).Truncate(time.Minute)))
}

// rough is a duration as configurations have it, without what nobody reads.
func rough(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// counted writes a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
