package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// How many runs a list has, unless asked for otherwise, and at most.
const (
	listUsual = 20
	listMost  = 200
)

// runSummary is a run in a list: its document without rows and doubts.
type runSummary struct {
	Job        string           `json:"job"`
	RunID      string           `json:"run_id"`
	State      claim.RunState   `json:"state"`
	Step       claim.Step       `json:"step,omitempty"`
	Outcome    claim.RunOutcome `json:"outcome,omitempty"`
	Detail     string           `json:"detail"`
	StartedAt  time.Time        `json:"started_at"`
	FinishedAt *time.Time       `json:"finished_at,omitempty"`
	Counts     claim.Counts     `json:"counts"`
	Location   string           `json:"location"` // of the document
}

func summaryOf(d claim.Document) runSummary {
	return runSummary{
		Job: d.Job, RunID: d.RunID, State: d.State, Step: d.Step, Outcome: d.Outcome, Detail: d.Detail,
		StartedAt: d.StartedAt, FinishedAt: d.FinishedAt, Counts: d.Counts, Location: runPath(d.Job, d.RunID),
	}
}

type runList struct {
	Runs []runSummary `json:"runs"`
}

// getRuns lists the newest runs first.
func (s *Server) getRuns(c echo.Context) error {
	query := c.Request().URL.Query()
	limit := listUsual
	if query.Has("limit") {
		n, err := strconv.Atoi(query.Get("limit"))
		if err != nil || n < 1 || n > listMost {
			return refuse(codeQueryInvalid, "expected limit=N with N from 1 to %d, found %s: correct it, or leave it out", listMost, brief(query.Get("limit"))).at("limit")
		}
		limit = n
	}
	who := callOf(c).caller
	jobs := []string{""} // all of them, also those that are no longer configured
	if who.bound {
		jobs = who.jobNames()
	}
	if query.Has("job") {
		job, ok := who.job(query.Get("job"))
		if !ok {
			return jobUnknown(who, query.Get("job"))
		}
		jobs = []string{job.Name}
	}
	runs, err := s.recent(c.Request().Context(), jobs, limit)
	if err != nil {
		return ledgerProblem(err)
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, runList{runs})
}

// recent answers the newest runs of several jobs.
func (s *Server) recent(ctx context.Context, jobs []string, limit int) ([]runSummary, error) {
	runs := []runSummary{}
	for _, job := range jobs {
		recs, err := s.cfg.Runs.Recent(ctx, job, limit)
		if err != nil {
			return nil, err
		}
		for _, rec := range recs {
			runs = append(runs, summaryOf(rec.Document))
		}
	}
	slices.SortStableFunc(runs, func(a, b runSummary) int { return b.StartedAt.Compare(a.StartedAt) })
	return runs[:min(limit, len(runs))], nil
}
