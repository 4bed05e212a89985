package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
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

// receiptRequest is the body of POST /v1/claims/settle.
type receiptRequest struct {
	Job, RunID, Key *string // nil: left out
	Outcome, Reason string
}

// set takes one member of the body.
func (r *receiptRequest) set(name string, value json.RawMessage) error {
	switch name {
	case "job":
		return take(name, value, "a text", &r.Job)
	case "run_id":
		return takeName(name, value, &r.RunID)
	case "key":
		return takeName(name, value, &r.Key)
	case "outcome":
		return take(name, value, "a text", &r.Outcome)
	case "reason":
		return take(name, value, "a text", &r.Reason)
	}
	return refuse(codeFieldUnknown, "a settlement of a claimed row has no %s: it may have job, run_id, key, outcome, reason", brief(name)).at(name)
}

// check refuses a receipt that lacks what it needs.
func (r *receiptRequest) check() error {
	words := []string{string(claim.Sent), string(claim.Failed), string(claim.Unknown), string(claim.Released)}
	switch {
	case r.RunID == nil:
		return refuse(codeFieldRequired, "expected the run_id under which the row was claimed, found none").at("run_id")
	case r.Key == nil || strings.TrimSpace(*r.Key) == "":
		return refuse(codeFieldRequired, "expected the key of a claimed row as key, found none: take it from the answer of POST /v1/claims").at("key")
	case r.Outcome == "":
		return refuse(codeFieldRequired, "expected sent, failed, unknown or released as outcome, found none").at("outcome").allow(words)
	case !slices.Contains(words, r.Outcome):
		return refuse(codeFieldInvalid, "expected sent, failed, unknown or released as outcome, found %s", brief(r.Outcome)).at("outcome").allow(words)
	}
	return nil
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
	body, err := readBody(c)
	if err != nil {
		return err
	}
	req := &receiptRequest{}
	if err := parseObject(body, req.set); err != nil {
		return err
	}
	call := callOf(c)
	job, err := jobOf(call.caller, req.Job)
	if err != nil {
		return err
	}
	if err := req.check(); err != nil {
		return err
	}
	receipt := claim.Receipt{Job: job.Name, RunID: *req.RunID, Key: strings.TrimSpace(*req.Key), Outcome: claim.Outcome(req.Outcome), Reason: req.Reason}
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
