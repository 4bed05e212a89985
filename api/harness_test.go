package api_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// secret is the token of the tests.
const secret = "correct-horse-battery-staple"

func job(name string) api.JobInfo {
	return api.JobInfo{
		Job: &claim.Job{
			Name: name, Target: claim.Target{Spreadsheet: "S1", Range: "Visits!A1:H"},
			Limit: 50, Wait: 15 * time.Second, Lease: 5 * time.Minute, Delay: 48 * time.Hour,
			OnDoubt: claim.Stop, MaxAttempts: 3, RetryAfter: 15 * time.Minute, FirstRunLimit: 200,
		},
		AllowRanges:       []string{"Archive!A1:H"},
		AllowSpreadsheets: []string{"S2"},
		Schedule:          "*/5 * * * *",
		Timezone:          "Europe/Berlin",
	}
}

// newServer makes a server over a book of runs. It has the job reviews and no
// tokens, unless edit says otherwise.
func newServer(t *testing.T, b *book, edit ...func(*api.Config)) *api.Server {
	t.Helper()
	cfg := api.Config{
		Listen: "127.0.0.1:8080", Jobs: []api.JobInfo{job("reviews")}, Start: b, Runs: b, Preview: b,
		Log: slog.New(slog.DiscardHandler), NewRunID: func() string { return "made-up" },
	}
	for _, e := range edit {
		e(&cfg)
	}
	s, err := api.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return s
}

func withToken(cfg *api.Config) { cfg.Tokens = []api.Token{{Name: "n8n", Token: secret}} }

func withJobs(names ...string) func(*api.Config) {
	return func(cfg *api.Config) {
		cfg.Jobs = nil
		for _, name := range names {
			cfg.Jobs = append(cfg.Jobs, job(name))
		}
	}
}

// answer is what came back, as a flow sees it.
type answer struct {
	Status int
	Header http.Header
	Body   string
	Run    claim.Document // of answers that are one
	Problem
}

// Problem is a problem document, read as a caller would.
type Problem struct {
	Code, Title, Detail, Instance, Field string
	ProblemStatus                        int `json:"status"`
	Allowed                              []string
}

// request makes a request as n8n sends it. Headers are written "Name: value".
func request(method, path, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	r.Header.Set("Accept", "application/json,text/html;q=0.9,*/*;q=0.8")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		if name == "Prefer" || name == "Idempotency-Key" {
			r.Header.Add(name, value)
			continue
		}
		r.Header.Set(name, value)
	}
	return r
}

// do sends a request to the handler and holds both sides to openapi.yaml.
func do(t *testing.T, s *api.Server, method, path, body string, headers ...string) answer {
	t.Helper()
	return send(t, s, request(method, path, body, headers...))
}

func send(t *testing.T, s *api.Server, r *http.Request) answer {
	t.Helper()
	sent := readAll(t, r.Body)
	r.Body = io.NopCloser(strings.NewReader(sent))
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, r)
	return heard(t, r, sent, rec)
}

// heard reads what a recorder got, and checks it.
func heard(t *testing.T, r *http.Request, sent string, rec *httptest.ResponseRecorder) answer {
	t.Helper()
	a := answer{Status: rec.Code, Header: rec.Header(), Body: rec.Body.String()}
	a.read(t)
	hold(t, r, sent, a)
	return a
}

// read takes the body apart, and checks what is true of every answer.
func (a *answer) read(t *testing.T) {
	t.Helper()
	if a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v lack nosniff or no-store", a.Header)
	}
	if a.Header.Get("Referrer-Policy") != "no-referrer" || a.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("headers %v lack a policy for browsers", a.Header)
	}
	if kind := a.Header.Get("Content-Type"); strings.HasSuffix(kind, "yaml") || strings.HasPrefix(kind, "text/plain") {
		return
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.Body), &members); err != nil {
		t.Fatalf("the body is no JSON object: %v\n%s", err, a.Body)
	}
	if _, ok := members["error"]; ok {
		t.Errorf("the body has a member error, which n8n takes for a failure: %s", a.Body)
	}
	into := any(&a.Problem)
	if _, ok := members["code"]; !ok {
		into = &a.Run
	}
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		t.Fatalf("the body cannot be read: %v\n%s", err, a.Body)
	}
	if a.Code != "" && (a.ProblemStatus != a.Status || a.Title != http.StatusText(a.Status) || a.Detail == "" || a.Instance == "") {
		t.Errorf("problem with status %d is not complete: %s", a.Status, a.Body)
	}
}

// want compares status and code.
func (a answer) want(t *testing.T, status int, code string) {
	t.Helper()
	if a.Status != status || a.Code != code {
		t.Fatalf("answered %d %q, want %d %q\n%s", a.Status, a.Code, status, code, a.Body)
	}
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(data)
}

// hangUp is a request whose caller leaves after d.
func hangUp(r *http.Request, d time.Duration) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(r.Context(), d)
	return r.WithContext(ctx), cancel
}
