package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// handed reads the rows of an answer to POST /v1/claims.
func handed(t *testing.T, a answer) (keys []string, count int) {
	t.Helper()
	var doc struct {
		Rows  []claim.Handed
		Count *int
	}
	if err := json.Unmarshal([]byte(a.Body), &doc); err != nil || doc.Count == nil || doc.Rows == nil {
		t.Fatalf("no rows or no count (%v): %s", err, a.Body)
	}
	for _, r := range doc.Rows {
		keys = append(keys, r.Key)
	}
	return keys, *doc.Count
}

func TestClaimsAreHandedOutOnce(t *testing.T) {
	b := &book{}
	s := newServer(t, b)
	a := do(t, s, "POST", "/v1/claims", `{"job": "reviews", "run_id": "4711"}`)
	a.want(t, 200, "")
	if keys, count := handed(t, a); len(keys) != 1 || keys[0] != "B-1001" || count != 1 {
		t.Errorf("answered %s", a.Body)
	}
	if !b.last().ClaimOnly {
		t.Error("the method was not asked to claim only")
	}
	a = do(t, s, "POST", "/v1/claims", `{"job": "reviews", "run_id": "4711"}`)
	a.want(t, 200, "")
	if keys, count := handed(t, a); len(keys) != 0 || count != 1 || a.Run.HandedOutAt == nil {
		t.Errorf("answered %s", a.Body)
	}
}

func TestClaimsThatAreNotReadyYet(t *testing.T) {
	s := newServer(t, &book{takes: time.Hour})
	a := do(t, s, "POST", "/v1/claims", `{"run_id": "1"}`, "Prefer: respond-async")
	a.want(t, 202, "")
	if a.Header.Get("Location") != "/v1/runs/reviews/1" {
		t.Errorf("headers %v", a.Header)
	}
}

func TestClaimsThatAreRefused(t *testing.T) {
	s := newServer(t, &book{}, withToken, func(c *api.Config) { c.Tokens[0].Jobs = []string{"reviews"} })
	const auth = "Authorization: Bearer " + secret
	do(t, s, "POST", "/v1/claims", `{}`).want(t, 401, "unauthorized")
	do(t, s, "POST", "/v1/claims", `{"dry_run": true}`, auth).want(t, 400, "field_invalid")
	do(t, s, "POST", "/v1/claims", `{"job": "other"}`, auth).want(t, 403, "job_not_allowed")
	do(t, newServer(t, &book{err: claim.ErrNoMail}), "POST", "/v1/runs", `{}`).want(t, 422, "claim_only")
}

func TestClaimIsSettled(t *testing.T) {
	s := newServer(t, &book{})
	do(t, s, "POST", "/v1/claims", `{"run_id": 4711}`).want(t, 200, "")
	for _, outcome := range []string{"sent", "failed", "unknown", "released"} {
		a := do(t, s, "POST", "/v1/claims/settle", fmt.Sprintf(`{"run_id": 4711, "key": "B-1001", "outcome": %q, "reason": "so it is"}`, outcome))
		a.want(t, 200, "")
	}
}

func TestClaimSettlementsThatAreRefused(t *testing.T) {
	b := &book{}
	s := newServer(t, b)
	do(t, s, "POST", "/v1/claims", `{"run_id": "4711"}`).want(t, 200, "")
	for body, want := range map[string]answer{
		`{"key": "B-1001", "outcome": "sent"}`:                                {Status: 400, Problem: Problem{Code: "field_required"}},
		`{"run_id": "4711", "outcome": "sent"}`:                               {Status: 400, Problem: Problem{Code: "field_required"}},
		`{"run_id": "4711", "key": " ", "outcome": "sent"}`:                   {Status: 400, Problem: Problem{Code: "field_required"}},
		`{"run_id": "4711", "key": "B-1001"}`:                                 {Status: 400, Problem: Problem{Code: "field_required"}},
		`{"run_id": "4711", "key": "B-1001", "outcome": "maybe"}`:             {Status: 400, Problem: Problem{Code: "field_invalid"}},
		`{"run_id": "4711", "key": "B-1001", "outcome": "sent", "why": "so"}`: {Status: 400, Problem: Problem{Code: "field_unknown"}},
		`{"run_id": "4712", "key": "B-1001", "outcome": "sent"}`:              {Status: 404, Problem: Problem{Code: "run_unknown"}},
		`{"run_id": "4711", "key": "B-1002", "outcome": "sent"}`:              {Status: 404, Problem: Problem{Code: "claim_unknown"}},
	} {
		do(t, s, "POST", "/v1/claims/settle", body).want(t, want.Status, want.Code)
	}
	for err, want := range map[error]answer{
		claim.ErrNotHanded:   {Status: 409, Problem: Problem{Code: "claim_not_handed_out"}},
		claim.ErrSettled:     {Status: 409, Problem: Problem{Code: "claim_settled"}},
		claim.ErrClosing:     {Status: 503, Problem: Problem{Code: "stopping"}},
		http.ErrServerClosed: {Status: 503, Problem: Problem{Code: "ledger_unavailable"}},
	} {
		b.err = err
		do(t, s, "POST", "/v1/claims/settle", `{"run_id": "4711", "key": "B-1001", "outcome": "sent"}`).want(t, want.Status, want.Code)
	}
	b.err = claim.ErrNotSheet
	a := do(t, s, "POST", "/v1/claims/settle", `{"run_id": "4711", "key": "B-1001", "outcome": "sent"}`)
	a.want(t, 200, "")
}
