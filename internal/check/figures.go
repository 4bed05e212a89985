package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Names of the checks that judge figures.
const (
	RoundTrip = "round trip"
	ClockName = "clock"
	DueRows   = "due rows"
	Schedule  = "overlaps"
)

// Round judges how long Google takes for a read and a write against the age that a
// claim may have.
func (r *Report) Round(job string, took, wait time.Duration) {
	most := claim.AgeLimit(wait)
	found := fmt.Sprintf("a read and a write took %s; a claim may take %s under wait: %s", took.Round(time.Millisecond), most, wait)
	todo := "set a longer wait (15s allows 5s), a smaller range, or look at the network"
	switch {
	case took > most:
		r.Fail(RoundTrip, job, found+", so that rows would be given back unsent", todo)
	case took > most/2:
		r.Warn(RoundTrip, job, found, todo)
	default:
		r.Ok(RoundTrip, job, found)
	}
}

// The differences of clocks that matter. Google refuses a login at five minutes.
const (
	clockWarn = 5 * time.Second
	clockFail = 5 * time.Minute
)

// Clock judges this machine's clock by the time that another one named, to the second,
// in an answer that took so long at most.
func (r *Report) Clock(ours, theirs time.Time, whose string, took time.Duration) {
	off := ours.Sub(theirs)
	word := "fast"
	slack := took + time.Second
	if off < 0 {
		off, word, slack = -off, "slow", 0
	}
	todo := "set the clock of this machine, best by NTP: it decides which rows are due"
	found := fmt.Sprintf("this machine's clock is %s %s by that of %s", off.Round(time.Second), word, whose)
	switch {
	case off > clockFail+slack:
		r.Fail(ClockName, "", found, todo)
	case off > clockWarn+slack:
		r.Warn(ClockName, "", found, todo)
	default:
		r.Ok(ClockName, "", "agrees with that of "+whose)
	}
}

// Due judges what a dry run over all rows of a job showed. ran says whether the job has
// claimed rows before.
func (r *Report) Due(job *claim.Job, doc claim.Document, ran bool) {
	if doc.Outcome != claim.RunDry {
		r.Fail(DueRows, job.Name, doc.Detail, "")
		return
	}
	due := 0
	var faults []string
	for _, row := range doc.Rows {
		switch row.Outcome {
		case claim.Would:
			due++
		case claim.Skipped:
			if doubted(doc, row) {
				continue // the doubt says more
			}
			faults = append(faults, fmt.Sprintf("row %d: %s", row.Row, row.Reason))
		case claim.Sent, claim.Failed, claim.GaveUp, claim.Rejected, claim.Unknown, claim.Taken, claim.Released:
		}
	}
	would, cannot := "would be sent", "cannot be mailed as written"
	if job.ClaimOnly {
		would, cannot = "would be handed out", "cannot be handed out as written"
	}
	switch {
	case !ran && job.FirstRunLimit > 0 && due > job.FirstRunLimit:
		r.Warn(DueRows, job.Name, fmt.Sprintf("%s %s now, more than first_run_limit (%d): the first run refuses to start", Count(due, "row"), would, job.FirstRunLimit),
			"look at them with run --dry-run, then confirm with --yes, or set max_lateness to leave old rows alone")
	case due == 0 && doc.Counts.Due == 0:
		_, why, _ := strings.Cut(doc.Detail, "; nothing was touched")
		r.Ok(DueRows, job.Name, strings.TrimPrefix("no row is due now"+why, "; "))
	default:
		r.Ok(DueRows, job.Name, fmt.Sprintf("%s %s now, at most %d in one run", Count(due, "row"), would, job.Limit))
	}
	if len(faults) > 0 {
		const most = 3
		text := strings.Join(faults[:min(most, len(faults))], "; ")
		if more := len(faults) - most; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		r.Warn("row faults", job.Name, Count(len(faults), "due row")+" "+cannot+": "+text, "mend these rows; the others are not affected")
	}
}

// doubted reports whether a doubt is about a row.
func doubted(doc claim.Document, row claim.RowReport) bool {
	return slices.ContainsFunc(doc.Doubts, func(d claim.Doubt) bool { return d.Row == row.Row })
}

// Pace judges how the runs of a job fit into the time between their starts.
func (r *Report) Pace(job string, o claim.Overlap) {
	switch o.Verdict() {
	case claim.OverlapRegular, claim.OverlapAlways:
		r.Warn(Schedule, job, o.Sentence(), "a run that meets another sends nothing, and says so")
	case claim.OverlapNone, claim.OverlapUnknown:
		if o.Foreign > 0 {
			r.Warn(Schedule, job, o.Sentence(), "let one tool alone mail these rows")
			return
		}
		r.Ok(Schedule, job, o.Sentence())
	}
}

// Count writes a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
