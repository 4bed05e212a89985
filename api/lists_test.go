package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// names lists the runs of an answer, as job/id.
func names(t *testing.T, a answer) []string {
	t.Helper()
	a.want(t, 200, "")
	var list struct{ Runs []claim.Document }
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list.Runs {
		got = append(got, r.Job+"/"+r.RunID)
	}
	return got
}

func TestListOfRuns(t *testing.T) {
	s := newServer(t, &book{}, withJobs("reviews", "invoices"))
	if a := do(t, s, "GET", "/v1/runs", ""); !contains(a.Body, `"runs":[]`) {
		t.Errorf("an empty list is %s", a.Body)
	}
	for i := range 15 {
		for _, job := range []string{"reviews", "invoices"} {
			do(t, s, "POST", "/v1/runs", fmt.Sprintf(`{"job": %q, "run_id": %d}`, job, i)).want(t, 200, "")
		}
	}
	if got := names(t, do(t, s, "GET", "/v1/runs", "")); len(got) != 20 || got[0] != "invoices/14" || got[1] != "reviews/14" {
		t.Errorf("the usual list is %q", got)
	}
	if got := names(t, do(t, s, "GET", "/v1/runs?job=reviews&limit=2", "")); !slices.Equal(got, []string{"reviews/14", "reviews/13"}) {
		t.Errorf("two runs of a job are %q", got)
	}
	a := do(t, s, "GET", "/v1/runs?limit=1", "")
	if !contains(a.Body, `"location":"/v1/runs/invoices/14"`) || contains(a.Body, `"rows"`) {
		t.Errorf("a run in the list is %s", a.Body)
	}
	for _, limit := range []string{"0", "-1", "201", "x", ""} {
		do(t, s, "GET", "/v1/runs?limit="+limit, "").want(t, 400, "query_invalid")
	}
	do(t, s, "GET", "/v1/runs?job=gone", "").want(t, 404, "job_unknown")
}

func TestListOfJobs(t *testing.T) {
	next := time.Date(2026, 11, 30, 9, 5, 0, 0, time.UTC)
	s := newServer(t, &book{}, withJobs("reviews", "invoices"), func(c *api.Config) {
		c.Next = func(job string) []time.Time {
			if job == "reviews" {
				return []time.Time{next}
			}
			return nil
		}
		c.Jobs[1].Schedule, c.Jobs[1].AllowRanges = "", nil
	})
	do(t, s, "POST", "/v1/runs", `{"job": "reviews", "run_id": "1"}`).want(t, 200, "")
	a := do(t, s, "GET", "/v1/jobs", "")
	a.want(t, 200, "")
	var list struct {
		Jobs []struct {
			Name, Spreadsheet, Range, Schedule, Wait string
			Limit                                    int
			NextRuns                                 []time.Time `json:"next_runs"`
			LastRun                                  *struct {
				Outcome claim.RunOutcome
			} `json:"last_run"`
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || len(list.Jobs) != 2 {
		t.Fatalf("%v: %s", err, a.Body)
	}
	invoices, reviews := list.Jobs[0], list.Jobs[1]
	if invoices.Name != "invoices" || invoices.Schedule != "" || invoices.LastRun != nil || invoices.NextRuns != nil {
		t.Errorf("invoices is %+v", invoices)
	}
	if reviews.Name != "reviews" || reviews.Schedule != "*/5 * * * *" || reviews.Wait != "15s" || reviews.Limit != 50 ||
		reviews.LastRun == nil || reviews.LastRun.Outcome != claim.RunSent || !slices.Equal(reviews.NextRuns, []time.Time{next}) {
		t.Errorf("reviews is %+v", reviews)
	}
}

func TestJobsSayHowRunsOverlap(t *testing.T) {
	since := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	overlap := claim.Overlap{Since: since, Runs: 10, Overlapped: 2, Foreign: 1, RunTime: 3 * time.Minute, Interval: 4 * time.Minute}
	var broken error
	s := newServer(t, &book{}, func(c *api.Config) {
		c.Overlap = func(_ context.Context, job string) (claim.Overlap, error) {
			if job != "reviews" {
				t.Errorf("asked for %q", job)
			}
			return overlap, broken
		}
	})
	a := do(t, s, "GET", "/v1/jobs", "")
	for _, want := range []string{
		`"overlap":{"since":"2026-11-24T09:00:00Z","runs":10,"overlapped_runs":2,"foreign_claims":1,"run_time":"3m0s","interval":"4m0s","ratio":0.75,"verdict":"regular"`,
		`overlap regularly`,
	} {
		if !contains(a.Body, want) {
			t.Errorf("%s lacks %s", a.Body, want)
		}
	}
	overlap = claim.Overlap{Since: since}
	if a = do(t, s, "GET", "/v1/jobs", ""); !contains(a.Body, `"ratio":0,"verdict":"unknown"`) || contains(a.Body, `"interval"`) {
		t.Errorf("nothing is known: %s", a.Body)
	}
	broken = errors.New("disk I/O error")
	do(t, s, "GET", "/v1/jobs", "").want(t, 503, "ledger_unavailable")
}

func TestRunThatIsNotThere(t *testing.T) {
	s := newServer(t, &book{})
	do(t, s, "GET", "/v1/runs/reviews/1", "").want(t, 404, "run_unknown")
	do(t, s, "POST", "/v1/runs", `{"run_id": "a:1"}`).want(t, 200, "")
	do(t, s, "GET", "/v1/runs/reviews/a%3A1", "").want(t, 200, "") // as encodeURIComponent writes it
	do(t, s, "GET", "/v1/runs/reviews/a%2F1", "").want(t, 404, "run_unknown")
}

func TestPathsAndMethodsThatAreNotThere(t *testing.T) {
	s := newServer(t, &book{})
	a := do(t, s, "GET", "/v1/nothing", "")
	if a.want(t, 404, "not_found"); a.Instance != "/v1/nothing" {
		t.Errorf("instance %q", a.Instance)
	}
	a = do(t, s, "DELETE", "/v1/runs", "")
	if a.want(t, 405, "method_not_allowed"); !contains(a.Header.Get("Allow"), "POST") || !contains(a.Header.Get("Allow"), "GET") {
		t.Errorf("Allow %q", a.Header.Get("Allow"))
	}
}

func TestTypeOfProblems(t *testing.T) {
	tests := []struct{ accept, want string }{
		{"", "application/json"},
		{"*/*", "application/json"},
		{"application/*", "application/json"},
		{"application/json,text/html,application/xhtml+xml,application/xml,text/*;q=0.9, image/*;q=0.8, */*;q=0.7", "application/json"},
		{"application/problem+json", "application/problem+json"},
		{"Application/Problem+JSON ; q=0.1", "application/problem+json"},
		{"application/json, application/problem+json;q=0.9", "application/problem+json"},
		{"application/problem+json;q=0", "application/json"},
		{"application/problem+json;q=0.000", "application/json"},
		{"application/problem+json; q=x", "application/json"},
		{`text/html;x="application/problem+json, "`, "application/json"},
	}
	s := newServer(t, &book{}, withToken)
	for _, tt := range tests {
		a := do(t, s, "GET", "/v1/jobs", "", "Accept: "+tt.accept)
		a.want(t, 401, "unauthorized")
		if got := a.Header.Get("Content-Type"); got != tt.want {
			t.Errorf("Accept %q: answered %q, want %q", tt.accept, got, tt.want)
		}
	}
}

func TestReady(t *testing.T) {
	var broken error
	s := newServer(t, &book{}, withToken, func(c *api.Config) {
		c.Ready = func(context.Context) error { return broken }
	})
	do(t, s, "GET", "/readyz", "").want(t, 200, "")
	broken = errors.New("open /var/lib/sheetclaim.db: read-only file system")
	a := do(t, s, "GET", "/readyz", "")
	if a.want(t, 503, "not_ready"); contains(a.Body, "/var/lib") || a.Header.Get("Retry-After") == "" {
		t.Errorf("answered %v %s", a.Header, a.Body)
	}
	do(t, s, "GET", "/healthz", "").want(t, 200, "")
}

func TestMetricsAreOpen(t *testing.T) {
	s := newServer(t, &book{}, withToken, func(c *api.Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprintln(w, "sheetclaim_ledger_up 1")
		})
	})
	if a := do(t, s, "GET", "/metrics", ""); a.Status != 200 || a.Body != "sheetclaim_ledger_up 1\n" {
		t.Errorf("answered %d %s", a.Status, a.Body)
	}
	a := do(t, newServer(t, &book{}, withToken), "GET", "/metrics", "")
	if a.want(t, 404, "not_found"); !contains(a.Detail, "metrics_listen") {
		t.Errorf("says %q", a.Detail)
	}
}
