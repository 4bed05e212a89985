package api_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// The tests of this file put the handlers over a real claim.Service, whose sheet
// keeps every run waiting until the test lets go.

// stuckSheet answers its reads when open is closed, and then with an error.
type stuckSheet struct {
	claim.Sheet
	open  chan struct{}
	reads chan struct{} // one for each read that began
}

func (s *stuckSheet) Read(ctx context.Context, _ claim.Target, _ claim.Ask) (*claim.Grid, error) {
	s.reads <- struct{}{}
	select {
	case <-s.open:
		return nil, &claim.SheetError{Problem: "the sheet is gone", Advice: "look for it"}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// emptyLedger knows nothing.
type emptyLedger struct{ claim.Ledger }

func (emptyLedger) Paused(context.Context, string) (time.Time, error) { return time.Time{}, nil }
func (emptyLedger) Orphans(context.Context, string) ([]claim.Message, []claim.OpenBatch, error) {
	return nil, nil, nil
}
func (emptyLedger) Report(context.Context, claim.RunRef, []claim.Report) error { return nil }

// memory is claim.Runs for one process.
type memory struct {
	mu     sync.Mutex
	begins sync.WaitGroup // one for each Begin that the test waits for
	recs   map[string]claim.RunRecord
}

func (m *memory) Begin(ctx context.Context, r claim.RunRequest, now time.Time) (claim.RunRecord, bool, error) {
	defer m.begins.Done()
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec, ok := m.recs[r.Job+"/"+r.ID]; ok {
		return rec, false, ctx.Err()
	}
	rec := claim.RunRecord{
		RunRef: claim.RunRef{Job: r.Job, ID: r.ID, Seq: int64(len(m.recs) + 1)}, Params: r.Params, Alive: true,
		Document: claim.Document{Job: r.Job, RunID: r.ID, State: claim.RunRunning, StartedAt: now},
	}
	m.recs[r.Job+"/"+r.ID] = rec
	return rec, true, ctx.Err()
}

func (m *memory) Save(_ context.Context, run claim.RunRef, d claim.Document) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.recs[run.Job+"/"+run.ID]
	rec.Document = d
	m.recs[run.Job+"/"+run.ID] = rec
	return nil
}

func (m *memory) Finish(ctx context.Context, run claim.RunRef, d claim.Document, _ bool) error {
	return m.Save(ctx, run, d)
}

func (m *memory) Find(_ context.Context, job, id string) (claim.RunRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec, ok := m.recs[job+"/"+id]; ok {
		return rec, nil
	}
	return claim.RunRecord{}, claim.ErrNoRun
}

func (m *memory) Recent(context.Context, string, int) ([]claim.RunRecord, error) {
	return nil, errors.New("not asked for")
}

func (m *memory) Abandoned(context.Context, string) ([]claim.RunRecord, error) { return nil, nil }

// newService makes a service over a stuck sheet, with its server.
func newService(t *testing.T) (*api.Server, *memory, *stuckSheet, *claim.Service) {
	t.Helper()
	sheet := &stuckSheet{open: make(chan struct{}), reads: make(chan struct{}, 100)}
	runs := &memory{recs: map[string]claim.RunRecord{}}
	log := slog.New(slog.DiscardHandler)
	wait := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	svc := &claim.Service{
		Jobs: map[string]*claim.Job{"reviews": job("reviews").Job},
		Worker: func() *claim.Worker {
			return &claim.Worker{
				Sheet: sheet, Ledger: emptyLedger{}, Now: time.Now, Wait: wait, Log: log,
				NewMark: func() string { return "mark" }, Calls: func() claim.APICalls { return claim.APICalls{} },
			}
		},
		Ledger: emptyLedger{}, Runs: runs, Instance: "i", Memory: time.Hour, Now: time.Now, Wait: wait, Log: log,
	}
	svc.Open()
	t.Cleanup(svc.Close)
	return newServer(t, nil, func(c *api.Config) { c.Start, c.Runs = api.Service(svc), runs }), runs, sheet, svc
}

// n8n sends all items of a node at once, with one execution id.
func TestManyRequestsAtOnceAreOneRun(t *testing.T) {
	const many = 50
	s, runs, sheet, _ := newService(t)
	runs.begins.Add(many)
	const body = `{"run_id": "4711"}`
	recs := make([]*httptest.ResponseRecorder, many)
	var all sync.WaitGroup
	for i := range recs {
		recs[i] = httptest.NewRecorder()
		all.Go(func() { s.Handler().ServeHTTP(recs[i], request("POST", "/v1/runs", body)) })
	}
	runs.begins.Wait()
	close(sheet.open)
	all.Wait()
	for _, rec := range recs {
		a := heard(t, request("POST", "/v1/runs", body), body, rec)
		a.want(t, 502, "")
		if a.Run.RunID != "4711" || a.Body != recs[0].Body.String() {
			t.Errorf("answered %s, want %s", a.Body, recs[0].Body)
		}
	}
	if len(sheet.reads) != 1 {
		t.Errorf("the sheet was read %d times, want once", len(sheet.reads))
	}
}

// The context of a request that is called off reaches neither the ledger nor the run.
func TestRunSurvivesItsConnection(t *testing.T) {
	s, runs, sheet, _ := newService(t)
	runs.begins.Add(2)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	send(t, s, request("POST", "/v1/runs", `{"run_id": "1"}`).WithContext(gone)).want(t, http.StatusAccepted, "")
	<-sheet.reads // the run is on its way
	close(sheet.open)
	a := do(t, s, "POST", "/v1/runs", `{"run_id": "1"}`)
	if a.want(t, 502, ""); a.Run.Outcome != claim.RunFailed {
		t.Errorf("answered %s", a.Body)
	}
}

func TestServiceThatStops(t *testing.T) {
	s, _, _, svc := newService(t)
	svc.Close()
	a := do(t, s, "POST", "/v1/runs", "")
	if a.want(t, 503, "stopping"); a.Header.Get("Retry-After") == "" {
		t.Errorf("headers %v", a.Header)
	}
}
