package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// finish ends the document: counts, outcome, one sentence, and the alert that goes
// with it.
func (p *pass) finish(ctx context.Context, err error) {
	if err == nil {
		err = p.ending
	}
	p.count()
	d := &p.doc
	d.State, d.Step = RunFinished, ""
	d.Outcome = p.runOutcome(err)
	if d.Detail == "" {
		d.Detail = p.sentence(err)
	}
	if p.Calls != nil {
		d.APICalls = p.Calls()
	}
	d.DueSince = p.dueSince()
	now := p.Now()
	d.FinishedAt = &now
	p.queue(ctx, p.endAlerts(err)...)
	p.log.Info("run finished", "outcome", d.Outcome, "detail", d.Detail, "due", d.Counts.Due, "sent", d.Counts.Sent,
		"reads", d.APICalls.Reads, "writes", d.APICalls.Writes)
}

// count turns the rows' reports into the document's rows and counts. A row without
// an outcome was left as it was.
func (p *pass) count() {
	p.doc.Rows = []RowReport{}
	slices.SortStableFunc(p.chosen, func(a, b *held) int { return a.report.Row - b.report.Row })
	for _, h := range p.chosen {
		if h.report.Outcome != "" || h.State == HandedOut {
			p.doc.Rows = append(p.doc.Rows, *h.report)
		}
	}
	p.doc.Counts.tally(p.doc.Rows)
}

// tally counts rows by what became of them.
func (c *Counts) tally(rows []RowReport) {
	*c = Counts{Due: c.Due, Claimed: c.Claimed, Confirmed: c.Confirmed}
	for _, r := range rows {
		switch r.Outcome {
		case Sent:
			c.Sent++
		case Failed:
			c.Failed++
		case GaveUp:
			c.GaveUp++
		case Rejected:
			c.Rejected++
		case Unknown:
			c.Unknown++
		case Taken:
			c.Taken++
		case Released:
			c.Released++
		case Skipped:
			c.Skipped++
		case Would:
		}
	}
}

// dueSince is when the first of the rows fell due that later runs have to send. Rows
// that were skipped wait for a person.
func (p *pass) dueSince() time.Time {
	over := map[string]bool{}
	for _, h := range p.chosen {
		over[h.Key] = h.report.Outcome.Final() || h.report.Outcome == Skipped
	}
	var since time.Time
	for _, c := range p.due {
		if !over[c.key] && !c.due.IsZero() && (since.IsZero() || c.due.Before(since)) {
			since = c.due
		}
	}
	return since
}

// runOutcome takes the first that fits.
func (p *pass) runOutcome(err error) RunOutcome {
	var end *endError
	switch {
	case errors.As(err, &end):
		return end.outcome
	case err != nil:
		return RunFailed
	case p.order.DryRun:
		return RunDry
	}
	return p.doc.Counts.outcome()
}

// outcome takes the first that fits a run that went through all its steps.
func (c Counts) outcome() RunOutcome {
	switch {
	case c.Failed+c.GaveUp+c.Rejected+c.Unknown+c.Skipped > 0:
		return RunPartial
	case c.Sent > 0:
		return RunSent
	case c.Taken > 0:
		return RunOverlapped
	case c.Released > 0:
		return RunPartial
	}
	return RunNothingDue
}

// sentence says in one line what the run did.
func (p *pass) sentence(err error) string {
	c := p.doc.Counts
	switch {
	case err != nil && c.Sent > 0:
		return fmt.Sprintf("%d of %d due rows sent, then: %v", c.Sent, c.Due, err)
	case err != nil:
		return err.Error()
	case p.order.DryRun:
		return fmt.Sprintf("%d of %d due rows would be sent; nothing was touched%s", len(p.doc.Rows)-c.Skipped-c.Taken, c.Due, p.afterthought())
	case p.doc.Outcome == RunNothingDue:
		return "no row is due: " + p.passedBy.String()
	case p.doc.Outcome == RunOverlapped:
		return fmt.Sprintf("%d due rows, all of them with other runs; nothing was sent by this one", c.Taken)
	}
	return c.String()
}

// String says in words what became of the rows.
func (c Counts) String() string {
	var s strings.Builder
	s.WriteString(fmt.Sprintf("%d of %d due rows sent", c.Sent, c.Due))
	for _, part := range []struct {
		n    int
		word string
	}{
		{c.Failed, "failed"},
		{c.GaveUp, "gave up"},
		{c.Rejected, "rejected"},
		{c.Unknown, "unknown"},
		{c.Skipped, "skipped"},
		{c.Taken, "taken by other runs"},
		{c.Released, "given back"},
	} {
		if part.n > 0 {
			s.WriteString(fmt.Sprintf(", %d %s", part.n, part.word))
		}
	}
	return s.String()
}

// afterthought is what a dry run adds to its sentence: that a run would be refused, or
// why there is nothing to do.
func (p *pass) afterthought() string {
	switch {
	case p.warning != "":
		return "; " + p.warning
	case p.doc.Counts.Due == 0:
		return "; " + p.passedBy.String()
	}
	return ""
}

// takenRows names the rows that other runs had.
func (p *pass) takenRows() []AlertRow {
	var rows []AlertRow
	for _, h := range p.chosen {
		if h.report.Outcome == Taken {
			rows = append(rows, AlertRow{Row: h.Row, Key: h.Key})
		}
	}
	return rows
}

// endAlerts are the alerts that a run's end calls for. Doubts that pick reported,
// and those that went out with a row's outcome, are not repeated.
func (p *pass) endAlerts(err error) []Report {
	if p.order.DryRun {
		return nil
	}
	var rs []Report
	var rows []AlertRow
	var first Doubt
	for _, d := range p.doc.Doubts[min(p.reported, len(p.doc.Doubts)):] {
		if d.Kind == SMTPReplyLost || d.Kind == MarkUnverified || d.Kind == LedgerWentBack {
			continue
		}
		if first.Kind == "" {
			first = d
		}
		rows = append(rows, AlertRow{Row: d.Row, Key: d.Key, Detail: string(d.Kind) + ": " + d.Detail})
	}
	if first.Kind != "" {
		rs = append(rs, Report{Alert: p.alert(AlertDoubt, string(first.Kind), rows, first.Detail, p.doc.Detail, first.Advice)})
	}
	var end *endError
	errors.As(err, &end)
	switch {
	case p.doc.Outcome == RunOverlapped:
		rs = append(rs, Report{Alert: p.alert(AlertOverlap, "overlap", p.takenRows(), p.doc.Detail,
			"this run sent nothing", "if this repeats, the job runs more often than a run takes: widen the schedule, or let only one automation start it")})
	case end == nil, end.cause == causeAsked, p.pausing != "":
	case end.cause == causeFirst:
		rs = append(rs, Report{Alert: p.alert(AlertRunFailed, causeFirst, nil, end.detail, "nothing was touched", "the job sends nothing until its first run is confirmed")})
	case end.outcome == RunFailed:
		rs = append(rs, Report{Alert: p.alert(AlertRunFailed, end.cause, nil, end.detail, "nothing was sent and nothing was written", "do what the message says, then run the job again")})
	case len(p.doc.Doubts) <= p.reported:
		rs = append(rs, Report{Alert: p.alert(AlertRunFailed, end.cause, nil, p.doc.Detail, "what was sent is marked, the rest was given back", "look at the run's detail; the next run goes on")})
	}
	return rs
}
