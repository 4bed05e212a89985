package api_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func TestStatusOfOutcome(t *testing.T) {
	for outcome, status := range map[claim.RunOutcome]int{
		claim.RunFailed: 502, claim.RunStopped: 409, claim.RunPartial: 200, claim.RunSent: 200,
		claim.RunOverlapped: 200, claim.RunNothingDue: 200, claim.RunDry: 200,
	} {
		t.Run(string(outcome), func(t *testing.T) {
			s := newServer(t, &book{outcome: outcome})
			a := do(t, s, "POST", "/v1/runs", `{"run_id": "4711"}`)
			a.want(t, status, "")
			if a.Run.Outcome != outcome || len(a.Run.Rows) != 1 || !contains(a.Body, "<b1001@example.com>") {
				t.Errorf("document %s", a.Body)
			}
			if got := do(t, s, "GET", "/v1/runs/reviews/4711", ""); got.Status != 200 || got.Body != a.Body {
				t.Errorf("GET answered %d %s, want 200 and the same document", got.Status, got.Body)
			}
		})
	}
}

func TestPatience(t *testing.T) {
	const takes = 30 * time.Second
	tests := []struct {
		name    string
		query   string
		headers []string
		waits   time.Duration
		applied string
	}{
		{name: "until the end", waits: takes},
		{name: "not at all", headers: []string{"Prefer: respond-async"}, applied: "respond-async"},
		{name: "some seconds", headers: []string{"Prefer: wait=7"}, waits: 7 * time.Second, applied: "wait=7"},
		{name: "quoted", headers: []string{`Prefer: WAIT = "7"`}, waits: 7 * time.Second, applied: "wait=7"},
		{name: "both", headers: []string{"Prefer: respond-async, wait=7"}, waits: 7 * time.Second, applied: "respond-async, wait=7"},
		{name: "both in two fields", headers: []string{"Prefer: wait=7", "Prefer: respond-async"}, waits: 7 * time.Second, applied: "respond-async, wait=7"},
		{name: "the first counts", headers: []string{"Prefer: wait=7, wait=9"}, waits: 7 * time.Second, applied: "wait=7"},
		{name: "a comma in quotes", headers: []string{`Prefer: foo="a, wait=1, b"; bar="\", x", respond-async; x=1`}, applied: "respond-async"},
		{name: "another preference", headers: []string{"Prefer: return=minimal"}, waits: takes},
		{name: "not a number", headers: []string{"Prefer: wait=soon"}, waits: takes},
		{name: "zero", headers: []string{"Prefer: wait=0"}, applied: "wait=0"},
		{name: "longer than the run", headers: []string{"Prefer: wait=90"}, waits: takes},
		{name: "as a parameter", query: "?wait=4", waits: 4 * time.Second},
		{name: "the parameter comes first", query: "?wait=4", headers: []string{"Prefer: respond-async"}, waits: 4 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, &book{takes: takes})
				began := time.Now()
				a := do(t, s, "POST", "/v1/runs"+tt.query, `{"run_id": "a:1"}`, tt.headers...)
				if took := time.Since(began); took != tt.waits {
					t.Errorf("waited %v, want %v", took, tt.waits)
				}
				if tt.waits == takes {
					a.want(t, 200, "")
					return
				}
				a.want(t, 202, "")
				if a.Header.Get("Location") != "/v1/runs/reviews/a:1" || a.Header.Get("Preference-Applied") != tt.applied {
					t.Errorf("headers %v", a.Header)
				}
				got := do(t, s, "GET", a.Header.Get("Location"), "")
				if got.want(t, 200, ""); got.Run.State != claim.RunRunning {
					t.Errorf("document %s", got.Body)
				}
				time.Sleep(takes) // the timer of the book is inside the bubble
			})
		})
	}
}

func TestPatienceHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &book{takes: time.Hour}, func(c *api.Config) { c.MaxWait = 4 * time.Minute })
		for _, prefer := range []string{"Prefer: wait=3000", "X: y"} {
			began := time.Now()
			a := do(t, s, "POST", "/v1/runs", `{"run_id": "1"}`, prefer)
			a.want(t, 202, "")
			if took := time.Since(began); took != 4*time.Minute {
				t.Errorf("%s: waited %v", prefer, took)
			}
		}
		time.Sleep(time.Hour)
	})
}

func TestPatienceThatCannotBeRead(t *testing.T) {
	b := &book{}
	for _, wait := range []string{"", "-1", "1.5", "soon", "99999999999"} {
		do(t, newServer(t, b), "POST", "/v1/runs?wait="+wait, "").want(t, 400, "query_invalid")
	}
	if b.count() != 0 {
		t.Errorf("%d runs were started", b.count())
	}
}

// AP01: a caller that gives up and asks again gets the run that went on.
func TestAP01CallerHangsUpAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{takes: 10 * time.Second}
		s := newServer(t, b, withToken)
		const auth = "Authorization: Bearer " + secret
		first, cancel := hangUp(request("POST", "/v1/runs", `{}`, auth, "Idempotency-Key: abc"), time.Second)
		defer cancel()
		send(t, s, first)
		time.Sleep(3 * time.Second)

		async := do(t, s, "POST", "/v1/runs", `{}`, auth, "Idempotency-Key: abc", "Prefer: respond-async")
		async.want(t, 202, "")
		second := do(t, s, "POST", "/v1/runs", `{}`, auth, "Idempotency-Key: abc")
		second.want(t, 200, "")
		if second.Header.Get("Idempotent-Replayed") != "" {
			t.Error("a run that was attached to counts as replayed")
		}
		got := do(t, s, "GET", "/v1/runs/reviews/abc", "", auth)
		got.want(t, 200, "")
		if async.Run.RunID != "abc" || second.Run.RunID != "abc" || got.Run.RunID != "abc" || b.count() != 1 {
			t.Errorf("runs %q, %q, %q, %d started", async.Run.RunID, second.Run.RunID, got.Run.RunID, b.count())
		}
		if len(got.Run.Rows) != 1 || got.Run.Rows[0].Outcome != claim.Sent {
			t.Errorf("rows %+v", got.Run.Rows)
		}
	})
}

// AP02: a name that is used again.
func TestAP02NameUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{takes: 10 * time.Second}
		s := newServer(t, b)
		post := func(body, key string) answer {
			t.Helper()
			return do(t, s, "POST", "/v1/runs", body, "Idempotency-Key: "+key)
		}
		while := do(t, s, "POST", "/v1/runs", `{"limit": 5}`, "Idempotency-Key: k", "Prefer: respond-async")
		while.want(t, 202, "")
		post(`{"limit": 6}`, "k").want(t, 422, "run_id_reused")
		end := post(`{"limit": 5, "confirm": true, "range": "Visits!A1:H"}`, "k")
		end.want(t, 200, "")

		again := post(`{"limit": 5}`, "k")
		again.want(t, 200, "")
		if again.Header.Get("Idempotent-Replayed") != "true" || again.Body != end.Body || again.Run.FinishedAt == nil {
			t.Errorf("replayed %v %s, want the result %s", again.Header, again.Body, end.Body)
		}
		for _, other := range []string{`{}`, `{"limit": 5, "dry_run": true}`, `{"limit": 5, "range": "Archive!A1:H"}`, `{"limit": 5, "spreadsheet": "S2"}`} {
			post(other, "k").want(t, 422, "run_id_reused")
		}
		if b.count() != 1 {
			t.Errorf("%d runs were started, want 1", b.count())
		}
	})
}

func TestReplayKeepsItsStatus(t *testing.T) {
	s := newServer(t, &book{outcome: claim.RunStopped})
	do(t, s, "POST", "/v1/runs", `{"run_id": "1"}`).want(t, 409, "")
	a := do(t, s, "POST", "/v1/runs", `{"run_id": "1"}`, "Prefer: respond-async")
	a.want(t, 409, "")
	if a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("headers %v", a.Header)
	}
}

func TestStartFails(t *testing.T) {
	tests := []struct {
		err  error
		code string
	}{
		{claim.ErrClosing, "stopping"},
		{errors.New("dial postgres://user:hunter2@db: refused"), "ledger_unavailable"},
		{&claim.SheetError{Problem: "the sheet is not shared", Advice: "share it"}, "recovery_pending"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			s := newServer(t, &book{err: tt.err})
			a := do(t, s, "POST", "/v1/runs", "")
			a.want(t, http.StatusServiceUnavailable, tt.code)
			if tt.code != "ledger_unavailable" {
				return
			}
			for _, path := range []string{"/v1/runs", "/v1/runs/reviews/1", "/v1/jobs"} {
				a := do(t, s, "GET", path, "")
				if a.want(t, 503, "ledger_unavailable"); a.Detail == "" || contains(a.Body, "hunter2") {
					t.Errorf("answered %s", a.Body)
				}
			}
		})
	}
}
