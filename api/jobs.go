package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// jobView is a job in the list. Durations are written as Go writes them.
type jobView struct {
	Name              string        `json:"name"`
	Spreadsheet       string        `json:"spreadsheet"`
	Range             string        `json:"range"`
	AllowSpreadsheets []string      `json:"allow_spreadsheets"`
	AllowRanges       []string      `json:"allow_ranges"`
	Timezone          string        `json:"timezone,omitempty"`
	Schedule          string        `json:"schedule,omitempty"`
	NextRuns          []time.Time   `json:"next_runs,omitempty"`
	Limit             int           `json:"limit"`
	Delay             string        `json:"delay"`
	Wait              string        `json:"wait"`
	Lease             string        `json:"lease"`
	OnDoubt           claim.OnDoubt `json:"on_doubt"`
	MaxAttempts       int           `json:"max_attempts"`
	RetryAfter        string        `json:"retry_after"`
	FirstRunLimit     int           `json:"first_run_limit"`
	ClaimOnly         bool          `json:"claim_only,omitempty"`
	LastRun           *runSummary   `json:"last_run,omitempty"`
	Overlap           *overlapView  `json:"overlap,omitempty"`
}

// overlapView says how the runs of a job fit into the time between their starts.
type overlapView struct {
	Since          time.Time            `json:"since"`
	Runs           int                  `json:"runs"`
	OverlappedRuns int                  `json:"overlapped_runs"`
	ForeignClaims  int                  `json:"foreign_claims"`
	RunTime        string               `json:"run_time,omitempty"`
	Interval       string               `json:"interval,omitempty"`
	Ratio          float64              `json:"ratio"`
	Verdict        claim.OverlapVerdict `json:"verdict"`
	Detail         string               `json:"detail"`
}

type jobList struct {
	Jobs []jobView `json:"jobs"`
}

// getJobs lists the jobs that the caller may see.
func (s *Server) getJobs(c echo.Context) error {
	list := jobList{Jobs: []jobView{}}
	for _, job := range callOf(c).caller.jobs {
		view := job.view()
		view.NextRuns = s.cfg.Next(job.Name)
		last, err := s.recent(c.Request().Context(), []string{job.Name}, 1)
		if err != nil {
			return ledgerProblem(err)
		}
		if len(last) > 0 {
			view.LastRun = &last[0]
		}
		if s.cfg.Overlap != nil {
			o, err := s.cfg.Overlap(c.Request().Context(), job.Name)
			if err != nil {
				return ledgerProblem(err)
			}
			view.Overlap = viewOverlap(o)
		}
		list.Jobs = append(list.Jobs, view)
	}
	return write(c, http.StatusOK, echo.MIMEApplicationJSON, list)
}

func (j *JobInfo) view() jobView {
	return jobView{
		Name: j.Name, Spreadsheet: j.Target.Spreadsheet, Range: j.Target.Range,
		AllowSpreadsheets: append([]string{}, j.AllowSpreadsheets...), AllowRanges: append([]string{}, j.AllowRanges...),
		Timezone: j.Timezone, Schedule: j.Schedule,
		Limit: j.Limit, Delay: j.Delay.String(), Wait: j.Wait.String(), Lease: j.Lease.String(),
		OnDoubt: j.OnDoubt, MaxAttempts: j.MaxAttempts, RetryAfter: j.RetryAfter.String(), FirstRunLimit: j.FirstRunLimit, ClaimOnly: j.ClaimOnly,
	}
}

func viewOverlap(o claim.Overlap) *overlapView {
	v := &overlapView{
		Since: o.Since, Runs: o.Runs, OverlappedRuns: o.Overlapped, ForeignClaims: o.Foreign,
		Ratio: o.Ratio(), Verdict: o.Verdict(), Detail: o.Sentence(),
	}
	if o.RunTime > 0 {
		v.RunTime = o.RunTime.String()
	}
	if o.Interval > 0 {
		v.Interval = o.Interval.String()
	}
	return v
}
