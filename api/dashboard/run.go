package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// runView is a run as it is shown.
type runView struct {
	claim.Document
	Label     label
	Lines     []rowLine
	Stages    []stage
	Doubts    []doubtLine
	Alerts    []claim.KeptAlert
	Sheet     string // where the sheet is seen; "": not known
	Settled   int    // rows whose outcome is known
	Elsewhere bool   // another process carries it
	Dead      bool   // and that one is gone
}

// rowLine is one row of a run.
type rowLine struct {
	claim.RowReport
	URL string
}

// Label is what became of the row.
func (l rowLine) Label() label { return rowOutcomeOf(l.Outcome) }

// doubtLine is one doubt of a run.
type doubtLine struct {
	claim.Doubt
	URL string
}

// stage is one step of the method, over all the chunks of a run.
type stage struct {
	Step  claim.Step
	Began time.Time // zero: it has not come yet
	Took  time.Duration
	Times int  // that it was entered
	Now   bool // it goes on
}

// viewRun makes the view of a document.
func (p *Page) viewRun(d claim.Document) runView {
	at := func(row int) string { return p.cfg.SheetURL(Place{d.Spreadsheet, d.Tab, d.TabID, d.Range, row}) }
	v := runView{Document: d, Label: outcomeOf(d, trouble(d) || d.Counts.Unknown > 0), Stages: stages(d, p.now()), Sheet: at(0)}
	for _, r := range d.Rows {
		v.Lines = append(v.Lines, rowLine{r, at(r.Row)})
		if r.Outcome != "" {
			v.Settled++
		}
	}
	for _, doubt := range d.Doubts {
		line := doubtLine{Doubt: doubt}
		if doubt.Row > 0 {
			line.URL = at(doubt.Row)
		}
		v.Doubts = append(v.Doubts, line)
	}
	return v
}

// trouble reports whether a run ended in a way that a person should look at.
func trouble(d claim.Document) bool {
	return d.Outcome == claim.RunFailed || d.Outcome == claim.RunStopped
}

// stages gathers the steps of a run in the order of the method.
func stages(d claim.Document, now time.Time) []stage {
	order := []claim.Step{claim.StepPick, claim.StepClaim, claim.StepWait, claim.StepConfirm, claim.StepSend, claim.StepMark, claim.StepVerify}
	if slices.ContainsFunc(d.Steps, func(s claim.StepTime) bool { return s.Step == claim.StepHandOut }) {
		order = []claim.Step{claim.StepPick, claim.StepClaim, claim.StepWait, claim.StepConfirm, claim.StepHandOut}
	}
	end := now
	if d.FinishedAt != nil {
		end = *d.FinishedAt
	}
	all := make([]stage, len(order))
	for i, step := range order {
		all[i] = stage{Step: step, Now: d.State != claim.RunFinished && d.Step == step}
	}
	for i, s := range d.Steps {
		at := slices.Index(order, s.Step)
		if at < 0 {
			continue
		}
		until := end
		if i+1 < len(d.Steps) {
			until = d.Steps[i+1].At
		}
		if all[at].Times++; all[at].Times == 1 {
			all[at].Began = s.At
		}
		all[at].Took += until.Sub(s.At)
	}
	return all
}

// Progress says in words how far a run is.
func (v runView) Progress() string {
	switch {
	case len(v.Rows) > 0:
		return fmt.Sprintf("%d of %s done", v.Settled, plural(len(v.Rows), "row", "rows"))
	case v.State == claim.RunFinished:
		return v.Detail
	}
	return "looking for due rows"
}

// Took is how long the run took; 0 while it goes on.
func (v runView) Took() time.Duration {
	if v.FinishedAt == nil {
		return 0
	}
	return v.FinishedAt.Sub(v.StartedAt)
}

// say tells in one sentence how far the run is.
func (v runView) say() string {
	if v.State == claim.RunFinished {
		return "The run has ended: " + v.Detail + "."
	}
	return "Step " + string(v.Step) + ", " + v.Progress() + "."
}

// getRun shows one run.
func (p *Page) getRun(v *visit) error {
	job, id := v.r.PathValue("job"), v.r.PathValue("run")
	view, err := p.findRun(v.r.Context(), v.who, job, id)
	if err != nil {
		return err
	}
	f := frame{Title: "Run " + id, Data: view}
	// Alerts go out a moment after a run.
	const settles = 2 * time.Minute
	if view.State != claim.RunFinished || p.now().Sub(*view.FinishedAt) < settles {
		f.Live, f.Reload = "/live?job="+url.QueryEscape(job)+"&run="+url.QueryEscape(id), view.State != claim.RunFinished
	}
	return v.show(http.StatusOK, "run", f)
}

// findRun answers a run that a viewer may see, as it is at this moment.
func (p *Page) findRun(ctx context.Context, who *viewer, job, id string) (runView, error) {
	if !who.sees(job) {
		return runView{}, notFound()
	}
	for _, d := range p.cfg.Live.Live() {
		if d.Job == job && d.RunID == id {
			return p.withAlerts(ctx, p.viewRun(d))
		}
	}
	rec, err := p.cfg.Runs.Find(ctx, job, id)
	if errors.Is(err, claim.ErrNoRun) {
		return runView{}, notFound()
	}
	if err != nil {
		return runView{}, ledgerFault(err)
	}
	view := p.viewRun(rec.Document)
	if rec.Document.State != claim.RunFinished {
		view.Elsewhere, view.Dead = true, !rec.Alive
	}
	return p.withAlerts(ctx, view)
}

func (p *Page) withAlerts(ctx context.Context, view runView) (runView, error) {
	var err error
	if view.Alerts, err = p.cfg.Record.AlertsOf(ctx, view.Job, view.RunID, view.StartedAt); err != nil {
		return view, ledgerFault(err)
	}
	return view, nil
}
