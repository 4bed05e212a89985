package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// service is the real service on a port.
type service struct {
	t       *testing.T
	url     string
	metrics string // the address of metrics, where they have one of their own
	program *program
	stop    context.CancelFunc
	ended   chan int
}

// serve starts the service and waits until it listens. At the end of the test it is
// stopped, and nothing that it said may show a secret.
func (s *stage) serve(config string, args ...string) *service {
	s.t.Helper()
	return s.serveAt(config, time.Now, args...)
}

// serveAt is serve with a clock.
func (s *stage) serveAt(config string, now func() time.Time, args ...string) *service {
	s.t.Helper()
	v := &service{t: s.t, program: newProgram(nil), ended: make(chan int, 1)}
	ready := make(chan string, 1)
	v.program.Now = now
	v.program.Ready = func(addrs map[string]string) { v.metrics = addrs["metrics"]; ready <- addrs["api"] }
	ctx, stop := context.WithCancel(context.Background())
	v.stop = stop
	go func() { v.ended <- v.program.Run(ctx, append([]string{"--config", config, "serve"}, args...)) }()
	select {
	case v.url = <-ready:
	case code := <-v.ended:
		s.t.Fatalf("exit %d: %s", code, v.program.err.String())
	}
	s.t.Cleanup(v.end)
	return v
}

// end stops the service; again is no harm.
func (v *service) end() {
	v.t.Helper()
	if v.stop(); v.ended == nil {
		return
	}
	if code := <-v.ended; code != exitOK {
		v.t.Errorf("the service ended with %d: %s", code, v.program.err.String())
	}
	v.ended = nil
	wantNoSecret(v.t, v.program.out.String()+v.program.err.String())
}

// answer is what came back over HTTP.
type answer struct {
	status int
	header http.Header
	body   string
	doc    claim.Document
	code   string // of a problem document
}

// ask sends a request with the token. headers are names and values in turn; one that
// is named Authorization takes the token's place.
func (v *service) ask(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, v.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+apiToken)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
	var code struct{ Code string }
	if resp.Header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(b, &code); err != nil {
			return a, err
		}
		a.code = code.Code
		_ = json.Unmarshal(b, &a.doc) // a problem is no document
	}
	return a, nil
}

// must asks and fails unless that status comes back.
func (v *service) must(status int, method, path, body string, headers ...string) answer {
	v.t.Helper()
	a, err := v.ask(v.t.Context(), method, path, body, headers...)
	if err != nil {
		v.t.Fatal(err)
	}
	if a.status != status {
		v.t.Errorf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
	}
	wantNoSecret(v.t, a.body)
	return a
}

// atOnce posts the bodies at the same moment and answers what came back.
func (v *service) atOnce(bodies ...string) []answer {
	v.t.Helper()
	answers := make([]answer, len(bodies))
	var all sync.WaitGroup
	for i, body := range bodies {
		all.Go(func() { answers[i] = v.must(http.StatusOK, "POST", "/v1/runs", body) })
	}
	all.Wait()
	return answers
}

func TestThreeRunsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(5))
	v := s.serve(s.secured())
	var outcomes []string
	for _, a := range v.atOnce(`{"run_id": "a"}`, `{"run_id": "b"}`, `{"run_id": "c"}`) {
		outcomes = append(outcomes, string(a.doc.Outcome))
	}
	slices.Sort(outcomes)
	if want := []string{"overlapped", "overlapped", "sent"}; !slices.Equal(outcomes, want) {
		t.Errorf("outcomes %v, want %v", outcomes, want)
	}
	s.wantOneEach(5)
	var list struct {
		Jobs []struct {
			Overlap struct {
				Runs       int    `json:"runs"`
				Overlapped int    `json:"overlapped_runs"`
				Detail     string `json:"detail"`
			} `json:"overlap"`
		} `json:"jobs"`
	}
	a := v.must(http.StatusOK, "GET", "/v1/jobs", "")
	if err := json.Unmarshal([]byte(a.body), &list); err != nil {
		t.Fatal(err)
	}
	o := list.Jobs[0].Overlap
	if o.Runs != 3 || o.Overlapped != 2 || !strings.Contains(o.Detail, "2 of 3 runs") {
		t.Errorf("the job says of its overlaps: %s", a.body)
	}
}

// AP02: one name is one run, however many ask for it, and keeps its result.
func TestAP02OneNameIsOneRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	v := s.serve(s.secured())
	const body = `{"job": "test", "run_id": "4711"}`
	answers := v.atOnce(slices.Repeat([]string{body}, 10)...)
	for _, a := range answers {
		if a.body != answers[0].body {
			t.Errorf("two answers of one run:\n%s%s", a.body, answers[0].body)
		}
	}
	if d := answers[0].doc; d.Outcome != claim.RunSent || d.Counts.Sent != 3 {
		t.Errorf("%s", answers[0].body)
	}
	if a := v.must(http.StatusOK, "POST", "/v1/runs", body); a.body != answers[0].body || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("asked again: %v\n%s", a.header, a.body)
	}
	for name, tc := range map[string]struct {
		status int
		code   string
		body   string
		key    string
	}{
		"other request":       {http.StatusUnprocessableEntity, "run_id_reused", `{"run_id": "4711", "limit": 1}`, ""},
		"same name as a key":  {http.StatusOK, "", `{}`, "4711"},
		"two names":           {http.StatusBadRequest, "run_id_conflict", `{"run_id": "4711"}`, "4712"},
		"key of 256":          {http.StatusBadRequest, "idempotency_key_invalid", `{}`, strings.Repeat("k", 256)},
		"run_id of dots":      {http.StatusBadRequest, "run_id_invalid", `{"run_id": ".."}`, ""},
		"empty run_id":        {http.StatusBadRequest, "run_id_invalid", `{"run_id": ""}`, ""},
		"job that is not one": {http.StatusNotFound, "job_unknown", `{"job": "tset"}`, ""},
	} {
		headers := []string{"Content-Type", "application/json"}
		if tc.key != "" {
			headers = append(headers, "Idempotency-Key", tc.key)
		}
		if a := v.must(tc.status, "POST", "/v1/runs", tc.body, headers...); a.code != tc.code {
			t.Errorf("%s: code %q, want %q: %s", name, a.code, tc.code, a.body)
		}
	}
	var list struct{ Runs []claim.Document }
	if a := v.must(http.StatusOK, "GET", "/v1/runs", ""); json.Unmarshal([]byte(a.body), &list) != nil || len(list.Runs) != 1 {
		t.Errorf("want one run: %s", a.body)
	}
	s.wantOneEach(3)
}

// AP01: a caller gives up while the run goes on, and asks again.
func TestAP01CallerGivesUpAndAsksAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	v := s.serve(s.secured())
	key := []string{"Idempotency-Key", "abc", "Content-Type", "application/json"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if a, err := v.ask(ctx, "POST", "/v1/runs", `{}`, key...); err == nil {
		t.Errorf("the first answer came within a second: %s", a.body)
	}

	asked := time.Now()
	early := v.must(http.StatusAccepted, "POST", "/v1/runs", `{}`, append(key, "Prefer", "respond-async")...)
	if took := time.Since(asked); took > 5*time.Second {
		t.Errorf("202 came after %v", took)
	}
	location := early.header.Get("Location")
	if location != "/v1/runs/test/abc" || early.doc.State != claim.RunRunning || early.header.Get("Preference-Applied") != "respond-async" {
		t.Errorf("%v\n%s", early.header, early.body)
	}

	time.Sleep(time.Until(asked.Add(3 * time.Second)))
	late := v.must(http.StatusOK, "POST", "/v1/runs", `{}`, key...)
	if !late.doc.StartedAt.Equal(early.doc.StartedAt) || late.doc.RunID != "abc" {
		t.Errorf("another run answers:\n%s%s", early.body, late.body)
	}
	got := v.must(http.StatusOK, "GET", location, "")
	if got.doc.Outcome != claim.RunSent || len(got.doc.Rows) != 3 || got.body != late.body {
		t.Errorf("%s", got.body)
	}
	for i, r := range got.doc.Rows {
		if r.Key != fmt.Sprintf("k%d", i+1) || r.Outcome != claim.Sent || r.MessageID == "" {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	s.wantOneEach(3)
}

// AP04: of 100 messages three fail; the report says which, the same from the API and
// from the command line.
func TestAP04OneEntryPerRow(t *testing.T) {
	t.Parallel()
	const n, reply = 100, "550 5.1.1 no such user"
	s := newStage(t, dueRows(n))
	config := s.secured("limit: 100")
	fails := map[string]bool{"k10": true, "k50": true, "k90": true}
	var rules []smtpsink.Rule
	for key := range fails {
		rules = append(rules, smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: reply, Recipient: "guest" + key[1:] + "@example.com"})
	}
	s.sink.SetRules(rules...)
	v := s.serve(config)
	a := v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "april"}`)
	d := a.doc
	if d.Outcome != claim.RunPartial || d.Counts.Sent != n-3 || d.Counts.Rejected != 3 || len(d.Rows) != n || len(s.sink.Messages()) != n-3 {
		t.Errorf("%s, %d rows: %s", d.Outcome, len(d.Rows), d.Detail)
	}
	ids := map[string]bool{}
	for i, r := range d.Rows {
		want := claim.RowReport{
			Row: i + 2, Key: fmt.Sprintf("k%d", i+1), Email: fmt.Sprintf("guest%d@example.com", i+1), Outcome: claim.Sent, Attempt: 1,
			MessageID: r.MessageID, SMTPReply: r.SMTPReply, Status: "sent", At: r.At,
		}
		if fails[r.Key] {
			want.Outcome, want.SMTPReply, want.Reason, want.Status = claim.Rejected, reply, reply, "rejected: "+reply
		}
		if r != want || r.At == nil || time.Since(*r.At) > time.Minute || !strings.Contains(r.MessageID, "@acme.test") || ids[r.MessageID] ||
			!fails[r.Key] && !strings.HasPrefix(r.SMTPReply, "250 2.0.0 queued as Q") {
			t.Errorf("row %+v\nwant %+v", r, want)
		}
		ids[r.MessageID] = true
	}

	p := startRun(t, config, "april") // a process of its own, while the service lives
	if _, code := p.wait(t); code != exitSome {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	var fromAPI, fromCLI any
	if json.Unmarshal([]byte(a.body), &fromAPI) != nil || json.Unmarshal(p.out.Bytes(), &fromCLI) != nil || !reflect.DeepEqual(fromAPI, fromCLI) {
		t.Errorf("the API answers\n%s\nand the command prints\n%s", a.body, p.out.String())
	}
	wantNoSecret(t, p.out.String()+p.err.String())
	if len(s.sink.Messages()) != n-3 {
		t.Errorf("%d messages after the replay", len(s.sink.Messages()))
	}
}

// AP05: other machines are let in only with a token.
func TestAP05OpenToOtherMachinesWithTokenOnly(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.config("none")
	refused := func(want string, args ...string) {
		t.Helper()
		p := newProgram(nil)
		code := p.Run(t.Context(), append([]string{"--config", config, "serve"}, args...))
		if said := p.err.String(); code != exitError || !strings.Contains(said, "can be reached from other machines") || !strings.Contains(said, want) {
			t.Errorf("exit %d: %s", code, said)
		}
	}
	refused("token", "--listen", "0.0.0.0:0")
	s.edit(config, "127.0.0.1:0", "0.0.0.0:0")
	refused("add api.tokens, or listen on 127.0.0.1")

	config = s.secured()
	s.edit(config, "127.0.0.1:0", "0.0.0.0:0")
	v := s.serve(config)
	v.url = strings.Replace(v.url, "0.0.0.0", "127.0.0.1", 1)
	for _, path := range []string{"/healthz", "/readyz", "/openapi.yaml"} {
		v.must(http.StatusOK, "GET", path, "", "Authorization", "")
	}
	for _, auth := range []string{"", "Bearer ", "Bearer wrong", "Bearer " + apiToken + "x", "Basic " + apiToken} {
		for _, path := range []string{"/v1/jobs", "/v1/runs", "/v1/runs/test/a", "/v1/nothing"} {
			if a := v.must(http.StatusUnauthorized, "GET", path, "", "Authorization", auth); a.code != "unauthorized" || a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%q: %s", auth, a.body)
			}
		}
		v.must(http.StatusUnauthorized, "POST", "/v1/runs", `{}`, "Authorization", auth)
	}
	v.must(http.StatusOK, "GET", "/v1/jobs", "")
	s.wantUntouched()
}
