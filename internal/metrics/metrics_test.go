package metrics_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/metrics"
)

// ledger answers scrapes, and counts how often it was asked.
type ledger struct {
	asked   int
	err     error
	hangs   bool
	unknown int
}

func (l *ledger) standing(ctx context.Context) (claim.Standing, error) {
	l.asked++
	if l.hangs {
		<-ctx.Done()
		return claim.Standing{}, ctx.Err()
	}
	return claim.Standing{Jobs: map[string]claim.JobStanding{"gone": {Unknown: l.unknown}}}, l.err
}

func newMetrics(l *ledger) *metrics.Metrics {
	return metrics.New(metrics.Config{
		Jobs: []string{"reviews"}, Now: time.Now, Standing: l.standing,
		Overlap: func(context.Context, string) (claim.Overlap, error) {
			return claim.Overlap{RunTime: 3 * time.Minute, Interval: 4 * time.Minute, Runs: 9, Overlapped: 2}, nil
		},
	})
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if rec.Code != 200 {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func want(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("the scrape lacks %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// However often somebody scrapes, the ledger is asked once in a while.
func TestScrapesAskTheLedgerSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{unknown: 2}
		m := newMetrics(l)
		for range 10 {
			want(t, scrape(t, m), "sheetclaim_ledger_up 1", `sheetclaim_overlap_ratio{job_name="reviews"} 0.75`,
				`sheetclaim_unknown_messages{job_name="reviews"} 0`, `sheetclaim_unknown_messages{job_name="gone"} 2`)
			time.Sleep(time.Second)
		}
		if l.asked != 1 {
			t.Errorf("the ledger was asked %d times in 10 s", l.asked)
		}
		time.Sleep(10 * time.Second)
		l.unknown = 0
		want(t, scrape(t, m), `sheetclaim_unknown_messages{job_name="gone"} 0`)
	})
}

// A ledger that does not answer is said, soon, and hides nothing else.
func TestScrapeWithoutLedger(t *testing.T) {
	for _, l := range []*ledger{{err: errors.New("disk I/O error")}, {hangs: true}} {
		synctest.Test(t, func(t *testing.T) {
			m := newMetrics(l)
			began := time.Now()
			text := scrape(t, m)
			want(t, text, "sheetclaim_ledger_up 0", `sheetclaim_runs_total{job_name="reviews",outcome="sent"} 0`)
			if strings.Contains(text, "sheetclaim_unknown_messages{") {
				t.Error("what is not known is shown")
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestRunsInFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMetrics(&ledger{})
		ref := claim.RunRef{Job: "reviews", ID: "4711"}
		_, ended := m.Run(t.Context(), ref)
		want(t, scrape(t, m), `sheetclaim_runs_in_progress{job_name="reviews"} 1`)
		_, waited := m.Step(t.Context(), ref, claim.StepWait)
		time.Sleep(15 * time.Second)
		waited(nil)
		ended(claim.Document{
			Outcome: claim.RunStopped, Counts: claim.Counts{Due: 3}, DueSince: time.Now().Add(-time.Minute),
			Rows: []claim.RowReport{{Outcome: claim.Sent}, {Outcome: claim.Skipped}, {Outcome: claim.Released}}, Doubts: []claim.Doubt{{Kind: claim.ClaimMissing}},
		})
		seen := []string{
			`sheetclaim_doubts_total{job_name="reviews",kind="claim_missing"} 1`,
			`sheetclaim_doubts_open{job_name="reviews",kind="claim_missing"} 1`,
			`sheetclaim_due_rows{job_name="reviews"} 3`,
			`sheetclaim_rows_total{job_name="reviews",outcome="released"} 1`,
		}
		want(t, scrape(t, m), append(seen, `sheetclaim_step_seconds_total{job_name="reviews",step="wait"} 15`,
			`sheetclaim_run_duration_seconds_sum{job_name="reviews"} 15`, `sheetclaim_oldest_due_row_age_seconds{job_name="reviews"} 60`)...)

		// A dry run and one that saw nothing change nothing of what is due.
		for _, o := range []claim.RunOutcome{claim.RunDry, claim.RunFailed} {
			_, ended := m.Run(t.Context(), ref)
			ended(claim.Document{Outcome: o})
			want(t, scrape(t, m), append(seen, `sheetclaim_runs_total{job_name="reviews",outcome="`+string(o)+`"} 1`)...)
		}
		_, ended = m.Run(t.Context(), ref)
		ended(claim.Document{Counts: claim.Counts{Due: 3}, DueSince: time.Now().Add(-time.Minute), Rows: []claim.RowReport{{Key: "B-1"}}, Doubts: []claim.Doubt{{Kind: claim.ClaimMissing}}})
		want(t, scrape(t, m), `sheetclaim_runs_total{job_name="reviews",outcome="handed_out"} 1`)
		time.Sleep(time.Hour)
		want(t, scrape(t, m), `sheetclaim_oldest_due_row_age_seconds{job_name="reviews"} 3660`)

		_, ended = m.Run(t.Context(), ref)
		ended(claim.Document{Outcome: claim.RunNothingDue})
		want(t, scrape(t, m), `sheetclaim_oldest_due_row_age_seconds{job_name="reviews"} 0`,
			`sheetclaim_doubts_open{job_name="reviews",kind="claim_missing"} 0`, `sheetclaim_doubts_total{job_name="reviews",kind="claim_missing"} 2`)
	})
}
