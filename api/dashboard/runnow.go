package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// runNowView asks once more before a run.
type runNowView struct {
	previewView
	RunID string // of the run to come: pressed twice, the form names one run
	Many  int    // rows, more than the job's very first run mails unconfirmed; 0: no such number
}

// askRun says how many rows are due, and asks once more.
func (p *Page) askRun(v *visit) error {
	job, err := v.previewJob()
	if err != nil {
		return err
	}
	if p.cfg.Start == nil {
		return notFound()
	}
	made, err := v.preview(claim.PreviewRequest{Job: job.Name, Parts: 1})
	if err != nil {
		return err
	}
	view := runNowView{previewView: previewView{Preview: made}, RunID: p.cfg.NewRunID()}
	if last, err := p.cfg.Runs.Recent(v.r.Context(), job.Name, 1); err != nil {
		return ledgerFault(err)
	} else if job.FirstRunLimit > 0 && made.Counts.Due > job.FirstRunLimit && len(last) == 0 {
		view.Many = made.Counts.Due
	}
	return v.show(http.StatusOK, "runnow", frame{Title: "Run " + job.Name, Data: view})
}

// postRun starts a run, which goes on whatever becomes of the viewer, and shows it.
func (p *Page) postRun(v *visit) error {
	job, err := v.previewJob()
	if err != nil {
		return err
	}
	form := v.r.PostForm
	r := claim.Request{Job: job.Name, RunID: form.Get("run_id"), Confirmed: form.Has("confirm")}
	if p.cfg.Start == nil || !claim.IsRunID(r.RunID) {
		return notFound()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), previewWithin)
	defer cancel()
	if err := p.cfg.Start(ctx, r); err != nil {
		return startFault(err)
	}
	p.cfg.Log.Info("run started from the page", "job", r.Job, "run", r.RunID, "confirmed", r.Confirmed, "by", cmp.Or(v.who.name, "page"))
	http.Redirect(v.w, v.r, runPath(claim.Document{Job: r.Job, RunID: r.RunID}), http.StatusSeeOther)
	return nil
}

func startFault(err error) error {
	var sheet *claim.SheetError
	switch {
	case errors.Is(err, claim.ErrReused):
		return &fault{status: http.StatusUnprocessableEntity, Title: "Nothing was started", Text: "Another run has this name. Go back to the preview and start again."}
	case errors.Is(err, claim.ErrClosing):
		return closingFault()
	case errors.As(err, &sheet):
		return &fault{status: http.StatusServiceUnavailable, Title: "Nothing was started", Text: "A run of this name died and its rows cannot be settled yet: " + sheet.Error() + ".", cause: err}
	}
	return ledgerFault(err)
}
