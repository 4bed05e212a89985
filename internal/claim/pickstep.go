package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// pick reads the sheet and chooses rows that are due and that the ledger gives.
func (p *pass) pick(ctx context.Context) (Step, error) {
	p.tries++
	p.chosen, p.held, p.young = nil, nil, false
	p.later, p.doc.Counts, p.doc.Rows, p.doc.Doubts = 0, Counts{}, []RowReport{}, []Doubt{}
	if err := p.read(ctx); err != nil {
		return "", p.failed(readCause(err), err)
	}
	// A window by the spreadsheet's clock can be asked only now; any may have closed meanwhile.
	if until, why := p.closed(); why != "" && p.show == nil {
		p.notBefore(until, why)
		return "", nil
	}
	if err := p.countMissed(ctx, p.fit.zone); err != nil {
		return "", err
	}
	p.fit.left = p.downtimes
	wishes, err := p.hear(ctx, p.grid)
	if err != nil {
		return "", p.failed(causeLedger, fmt.Errorf("the ledger could not be read, so nothing was touched: %w", err))
	}
	found := p.fit.pick(p.grid, p.Now(), wishes)
	p.passedBy, p.due = found.passedBy, slices.Concat(found.candidates, found.busy)
	if p.show != nil && p.show.key != "" {
		found = found.only(p.show.key)
	}
	if err := p.firstRun(ctx, len(found.candidates)); err != nil {
		return "", err
	}
	p.announce(ctx, len(found.candidates))
	var keys []string
	for _, c := range slices.Concat(found.candidates, found.busy) {
		keys = append(keys, c.key)
	}
	known, err := p.Ledger.Lookup(ctx, p.book(), keys)
	if err != nil {
		return "", p.failed(causeLedger, fmt.Errorf("the ledger could not be read, so nothing was touched: %w", err))
	}
	if err := p.strays(ctx, found.busy, known); err != nil {
		return "", err
	}
	for _, c := range found.busy {
		p.add(c, Taken, "the cell reads "+c.text)
	}
	faults := p.choose(found, known)
	if p.young && !p.reread {
		p.reread, p.tries = true, p.tries-1
		if err := p.Wait(ctx, readLag); err != nil {
			return "", p.askedToStop(ctx)
		}
		return StepPick, nil
	}
	p.report(ctx, faults)
	if p.order.DryRun || len(p.held) == 0 {
		return "", nil
	}
	return StepClaim, nil
}

// read fetches the whole range and fits the job to its header.
func (p *pass) read(ctx context.Context) error {
	ask := Ask{Keep: p.columns}
	if p.grid != nil {
		ask.Tab = &p.grid.Tab
		if p.order.Pickup != nil {
			ask.Keep = nil // what is read after a claim may be handed out, with all its cells
		}
	}
	g, err := p.Sheet.Read(ctx, p.order.Target, ask)
	if err != nil {
		return err
	}
	f, err := fit(p.job, g)
	if err != nil {
		return err // what was fitted before stays, so that rows can be given back
	}
	p.log.Debug("times are read", "zone", f.zone.String(), "spreadsheet_zone", g.Zone)
	f.left = p.downtimes
	p.grid, p.fit = g, f
	p.doc.Spreadsheet, p.doc.Tab, p.doc.TabID, p.doc.Range = g.Spreadsheet, g.Tab.Title, &g.Tab.ID, p.order.Target.Range
	return nil
}

// columns answers the columns that the job uses of a header. One that it does not fit
// is refused a moment later, with its faults.
func (p *pass) columns(header []string) []int {
	b, err := p.job.Bind(header, p.job.Zone)
	if err != nil {
		return []int{}
	}
	return b.Used()
}

// readCause tells a sheet that could not be read from a job that does not fit it.
func readCause(err error) string {
	var sheet *SheetError
	if errors.As(err, &sheet) && !sheet.Setup {
		return causeSheet
	}
	return causeSetup
}

// ErrFormulas says that a column that is to be written has formulas.
var ErrFormulas = errors.New("contains formulas")

// Fits answers where the job's columns are in a read, or why it cannot work with that
// sheet. After ErrFormulas they are known all the same.
func (j *Job) Fits(g *Grid) (Columns, error) {
	f, err := fit(j, g)
	if f == nil {
		return Columns{}, err
	}
	return f.cols, err
}

// fit binds a job to the header of a read, and refuses a sheet that it must not
// write to.
func fit(job *Job, g *Grid) (*fitted, error) {
	zone := job.Zone
	if zone == nil {
		var err error
		if zone, err = LoadZone(g.Zone); err != nil {
			return nil, err
		}
	}
	b, err := job.Bind(g.HeaderTexts(), zone)
	if err != nil {
		return nil, fmt.Errorf("tab %q: %w", g.Tab.Title, err)
	}
	f := &fitted{Binding: b, job: job, cols: b.Columns(), zone: zone}
	if row, w := formulaIn(g, f.cols); row > 0 {
		return f, fmt.Errorf("tab %q: the %s column %w (%q, row %d), and sheetclaim would overwrite them: map a column of its own",
			g.Tab.Title, w.name, ErrFormulas, g.Header[w.index].Shown, row)
	}
	return f, nil
}

// firstRun refuses to mail a large number of old rows by surprise.
func (p *pass) firstRun(ctx context.Context, due int) error {
	limit := p.job.FirstRunLimit
	if limit == 0 || due <= limit || p.order.Confirmed {
		return nil
	}
	if p.order.Few > 0 && p.order.Few <= limit {
		return nil // whoever names a small number will not be surprised
	}
	ran, err := p.Ledger.Ran(ctx, p.job.Name)
	if err != nil {
		return p.failed(causeLedger, err)
	}
	if ran {
		return nil
	}
	if p.order.DryRun {
		p.warning = fmt.Sprintf("%d rows are due, and the first run asks for --yes or \"confirm\": true when more than %d are", due, limit)
		return nil
	}
	p.doc.Counts.Due = due
	return &endError{outcome: RunStopped, cause: causeFirst, detail: fmt.Sprintf("%d rows are due, and this job has never run: more than first_run_limit (%d) are not mailed by surprise. Look at a dry run, then confirm with --yes or \"confirm\": true, or name a limit", due, limit)}
}

// hiddenReason is why a dry run leaves a row that is due.
const hiddenReason = "the row is hidden, and the job has skip_hidden: true"

// choose asks the ledger's knowledge and the message itself about each candidate,
// until the limit is reached: rows that the ledger refuses do not use it up.
func (p *pass) choose(found picked, known map[string]Message) []fault {
	faults := found.faults
	p.doc.Counts.Due += len(found.faults) + len(found.busy)
	for _, f := range found.faults {
		row, _ := rowAt(p.grid, f.row)
		p.add(candidate{row: row, key: f.key, text: row.Cell(p.fit.cols.Status).Shown}, Skipped, f.text)
	}
	if p.order.DryRun {
		for _, c := range found.hidden {
			p.add(c, Skipped, hiddenReason)
		}
	}
	taken := 0
	for _, c := range found.candidates {
		m, exists := known[c.key]
		ch := choose(p.job, c, m, exists, p.Now())
		switch {
		case ch.taken:
			p.add(c, Taken, "the ledger says "+string(m.State)+" by run "+m.Run.ID)
		case ch.doubt != "":
			p.young = p.young || p.Now().Sub(m.SettledAt) < youngMark
			p.doubt(ch.doubt, p.add(c, Skipped, ch.why), ch.why)
		case ch.why != "":
			p.add(c, Skipped, ch.why)
			faults = append(faults, fault{c.row.Number, c.key, ch.why})
		case !ch.take:
			continue // its time to be tried again has not come
		case taken >= p.order.Limit:
			p.later++ // it stays due for the next run
		default:
			d, err := p.tryDraft(c)
			if err != nil {
				p.add(c, Skipped, err.Error())
				faults = append(faults, fault{c.row.Number, c.key, err.Error()})
				break
			}
			p.hold(c, ch, d)
			taken++
		}
		p.doc.Counts.Due++
	}
	return faults
}

// tryDraft renders a row's message early, so that its faults are found before
// anything is touched.
func (p *pass) tryDraft(c candidate) (Draft, error) {
	d, _, err := p.compose(MessageKey{Book: p.book(), Key: c.key}, c.row)
	return d, err
}

// draft is a row's message. Of a row that is only claimed no more is known than to
// whom it goes, and a message to there finds out whether that is an address.
func (p *pass) draft(row Row) (Draft, error) {
	if p.order.Pickup != nil || p.job.ClaimOnly {
		return Draft{To: row.Cell(p.fit.cols.Email).Shown, Subject: "-", Text: "-"}, nil
	}
	return p.fit.Draft(row)
}

// compose renders the whole message of a row.
func (p *pass) compose(k MessageKey, row Row) (Draft, Letter, error) {
	d, err := p.draft(row)
	if err != nil {
		return Draft{}, Letter{}, err
	}
	d.ID, d.Date = messageID(k), p.Now().In(p.fit.zone)
	l, err := p.Mailer.Compose(d)
	l.Key = k.Key
	return d, l, err
}

// hold notes a candidate as chosen.
func (p *pass) hold(c candidate, ch choice, d Draft) {
	h := p.add(c, "", "")
	h.MessageKey = MessageKey{Book: p.book(), Key: c.key, Generation: ch.generation}
	h.Attempts = ch.attempts
	h.Before = p.fit.cols.before(c.row)
	if p.order.DryRun {
		h.report.Outcome, h.report.Subject = Would, d.Subject
		if !c.due.IsZero() {
			due := c.due.In(p.fit.zone)
			h.report.Due = &due
		}
		if p.show != nil {
			p.show.drafts[h] = d
		}
		return
	}
	p.held = append(p.held, h)
}

// add puts a row into the report.
func (p *pass) add(c candidate, o Outcome, reason string) *held {
	h := &held{row: c.row, cand: c}
	h.Key, h.Row = c.key, c.row.Number
	h.report = &RowReport{Row: c.row.Number, Key: c.key, Hidden: c.row.Hidden, Outcome: o, Reason: reason, Status: c.text}
	if p.fit != nil {
		h.email = c.row.Cell(p.fit.cols.Email).Value()
		h.report.Email = c.row.Cell(p.fit.cols.Email).Shown
	}
	p.chosen = append(p.chosen, h)
	return h
}

// report queues one alert for the faults and the ended rows that pick saw; it is
// sent again only when they change.
func (p *pass) report(ctx context.Context, faults []fault) {
	p.reported = len(p.doc.Doubts)
	if p.order.DryRun {
		return
	}
	var rs []Report
	where := p.order.Target.Spreadsheet + "!" + p.order.Target.Range
	if len(faults) == 0 {
		rs = append(rs, Report{Once: "row_fault " + where, Alert: Alert{Job: p.job.Name}})
	} else {
		rows := make([]AlertRow, len(faults))
		for i, f := range faults {
			rows[i] = AlertRow{Row: f.row, Key: f.key, Detail: f.text}
		}
		rs = append(rs, Report{Once: "row_fault " + where, Text: alertText(rows), Alert: p.alert(AlertRowFault, "row_fault", rows,
			fmt.Sprintf("due rows that cannot be mailed as they are: %d", len(rows)), "these rows were left alone; the others are not affected",
			"mend the rows named here; the next run takes them up")})
	}
	for _, d := range p.doc.Doubts {
		rows := []AlertRow{{Row: d.Row, Key: d.Key, Detail: d.Detail}}
		rs = append(rs, Report{
			Once: string(d.Kind) + " " + where + " " + d.Key, Text: d.Detail,
			Alert: p.alert(AlertDoubt, string(d.Kind), rows, d.Detail, "the row was left alone", d.Advice),
		})
	}
	p.queue(ctx, rs...)
}

// alertText is the present form of a set of faults, to tell when it changes.
func alertText(rows []AlertRow) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s: %s\n", r.Key, r.Detail)
	}
	return b.String()
}

// alert makes an alert of this run.
func (p *pass) alert(kind AlertKind, cause string, rows []AlertRow, seen, done, todo string) Alert {
	return Alert{Kind: kind, Job: p.job.Name, Run: p.order.Run.ID, Cause: cause, Rows: rows, Seen: seen, Done: done, Todo: todo}
}

// queue keeps alerts for delivery. That they could not be kept changes nothing
// about a row, but is said.
func (p *pass) queue(ctx context.Context, rs ...Report) {
	if len(rs) == 0 {
		return
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	if err := p.Ledger.Report(ctx, p.order.Run, rs); err != nil {
		p.log.Error("an alert could not be queued", "error", err)
	}
}

// stamp writes a moment as people in the job's zone read it.
func (p *pass) stamp(t time.Time) string { return t.In(p.fit.zone).Format(time.RFC3339) }
