package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// period is a stretch of time that can be looked at.
type period struct {
	Name  string // in the address
	Words string
	Span  time.Duration
	Here  bool
}

// periods are those to choose from. The ledger's judgement looks at the longest.
var periods = []period{
	{Name: "hour", Words: "1 hour", Span: time.Hour},
	{Name: "day", Words: "24 hours", Span: 24 * time.Hour},
	{Name: "week", Words: "7 days", Span: 7 * 24 * time.Hour},
}

// overlapView is how the runs of the jobs lay in time.
type overlapView struct {
	Periods []period
	Jobs    []jobOverlap
}

// jobOverlap is one job's part of it.
type jobOverlap struct {
	Job string
	claim.Overlap
	Label label
	Chart chart
	Met   []meeting            // the newest overlaps
	Other []claim.ForeignClaim // the newest claims of other tools
}

// meeting is a run that began before an earlier one had ended.
type meeting struct {
	Span   bar
	Behind bar // the earlier run that ended last
}

// Percent is the share of the interval that a run takes, in percent.
func (j jobOverlap) Percent() string {
	if percent := j.Ratio() * 100; percent >= 1 {
		return fmt.Sprintf("%.0f", percent)
	}
	return "under 1"
}

// Fill is that share on a scale on which the whole interval is 500.
func (j jobOverlap) Fill() int { return min(1000, int(j.Ratio()*500+0.5)) }

// overlapLabel is a judgement as it is shown.
func overlapLabel(v claim.OverlapVerdict) label {
	switch v {
	case claim.OverlapNone:
		return label{"runs have room", ""}
	case claim.OverlapRegular:
		return label{"runs overlap regularly", "ask"}
	case claim.OverlapAlways:
		return label{"runs always overlap", "ask"}
	case claim.OverlapUnknown:
	}
	return label{"not known yet", "off"}
}

// getOverlap shows the runs of each job in time.
func (p *Page) getOverlap(v *visit) error {
	if !v.offers("/overlap") {
		return notFound()
	}
	view := overlapView{Periods: slices.Clone(periods)}
	at := max(0, slices.IndexFunc(periods, func(o period) bool { return o.Name == v.r.URL.Query().Get("last") }))
	if !v.r.URL.Query().Has("last") {
		at = 1
	}
	view.Periods[at].Here = true
	since := p.now().Add(-view.Periods[at].Span)
	for _, j := range v.who.jobs {
		h, err := p.cfg.History(v.r.Context(), j.Name, since)
		if err != nil {
			return ledgerFault(err)
		}
		o, err := p.cfg.Overlap(v.r.Context(), j.Name)
		if err != nil {
			return ledgerFault(err)
		}
		view.Jobs = append(view.Jobs, viewOverlap(j.Name, h, o))
	}
	return v.show(http.StatusOK, "overlap", frame{Title: "Overlap", Data: view})
}

// newest is how many overlaps, and claims of others, are listed for a job.
const newest = 10

func viewOverlap(job string, h claim.History, o claim.Overlap) jobOverlap {
	v := jobOverlap{Job: job, Overlap: o, Label: overlapLabel(o.Verdict()), Chart: draw(job, h)}
	for _, b := range v.Chart.Bars {
		if b.behind >= 0 {
			v.Met = append(v.Met, meeting{b, v.Chart.Bars[b.behind]})
		}
	}
	v.Met = lastOf(v.Met)
	v.Other = lastOf(h.Foreign)
	return v
}

// lastOf answers the newest of a list, newest first.
func lastOf[T any](all []T) []T {
	some := slices.Clone(all[max(0, len(all)-newest):])
	slices.Reverse(some)
	return some
}

// The chart's measures, in units of its picture. It is stretched to the width of the
// page, so all that counts across is a share of 1000.
const (
	chartWide  = 1000
	laneHigh   = 16
	barHigh    = 12
	leastWide  = 5   // so that a short run is seen
	mostLanes  = 8   // further ones share the last
	mostDrawn  = 800 // bars of a chart; the newest
	foreignTop = 4   // below the lanes
)

// chart is a picture of runs: each in the first lane that was free when it began, so
// that a second lane is an overlap.
type chart struct {
	From, Until time.Time
	Bars        []bar
	Lanes       int
	Marks       []int // across, of claims of other tools
	LeftOut     int   // older runs that are not drawn
	High        int
	MarkTop     int
}

// bar is one run of it.
type bar struct {
	claim.Span
	Path       string
	X, Y, Wide int
	Late       bool // an earlier run had not ended
	behind     int  // which one; -1: none
}

// Took is how long the run took, or has its rows already.
func (b bar) Took() time.Duration { return b.Until.Sub(b.Began) }

// begin is where a chart of these runs begins: a little before the first of them, so that
// no empty past takes the room.
func begin(h claim.History, runs []claim.Span) time.Time {
	if len(runs) == 0 {
		return h.Since
	}
	first := runs[0].Began
	if len(h.Foreign) > 0 && len(runs) == len(h.Runs) && h.Foreign[0].At.Before(first) {
		first = h.Foreign[0].At
	}
	const margin = 50 // of the whole
	if from := first.Add(-h.Until.Sub(first) / margin); from.After(h.Since) {
		return from
	}
	return h.Since
}

// draw lays the runs of a history out.
func draw(job string, h claim.History) chart {
	c := chart{Until: h.Until, LeftOut: max(0, len(h.Runs)-mostDrawn)}
	runs := h.Runs[c.LeftOut:]
	c.From = begin(h, runs)
	whole := max(c.Until.Sub(c.From), time.Second)
	across := func(t time.Time) int { return min(chartWide, max(0, int(chartWide*t.Sub(c.From)/whole))) }
	var lanes []time.Time // until when each is taken
	last := -1            // the bar that ends last
	for i, r := range runs {
		lane := slices.IndexFunc(lanes, func(until time.Time) bool { return !r.Began.Before(until) })
		switch {
		case lane >= 0:
		case len(lanes) < mostLanes:
			lanes, lane = append(lanes, time.Time{}), len(lanes)
		default:
			lane = mostLanes - 1
		}
		if r.Until.After(lanes[lane]) {
			lanes[lane] = r.Until
		}
		x := min(across(r.Began), chartWide-leastWide)
		b := bar{
			Span: r, X: x, Y: lane*laneHigh + (laneHigh-barHigh)/2, Wide: max(leastWide, across(r.Until)-x), behind: -1,
			Path: "/runs/" + url.PathEscape(job) + "/" + url.PathEscape(r.Run),
		}
		if last >= 0 && r.Began.Before(c.Bars[last].Until) {
			b.Late, b.behind = true, last
		}
		c.Bars = append(c.Bars, b)
		if last < 0 || r.Until.After(c.Bars[last].Until) {
			last = i
		}
	}
	for _, f := range h.Foreign {
		if f.At.Before(c.From) {
			continue
		}
		c.Marks = append(c.Marks, min(across(f.At), chartWide-leastWide))
	}
	c.Lanes = max(1, len(lanes))
	c.MarkTop = c.Lanes*laneHigh + foreignTop
	c.High = c.MarkTop
	if len(c.Marks) > 0 {
		c.High += laneHigh
	}
	return c
}
