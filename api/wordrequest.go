package api

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// wordRequest is the body of a request that says what became of a message: a caller's
// word on a row that it was handed, or a person's on a doubt.
type wordRequest struct {
	allowed  []string // members that it may have; run_id and why, if any of them, are needed
	outcomes []string
	of, from string // whose key, and where it is found

	Job, RunID, Key                   *string // nil: left out
	Spreadsheet, Outcome, Reason, Why string
}

// read reads the body and answers the job that it means.
func (r *wordRequest) read(c echo.Context) (*JobInfo, error) {
	body, err := readBody(c)
	if err != nil {
		return nil, err
	}
	if err := parseObject(body, r.set); err != nil {
		return nil, err
	}
	job, err := jobOf(callOf(c).caller, r.Job)
	if err != nil {
		return nil, err
	}
	return job, r.check()
}

// set takes one member of the body.
func (r *wordRequest) set(name string, value json.RawMessage) error {
	if !slices.Contains(r.allowed, name) {
		return refuse(codeFieldUnknown, "a settlement has no %s: it may have %s", brief(name), strings.Join(r.allowed, ", ")).at(name)
	}
	switch name {
	case "job":
		return take(name, value, "a text", &r.Job)
	case "run_id":
		return takeName(name, value, &r.RunID)
	case "key":
		return takeName(name, value, &r.Key)
	}
	texts := map[string]*string{"spreadsheet": &r.Spreadsheet, "outcome": &r.Outcome, "reason": &r.Reason, "why": &r.Why}
	return take(name, value, "a text", texts[name])
}

// check refuses a word that lacks what it needs.
func (r *wordRequest) check() error {
	last := len(r.outcomes) - 1
	outcomes := strings.Join(r.outcomes[:last], ", ") + " or " + r.outcomes[last]
	switch {
	case slices.Contains(r.allowed, "run_id") && r.RunID == nil:
		return refuse(codeFieldRequired, "expected the run_id under which the row was claimed, found none").at("run_id")
	case r.Key == nil || strings.TrimSpace(*r.Key) == "":
		return refuse(codeFieldRequired, "expected the key of %s as key, found none: take it from %s", r.of, r.from).at("key")
	case r.Outcome == "":
		return refuse(codeFieldRequired, "expected %s as outcome, found none: say which of them is true", outcomes).at("outcome").allow(r.outcomes)
	case !slices.Contains(r.outcomes, r.Outcome):
		return refuse(codeFieldInvalid, "expected %s as outcome, found %s: say which of them is true", outcomes, brief(r.Outcome)).at("outcome").allow(r.outcomes)
	case slices.Contains(r.allowed, "why") && strings.TrimSpace(r.Why) == "":
		return refuse(codeFieldRequired, "expected a reason as why, found none: %s", claim.ErrNoReason).at("why")
	}
	return nil
}
