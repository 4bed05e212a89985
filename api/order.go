package api

import (
	"net/http"
	"slices"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// order turns a request into one for the method: which job, which rows, which name.
func (s *Server) order(who *caller, req *runRequest, header http.Header) (claim.Request, error) {
	job, err := jobOf(who, req.Job)
	if err != nil {
		return claim.Request{}, err
	}
	id, err := runID(req.RunID, header)
	if err != nil {
		return claim.Request{}, err
	}
	order := claim.Request{Job: job.Name, RunID: id, DryRun: req.DryRun, Confirmed: req.Confirm}
	if order.Target, err = job.target(req); err != nil {
		return claim.Request{}, err
	}
	if order.Limit, err = job.limit(req); err != nil {
		return claim.Request{}, err
	}
	if order.Callback, err = s.callback(req.CallbackURL); err != nil {
		return claim.Request{}, err
	}
	if order.RunID == "" {
		order.RunID = s.cfg.NewRunID()
	}
	return order, nil
}

// jobOf finds the job that a caller means; the name may be left out where there is
// no choice. A caller that is bound to jobs does not learn which others exist.
func jobOf(who *caller, name *string) (*JobInfo, error) {
	if name == nil {
		if len(who.jobs) == 1 {
			return who.jobs[0], nil
		}
		return nil, refuse(codeJobRequired, "there are %d jobs to choose from: name one as job", len(who.jobs)).at("job").allow(who.jobNames())
	}
	if job, ok := who.job(*name); ok {
		return job, nil
	}
	if who.bound {
		return nil, refuse(codeJobNotAllowed, "this token is not for the job %s: use another token, or one of its jobs", brief(*name)).at("job").allow(who.jobNames())
	}
	return nil, jobUnknown(who, *name)
}

func jobUnknown(who *caller, name string) *problem {
	return refuse(codeJobUnknown, "there is no job %s: use one that GET /v1/jobs lists", brief(name)).at("job").allow(who.jobNames())
}

// target is where the run is to look. It is left zero for the job's own place, so
// that naming that place is the same request as leaving it out.
func (j *JobInfo) target(req *runRequest) (claim.Target, error) {
	t := j.Target
	if v := req.Spreadsheet; v != nil {
		allowed := append([]string{j.Target.Spreadsheet}, j.AllowSpreadsheets...)
		if !slices.Contains(allowed, *v) {
			return t, refuse(codeSheetRefused, "the job %s may not work on the spreadsheet %s: use one of those allowed, or add it to allow_spreadsheets", j.Name, brief(*v)).at("spreadsheet").allow(allowed)
		}
		t.Spreadsheet = *v
	}
	if v := req.Range; v != nil {
		allowed := append([]string{j.Target.Range}, j.AllowRanges...)
		if !slices.Contains(allowed, *v) {
			return t, refuse(codeRangeRefused, "the job %s may not work on the range %s: use one of those allowed, or add it to allow_ranges", j.Name, brief(*v)).at("range").allow(allowed)
		}
		t.Range = *v
	}
	if t == j.Target {
		return claim.Target{}, nil
	}
	return t, nil
}

// limit is how many rows the run may claim; 0 for the job's own limit, as above.
func (j *JobInfo) limit(req *runRequest) (int, error) {
	if req.Limit == nil || *req.Limit == j.Limit {
		return 0, nil
	}
	if n := *req.Limit; n < 1 || n > j.Limit {
		return 0, refuse(codeLimitRefused, "expected a limit from 1 to %d, the limit of the job %s, found %d: lower it, or leave it out", j.Limit, j.Name, n).at("limit")
	}
	return *req.Limit, nil
}
