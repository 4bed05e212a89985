package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// startMost is how long it may take to write a run down; a dead run of the same name
// is settled first, which takes some calls to the sheet.
const startMost = 2 * time.Minute

// postRun starts a run, or attaches to it, and waits for its end as long as the
// caller has patience.
func (s *Server) postRun(c echo.Context) error {
	order, patience, err := s.ordered(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), patience.wait)
	defer cancel()
	run, err := s.start(c.Request().Context(), order)
	if err != nil {
		return err
	}
	await(ctx, run)
	return answerRun(c, run, patience)
}

// ordered reads a request for a run.
func (s *Server) ordered(c echo.Context) (claim.Request, patience, error) {
	r, call := c.Request(), callOf(c)
	patience, err := s.patienceOf(r)
	if err != nil {
		return claim.Request{}, patience, err
	}
	body, err := readBody(c)
	if err != nil {
		return claim.Request{}, patience, err
	}
	req, err := parseRunRequest(body)
	if err != nil {
		return claim.Request{}, patience, err
	}
	order, err := s.order(call.caller, req, r.Header)
	if err == nil {
		call.job, call.run = order.Job, order.RunID
	}
	return order, patience, err
}

// start starts a run. A caller that hangs up meanwhile has started it all the same.
func (s *Server) start(ctx context.Context, order claim.Request) (Run, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startMost)
	defer cancel()
	run, err := s.cfg.Start.Start(ctx, order)
	if err == nil {
		return run, nil
	}
	var sheet *claim.SheetError
	switch {
	case errors.Is(err, claim.ErrReused):
		return nil, refuse(codeRunIDReused, "%s", claim.ErrReused.Error()).at("run_id")
	case errors.Is(err, claim.ErrNoMail):
		return nil, refuse(codeNoMail, "%s", claim.ErrNoMail).at("job")
	case errors.Is(err, claim.ErrClosing):
		return nil, refuse(codeStopping, "%s", claim.ErrClosing.Error()).after(10 * time.Second)
	case errors.As(err, &sheet):
		return nil, refuse(codeRecoveryNeeded, "a run of this name died and its rows cannot be settled yet: %s", sheet.Error()).because(err).after(time.Minute)
	}
	return nil, ledgerProblem(err)
}

// ledgerProblem says that the ledger did not answer, and keeps its words for the
// log: they can name files and hosts.
func ledgerProblem(err error) *problem {
	return refuse(codeLedger, "the ledger did not answer: try again in a moment under the same run_id, the log says more").because(err).after(5 * time.Second)
}

// await waits for the end of a run, for the caller's patience to end, or for its
// request to be called off: by the caller, or because the service stops.
func await(ctx context.Context, run Run) {
	select {
	case <-run.Done():
		return
	default: // an end that is there comes before a patience that is none
	}
	select {
	case <-run.Done():
	case <-ctx.Done():
	}
}

// answerRun answers the run document, with the status of how the run ended, or 202
// when it has not.
func answerRun(c echo.Context, run Run, p patience) error {
	doc := tidy(run.Document())
	header := c.Response().Header()
	if doc.State != claim.RunFinished {
		header.Set("Location", runPath(doc.Job, doc.RunID))
		if p.applied != "" {
			header.Set("Preference-Applied", p.applied)
		}
		return write(c, http.StatusAccepted, echo.MIMEApplicationJSON, doc)
	}
	if run.Replayed() {
		header.Set("Idempotent-Replayed", "true")
	}
	return write(c, statusOf(doc.Outcome), echo.MIMEApplicationJSON, doc)
}

// statusOf is the HTTP status of a finished run. A flow should go on after a partial
// run, so that one is a success.
func statusOf(o claim.RunOutcome) int {
	switch o {
	case claim.RunFailed:
		return http.StatusBadGateway
	case claim.RunStopped:
		return http.StatusConflict
	case claim.RunPartial, claim.RunSent, claim.RunOverlapped, claim.RunNothingDue, claim.RunDry:
		return http.StatusOK
	}
	return http.StatusOK
}

// getRun answers the document of a run, however that went. A caller that may not see
// a job learns as much of its runs as of runs that never were.
func (s *Server) getRun(c echo.Context) error {
	call := callOf(c)
	job, id := param(c, "job"), param(c, "run_id")
	if !call.caller.sees(job) {
		return runUnknown(job, id)
	}
	rec, err := s.cfg.Runs.Find(c.Request().Context(), job, id)
	if errors.Is(err, claim.ErrNoRun) {
		return runUnknown(job, id)
	}
	if err != nil {
		return ledgerProblem(err)
	}
	call.job, call.run = rec.Job, rec.ID
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, tidy(rec.Document))
}

func runUnknown(job, id string) *problem {
	return refuse(codeRunUnknown, "no run %s of the job %s is remembered: compare both names with GET /v1/runs", brief(id), brief(job))
}

// runPath is where the document of a run is. It does not know of a path that a proxy
// puts in front.
func runPath(job, id string) string {
	return "/v1/runs/" + url.PathEscape(job) + "/" + url.PathEscape(id)
}

// param is a parameter of the path. Echo matches the escaped path where it differs
// from Go's own escaping, and leaves parameters as they came.
func param(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	if plain, err := url.PathUnescape(value); err == nil {
		return plain
	}
	return value
}

// tidy makes lists of what is none, so that a flow can go through them unasked.
func tidy(doc claim.Document) claim.Document {
	if doc.Rows == nil {
		doc.Rows = []claim.RowReport{}
	}
	if doc.Doubts == nil {
		doc.Doubts = []claim.Doubt{}
	}
	return doc
}
