package alert_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/alert"
	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// receiver is whoever is called back; answer says what the nth call gets.
type receiver struct {
	mu     sync.Mutex
	calls  []time.Time
	bodies []string
	answer func(n int) int // 0: no answer
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.bodies = append(r.calls, time.Now()), append(r.bodies, string(body))
	if got, want := req.Header.Get(alert.SignatureHeader), alert.Sign("hush", time.Now(), body); got != want {
		return nil, fmt.Errorf("signed %q, want %q", got, want)
	}
	status := r.answer(len(r.calls))
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Location": {"https://elsewhere.example/"}}, Body: http.NoBody, Request: req}, nil
}

// called carries out one callback of a run that has ended, with n processes on one
// ledger, for so long, and answers what became of it.
func called(t *testing.T, n int, r *receiver, long time.Duration) (alerts []claim.QueuedAlert, open []claim.Callback) {
	t.Helper()
	return calledIf(t, func(string) bool { return true }, n, r, long)
}

// calledIf is called where not all addresses are allowed.
func calledIf(t *testing.T, allowed func(string) bool, n int, r *receiver, long time.Duration) (alerts []claim.QueuedAlert, open []claim.Callback) {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "l.db")
	synctest.Test(t, func(t *testing.T) {
		book, err := ledger.Open(ctx, path, ledger.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer book.Close()
		rec, _, err := book.Begin(ctx, claim.RunRequest{Job: "reviews", ID: "4711", Lease: time.Minute}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		d := claim.Document{Job: "reviews", RunID: "4711", State: claim.RunFinished, Outcome: claim.RunSent, Detail: "<3 sent>"}
		if err := errors.Join(book.Finish(ctx, rec.RunRef, d, true), book.AskCallback(ctx, rec.RunRef, "https://n8n.internal/x?secret=s")); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		within, cancel := context.WithTimeout(ctx, long)
		defer cancel()
		var all sync.WaitGroup
		for range n {
			c := &alert.Caller{
				Book: book, Report: book.Report, Secret: "hush", Allowed: allowed, Client: alert.NewPoster(r), Now: time.Now,
				Log: slog.New(slog.NewTextHandler(&log, nil)),
				Wait: func(ctx context.Context, d time.Duration) error {
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(d):
						return nil
					}
				},
			}
			if n > 1 {
				c.Log = slog.New(slog.DiscardHandler)
			}
			all.Go(func() { c.Run(within) })
		}
		all.Wait()
		if strings.Contains(log.String(), "secret=") {
			t.Errorf("the log shows the address: %s", log.String())
		}
		if alerts, err = book.Alerts(ctx); err != nil {
			t.Error(err)
		}
		if open, err = book.DueCallbacks(ctx, time.Now().Add(time.Hour), 9); err != nil {
			t.Error(err)
		}
	})
	return alerts, open
}

// A host that was taken out of the configuration is not called any more, and called
// again when it is back within the hour.
func TestCallbackIsAllowedAtEachTry(t *testing.T) {
	r := &receiver{answer: func(int) int { return 204 }}
	asked := 0
	alerts, open := calledIf(t, func(address string) bool {
		asked++
		return address == "https://n8n.internal/x?secret=s" && asked > 3
	}, 1, r, time.Hour)
	if asked != 4 || len(r.calls) != 1 || len(alerts) != 0 || len(open) != 0 {
		t.Errorf("asked %d times, %d calls, alerts %v, open %v", asked, len(r.calls), alerts, open)
	}
	r = &receiver{answer: func(int) int { return 204 }}
	alerts, open = calledIf(t, func(string) bool { return false }, 1, r, 2*time.Hour)
	if len(r.calls) != 0 || len(open) != 0 || len(alerts) != 1 || !strings.Contains(alerts[0].Seen, "api.callback_hosts") {
		t.Errorf("%d calls, alerts %v, open %v", len(r.calls), alerts, open)
	}
}

func TestCallbackIsTriedUntilItIsTaken(t *testing.T) {
	r := &receiver{answer: func(n int) int { return []int{0, 500, 404, 302, 204}[n-1] }}
	alerts, open := called(t, 1, r, time.Hour)
	if len(r.calls) != 5 || len(alerts) != 0 || len(open) != 0 {
		t.Fatalf("%d calls, alerts %v, open %v", len(r.calls), alerts, open)
	}
	var d claim.Document
	if err := json.Unmarshal([]byte(r.bodies[4]), &d); err != nil || d.Detail != "<3 sent>" || !strings.Contains(r.bodies[4], `"rows":[]`) || !strings.Contains(r.bodies[4], "<3") {
		t.Errorf("body %s", r.bodies[4])
	}
	for i := 1; i < len(r.calls); i++ {
		if wait, least := r.calls[i].Sub(r.calls[i-1]), 5*time.Second<<(i-1); wait < least || wait > least+5*time.Second {
			t.Errorf("call %d came %v after the one before", i+1, wait)
		}
	}
}

func TestCallbackIsGivenUpAfterAnHour(t *testing.T) {
	r := &receiver{answer: func(int) int { return 500 }}
	alerts, open := called(t, 1, r, 5*time.Hour)
	if long := r.calls[len(r.calls)-1].Sub(r.calls[0]); long < time.Hour || long > 66*time.Minute || len(open) != 0 {
		t.Errorf("tried for %v, open %v", long, open)
	}
	if len(alerts) != 1 || alerts[0].Cause != "callback" || alerts[0].Run != "4711" || strings.Contains(alerts[0].Seen, "secret=") || !strings.Contains(alerts[0].Seen, "n8n.internal") {
		t.Errorf("alerts %+v", alerts)
	}
}

func TestCallbackOfSeveralProcessesIsOne(t *testing.T) {
	r := &receiver{answer: func(int) int { return 200 }}
	if _, open := called(t, 4, r, time.Hour); len(r.calls) != 1 || len(open) != 0 {
		t.Errorf("%d calls, open %v", len(r.calls), open)
	}
}
