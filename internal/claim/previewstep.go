package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// previewMost is how many rows that would not go a preview names; those that would
// are as many as the limit says.
const previewMost = 200

// show is what the step pick keeps for a preview beside its report.
type show struct {
	key    string          // only the row of this key; "": all that are due
	drafts map[*held]Draft // of the rows that would go
}

// only leaves what concerns the row of a key.
func (p picked) only(key string) picked {
	other := func(c candidate) bool { return c.key != key }
	p.candidates = slices.DeleteFunc(p.candidates, other)
	p.busy = slices.DeleteFunc(p.busy, other)
	p.hidden = slices.DeleteFunc(p.hidden, other)
	p.faults = slices.DeleteFunc(p.faults, func(f fault) bool { return f.key != key })
	return p
}

// Preview makes the first step of a dry run and answers all that it found.
func (w *Worker) Preview(ctx context.Context, job *Job, r PreviewRequest) (Preview, error) {
	p := newPass(w, job, Order{Target: r.Target, Limit: r.Limit, Few: r.Limit, DryRun: true})
	p.log = w.Log.With("job", job.Name)
	p.show = &show{key: strings.TrimSpace(r.Key), drafts: map[*held]Draft{}}
	if job.Normal != nil {
		p.show.key = job.Normal(p.show.key)
	}
	if r.To != "" && p.show.key == "" {
		return Preview{}, &PreviewError{Fault: PreviewNoRow, Text: "a test needs the key of the row whose message it is: name one"}
	}
	if err := p.lookBack(ctx); err != nil {
		return Preview{}, p.noPreview(ctx, err)
	}
	for step := StepPick; step != ""; {
		var err error
		if step, err = p.pick(ctx); err != nil {
			return Preview{}, p.noPreview(ctx, err)
		}
	}
	v := p.preview(ctx)
	if p.show.key != "" {
		if err := p.previewKey(&v); err != nil {
			return Preview{}, err
		}
	}
	if r.To != "" {
		var err error
		if v.Test, err = p.sendTest(ctx, v.Rows[0], r.To); err != nil {
			return Preview{}, err
		}
	}
	v.cut(r.Parts)
	if p.Calls != nil {
		v.APICalls = p.Calls()
	}
	return v, nil
}

// noPreview says why the step pick ended early.
func (p *pass) noPreview(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &PreviewError{Fault: PreviewNoSheet, Text: err.Error(), Err: err}
	var end *endError
	if errors.As(err, &end) && end.cause == causeLedger {
		e.Fault = PreviewNoLedger
	}
	return e
}

// preview writes down what pick chose.
func (p *pass) preview(ctx context.Context) Preview {
	p.count()
	v := Preview{
		Job: p.job.Name, Spreadsheet: p.order.Target.Spreadsheet, Range: p.order.Target.Range, Tab: p.grid.Tab.Title, TabID: &p.grid.Tab.ID,
		At: p.grid.Began.In(p.fit.zone).Round(0), Rows: []PreviewRow{}, Doubts: p.doc.Doubts, Holds: p.holds(ctx),
	}
	by := p.passedBy
	v.Counts = PreviewCounts{
		Rows: by.rows, Due: p.doc.Counts.Due, WouldSend: len(p.show.drafts), Later: p.later,
		Skipped: p.doc.Counts.Skipped, Taken: p.doc.Counts.Taken,
		Handled: by.handled, Elsewhere: by.where, NotYet: by.notYet, Hidden: by.hidden,
	}
	if !by.next.IsZero() {
		v.NextDue = &by.next
	}
	for _, h := range p.chosen {
		row := PreviewRow{RowReport: *h.report, Advice: p.advice(h)}
		if d, ok := p.show.drafts[h]; ok {
			row.Message = messageOf(d)
		}
		v.Rows = append(v.Rows, row)
	}
	v.Detail = v.sentence(by)
	return v
}

// holds says why a run would send nothing now, whatever is due.
func (p *pass) holds(ctx context.Context) []string {
	holds := []string{}
	if until, why := p.closed(); why != "" {
		holds = append(holds, why+" until "+p.stamp(until))
	}
	if until, why := p.resting(ctx); why != "" {
		holds = append(holds, why+" until "+p.stamp(until)+`; --yes or "confirm": true goes on at once`)
	}
	if p.warning != "" {
		holds = append(holds, p.warning)
	}
	return holds
}

// advice says what to do about a row that would not go.
func (p *pass) advice(h *held) string {
	switch {
	case h.doubtful:
		i := slices.IndexFunc(p.doc.Doubts, func(d Doubt) bool { return d.Key == h.Key && d.Row == h.Row })
		return p.doc.Doubts[i].Advice
	case h.report.Outcome == Taken:
		return "nothing: the run that has it will say what became of it"
	case h.report.Reason == hiddenReason:
		return "show the row, or set skip_hidden: false"
	case h.report.Outcome == Skipped:
		return "mend the row; the next run takes it up"
	}
	return ""
}

func messageOf(d Draft) *PreviewMessage {
	return &PreviewMessage{
		To: d.To, Cc: d.Cc, Bcc: d.Bcc, ReplyTo: d.ReplyTo, Subject: d.Subject, Text: d.Text, HTML: d.HTML, Unsubscribe: d.Unsubscribe,
	}
}

// sentence sums a preview up.
func (v *Preview) sentence(by passedBy) string {
	c := v.Counts
	s := fmt.Sprintf("%d of %d due rows would be sent now", c.WouldSend, c.Due)
	if len(v.Holds) > 0 {
		s = fmt.Sprintf("nothing would be sent now: %s. Without that it would be %d of %d due rows", v.Holds[0], c.WouldSend, c.Due)
	}
	if c.Later > 0 {
		s += fmt.Sprintf("; the limit leaves %d to later runs", c.Later)
	}
	if c.Due == 0 {
		s += "; " + by.String()
	}
	return s
}

// previewKey leaves one row in a preview, with its message whether it is due or not.
func (p *pass) previewKey(v *Preview) error {
	key := p.show.key
	rows := p.fit.rowsByKey(p.grid.Rows)[key]
	switch {
	case len(rows) == 0:
		return &PreviewError{Fault: PreviewNoRow, Text: fmt.Sprintf("no row of the tab %q has the key %q: compare it with the key column", p.grid.Tab.Title, key)}
	case len(rows) > 1:
		return &PreviewError{Fault: PreviewRowFault, Text: fmt.Sprintf("the key %q is repeated (rows %s): give each row a key of its own", key, joinRows(rows))}
	case len(v.Rows) == 0:
		row := rows[0]
		c := candidate{row: row, key: key, text: row.Cell(p.fit.cols.Status).Shown}
		v.Rows = []PreviewRow{{RowReport: *p.add(c, "", p.standing(c)).report}}
	}
	row := &v.Rows[0]
	if row.Message == nil {
		d, _, err := p.compose(MessageKey{Book: p.book(), Key: key}, rows[0])
		if err != nil {
			row.Reason = cmp.Or(row.Reason, err.Error())
			row.Advice = cmp.Or(row.Advice, "mend the row")
		} else {
			row.Message, row.Subject = messageOf(d), d.Subject
		}
	}
	v.Detail = fmt.Sprintf("row %d would be sent now", row.Row)
	if row.Outcome != Would {
		v.Detail = fmt.Sprintf("row %d would not be sent now: %s", row.Row, row.Reason)
	} else if len(v.Holds) > 0 {
		v.Detail = fmt.Sprintf("row %d is due, but nothing would be sent now: %s", row.Row, v.Holds[0])
	}
	return nil
}

// standing says why a row is not due.
func (p *pass) standing(c candidate) string {
	c.status = ParseStatus(c.text)
	switch c.status.Kind {
	case StatusSent, StatusGaveUp, StatusRejected, StatusUnknown, StatusForeign:
		return fmt.Sprintf("its status reads %q", c.text)
	case StatusEmpty, StatusFailed, StatusResend, StatusSending:
	}
	ready, err := p.fit.isDue(&c, p.Now())
	switch {
	case err != nil:
		return err.Error()
	case !c.passes:
		return "it does not pass where"
	case !ready && c.due.IsZero():
		return "its due cell is blank"
	case !ready:
		return "it is not due before " + c.due.In(p.fit.zone).Format(time.RFC3339)
	}
	return "it failed before, and the time of its next try has not come"
}

// cut leaves out what would make an answer too long: rows that would not go beyond
// previewMost, and the parts of messages beyond so many bytes (0: none).
func (v *Preview) cut(parts int) {
	others, used := 0, 0
	v.Rows = slices.DeleteFunc(v.Rows, func(r PreviewRow) bool {
		if r.Message == nil {
			others++
		}
		return r.Message == nil && others > previewMost
	})
	v.LeftOut.Rows = max(0, others-previewMost)
	v.Doubts = v.Doubts[:min(len(v.Doubts), previewMost)]
	for _, r := range v.Rows {
		m := r.Message
		if m == nil {
			continue
		}
		if size := len(m.Text) + len(m.HTML); parts == 0 || used+size <= parts {
			used += size
			continue
		}
		m.Text, m.HTML, m.PartsOut = "", "", true
		v.LeftOut.Parts++
	}
}
