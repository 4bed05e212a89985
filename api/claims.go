package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// handedView is the run document of a run that only claims. Its rows are those that
// this caller is given.
type handedView struct {
	claim.Document
	Rows  []claim.Handed `json:"rows"`
	Count int            `json:"count"`
}

// postClaims runs the method up to confirm and hands the confirmed rows out, once.
func (s *Server) postClaims(c echo.Context) error {
	order, patience, err := s.ordered(c)
	if err != nil {
		return err
	}
	if order.DryRun {
		return refuse(codeFieldInvalid, "a claim cannot be a dry run: ask POST /v1/runs for one, or leave dry_run out").at("dry_run")
	}
	order.ClaimOnly = true
	ctx, cancel := context.WithTimeout(c.Request().Context(), patience.wait)
	defer cancel()
	run, err := s.start(c.Request().Context(), order)
	if err != nil {
		return err
	}
	return answerClaims(c, run, run.Collect(ctx), patience)
}

// answerClaims answers the rows, or how far the run is.
func answerClaims(c echo.Context, run Run, rows []claim.Handed, p patience) error {
	doc := tidy(run.Document())
	if doc.State != claim.RunFinished && doc.HandedOutAt == nil {
		return answerRun(c, run, p)
	}
	view := handedView{Document: doc, Rows: rows, Count: doc.HandedOut}
	if rows == nil {
		view.Rows = []claim.Handed{}
	}
	if run.Replayed() {
		c.Response().Header().Set("Idempotent-Replayed", "true")
	}
	return write(c, statusOf(doc.Outcome), echo.MIMEApplicationJSON, view)
}

// receiptView is the answer to a receipt: the row as it now is.
type receiptView struct {
	Job     string        `json:"job"`
	RunID   string        `json:"run_id"`
	Key     string        `json:"key"`
	Row     int           `json:"row"`
	Outcome claim.Outcome `json:"outcome"`
	Attempt int           `json:"attempt,omitempty"`
	Status  string        `json:"status"` // the text of the status cell
	Marked  bool          `json:"marked"` // the cell was read back
	Detail  string        `json:"detail"`
}

// postClaimSettle takes a caller's word on a row that it was handed.
func (s *Server) postClaimSettle(c echo.Context) error {
	req := &wordRequest{
		allowed:  []string{"job", "run_id", "key", "outcome", "reason"},
		outcomes: []string{string(claim.Sent), string(claim.Failed), string(claim.Unknown), string(claim.Released)},
		of:       "a claimed row", from: "the answer of POST /v1/claims",
	}
	job, err := req.read(c)
	if err != nil {
		return err
	}
	receipt := claim.Receipt{Job: job.Name, RunID: *req.RunID, Key: strings.TrimSpace(*req.Key), Outcome: claim.Outcome(req.Outcome), Reason: req.Reason}
	call := callOf(c)
	call.job, call.run = receipt.Job, receipt.RunID
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), s.cfg.MaxWait)
	defer cancel() // a caller that hangs up has settled it all the same
	m, err := s.cfg.Start.Receive(ctx, receipt)
	if err != nil && !errors.Is(err, claim.ErrNotSheet) {
		return receiptProblem(receipt, err)
	}
	view := receiptView{
		Job: receipt.Job, RunID: receipt.RunID, Key: m.Key, Row: m.Row, Outcome: m.Outcome, Attempt: m.Attempts,
		Status: m.Status, Marked: m.State.Ended(), Detail: "the cell shows it",
	}
	if m.State == claim.Returning || m.State == claim.Returned {
		view.Outcome, view.Status = claim.Released, m.Before["status"]
	}
	if !view.Marked {
		view.Detail = claim.ErrNotSheet.Error()
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, view)
}

// receiptProblem says why a receipt was not taken.
func receiptProblem(r claim.Receipt, err error) error {
	switch {
	case errors.Is(err, claim.ErrNoRun):
		return runUnknown(r.Job, r.RunID)
	case errors.Is(err, claim.ErrNoClaim):
		return refuse(codeClaimUnknown, "the run %s holds no row of the key %s: compare both with the answer of POST /v1/claims; a row that failed may have gone to a later run", brief(r.RunID), brief(r.Key)).at("key")
	case errors.Is(err, claim.ErrMails):
		return refuse(codeNotHanded, "%s", claim.ErrMails)
	case errors.Is(err, claim.ErrNotHanded):
		return refuse(codeNotHanded, "%s", claim.ErrNotHanded)
	case errors.Is(err, claim.ErrSettled):
		return refuse(codeClaimSettled, "%s: GET /v1/runs/%s/%s shows it", err, r.Job, r.RunID)
	case errors.Is(err, claim.ErrClosing):
		return refuse(codeStopping, "%s", claim.ErrClosing.Error()).after(10 * time.Second)
	}
	return deskProblem(err)
}
