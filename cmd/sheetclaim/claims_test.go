package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/check"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// A flow claims rows over HTTP, does the work itself and settles each; n8n sends all
// its items at once, with one execution id.
func TestClaimOnlyOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(6))
	v := s.serve(s.secured())
	var mu sync.Mutex
	var rows []claim.Handed
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			var doc struct {
				Rows   []claim.Handed
				Count  int
				Detail string
			}
			a := v.must(http.StatusOK, "POST", "/v1/claims", `{"job": "test", "run_id": "4711"}`)
			if err := json.Unmarshal([]byte(a.body), &doc); err != nil || doc.Count != 6 || !strings.HasPrefix(doc.Detail, "6 of 6 due rows handed out") {
				t.Errorf("%v: %s", err, a.body)
			}
			mu.Lock()
			defer mu.Unlock()
			rows = append(rows, doc.Rows...)
		})
	}
	all.Wait()
	if len(rows) != 6 {
		t.Fatalf("%d rows were handed out, want 6", len(rows))
	}
	for i, r := range rows {
		outcome := "sent"
		if i == 5 {
			outcome = "failed"
		}
		all.Go(func() {
			a := v.must(http.StatusOK, "POST", "/v1/claims/settle", fmt.Sprintf(`{"run_id": "4711", "key": %q, "outcome": %q, "reason": "busy"}`, r.Key, outcome))
			if !strings.Contains(a.body, `"marked":true`) {
				t.Errorf("settled %s: %s", r.Key, a.body)
			}
		})
	}
	all.Wait()
	d := v.must(http.StatusOK, "GET", "/v1/runs/test/4711", "").doc
	if d.State != claim.RunFinished || d.Outcome != claim.RunPartial || d.Counts.Sent != 5 || d.Counts.Failed != 1 {
		t.Errorf("the run's document is %+v", d)
	}
	want := map[string]int{"sent": 5, "failed 1/3: busy": 1}
	got := map[string]int{}
	for _, row := range s.emu.Grid(stageSheet, stageTab)[1:7] {
		got[row[3]]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the status cells read %v, want %v", got, want)
	}
	if n := len(s.sink.Messages()); n != 0 {
		t.Errorf("sheetclaim sent %d messages itself", n)
	}
	v.must(http.StatusOK, "POST", "/v1/claims/settle", `{"run_id": "4711", "key": "k1", "outcome": "sent"}`) // said before, counted once
	figures := s.scrape(v.url)
	for outcome, n := range map[string]float64{"sent": 5, "failed": 1} {
		if got := figures.values[`sheetclaim_rows_total{job_name="test",outcome="`+outcome+`"}`]; got != n {
			t.Errorf("the figures count %v rows as %s, want %v", got, outcome, n)
		}
	}
}

// A configuration whose jobs are all claim_only needs no smtp section: each command
// takes it as it is.
func TestClaimOnlyWithoutAMailServer(t *testing.T) {
	t.Parallel()
	rows := append(dueRows(2), []any{"K-bad", "no address", "", ""})
	s := newStage(t, rows)
	text := fmt.Sprintf("google: {endpoint: %q}\napi: {listen: '127.0.0.1:0'}\njobs:\n  test:\n    claim_only: true\n    wait: 2s\n    spreadsheet: %s\n    range: %s!A1:Z\n    columns: {key: key, email: email, status: status}\n",
		s.url, stageSheet, stageTab)
	config := filepath.Join(s.dir, "claim-only.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := s.check(config)
	c.exits(0)
	c.want("mail server", check.OK, "none is needed")
	c.want("due rows", check.OK, "2 rows would be")
	c.want("row faults", check.Warn, "no address")

	v := s.serve(config)
	a := v.must(http.StatusOK, "POST", "/v1/claims", `{"job": "test", "run_id": "1"}`)
	var doc struct{ Rows []claim.Handed }
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || len(doc.Rows) != 2 {
		t.Errorf("%v: %s", err, a.body)
	}
	v.must(http.StatusOK, "POST", "/v1/claims/settle", `{"run_id": "1", "key": "k1", "outcome": "unknown"}`)
	wantIn(t, s.says(exitOK, config, "doubts"), "k1, row 2", "the caller of that run")
}
