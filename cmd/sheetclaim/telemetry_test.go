package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// scraped is an answer of /metrics: values by series, and the names of metrics.
type scraped struct {
	values map[string]float64
	names  []string // of sheetclaim's own
}

func (s *stage) scrape(url string) scraped {
	s.t.Helper()
	resp, err := http.Get(url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	got := scraped{values: map[string]float64{}}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "# TYPE sheetclaim_"); ok {
			name, _, _ = strings.Cut(name, " ")
			got.names = append(got.names, "sheetclaim_"+name)
		}
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			if got.values[line[:i]], err = strconv.ParseFloat(line[i+1:], 64); err != nil {
				s.t.Fatalf("%q: %v", line, err)
			}
		}
	}
	if err := lines.Err(); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	return got
}

// One run of which each row ends in its own way shows in the figures, without a token.
func TestMetrics(t *testing.T) {
	t.Parallel()
	rows := append(dueRows(3), []any{"k4", "no address", "2026-01-01", ""})
	s := newStage(t, rows)
	config := s.secured(`schedule: "0 3 29 2 *"`, "timezone: Europe/Berlin") // so that there is an interval
	s.edit(config, "api: {", "alerts: {webhook: {url: 'http://127.0.0.1:9/', secret: x}}\napi: {")
	s.sink.SetRules(
		smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 <guest2@example.com> no such user", Recipient: "guest2@example.com"},
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Recipient: "guest3@example.com"},
	)
	v := s.serve(config)
	before := s.scrape(v.url)
	if n, ok := before.values[`sheetclaim_runs_total{job_name="test",outcome="failed"}`]; !ok || n != 0 {
		t.Errorf("a counter does not begin at 0: %v, %v", n, ok)
	}
	v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "4711"}`)
	v.end()
	v = s.serve(config) // what the ledger knows outlives the process
	v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "4712"}`)
	got := s.scrape(v.url)
	for series, want := range map[string]float64{
		`sheetclaim_runs_total{job_name="test",outcome="partial"}`:                                             1, // the row with the fault
		`sheetclaim_rows_total{job_name="test",outcome="skipped"}`:                                             1,
		`sheetclaim_rows_total{job_name="test",outcome="sent"}`:                                                0,
		`sheetclaim_runs_in_progress{job_name="test"}`:                                                         0,
		`sheetclaim_due_rows{job_name="test"}`:                                                                 1,
		`sheetclaim_oldest_due_row_age_seconds{job_name="test"}`:                                               0,
		`sheetclaim_run_duration_seconds_count{job_name="test"}`:                                               1,
		`sheetclaim_sheets_requests_total{call="read",result="ok"}`:                                            1,
		`sheetclaim_unknown_messages{job_name="test"}`:                                                         1,
		`sheetclaim_stuck_claims{job_name="test"}`:                                                             0,
		`sheetclaim_open_claims{job_name="test"}`:                                                              0,
		`sheetclaim_overlapped_runs{job_name="test"}`:                                                          0,
		`sheetclaim_run_interval_seconds{job_name="test"}`:                                                     126230400, // four years
		`sheetclaim_ledger_up`:                                                                                 1,
		`sheetclaim_build_info{commit="` + commit() + `",goversion="` + runtime.Version() + `",version="dev"}`: 1,
	} {
		if n, ok := got.values[series]; !ok || n != want {
			t.Errorf("%s is %v, want %v", series, n, want)
		}
	}
	for _, series := range []string{
		`sheetclaim_alerts_waiting{route="webhook"}`, `sheetclaim_run_time_p95_seconds{job_name="test"}`, "go_goroutines", "process_start_time_seconds",
		`sheetclaim_overlap_ratio{job_name="test"}`, `sheetclaim_last_run_timestamp_seconds{job_name="test"}`,
		`sheetclaim_step_seconds_total{job_name="test",step="pick"}`,
	} {
		if got.values[series] <= 0 {
			t.Errorf("%s is %v", series, got.values[series])
		}
	}
	for series := range got.values {
		for _, hidden := range []string{"4711", "4712", "k4", "example.com", "no such user"} {
			if strings.Contains(series, hidden) {
				t.Errorf("%s shows %q", series, hidden)
			}
		}
	}
}

func TestMetricsOnTheirOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	config := s.config("one", "limit: 1")
	s.edit(config, "api: {", "api: {metrics_listen: '127.0.0.1:0', ")
	v := s.serve(config)
	v.must(http.StatusNotFound, "GET", "/metrics", "")
	v.must(http.StatusOK, "POST", "/v1/runs", "")
	got := s.scrape(v.metrics)
	for series, want := range map[string]float64{
		`sheetclaim_runs_total{job_name="test",outcome="sent"}`:                   1,
		`sheetclaim_rows_total{job_name="test",outcome="sent"}`:                   1,
		`sheetclaim_due_rows{job_name="test"}`:                                    2,
		`sheetclaim_smtp_results_total{code="250",step="dot",verdict="accepted"}`: 1,
		`sheetclaim_smtp_results_total{code="",step="login",verdict="accepted"}`:  1,
		`sheetclaim_sheets_requests_total{call="claim",result="ok"}`:              1,
		`sheetclaim_sheets_requests_total{call="replace",result="ok"}`:            1,
		`sheetclaim_sheets_requests_total{call="read",result="ok"}`:               4,
	} {
		if n := got.values[series]; n != want {
			t.Errorf("%s is %v, want %v", series, n, want)
		}
	}
	if age := got.values[`sheetclaim_oldest_due_row_age_seconds{job_name="test"}`]; age < 3600 {
		t.Errorf("the row that the limit left is due since %v s", age)
	}
	if wait := got.values[`sheetclaim_step_seconds_total{job_name="test",step="wait"}`]; wait < 1.9 {
		t.Errorf("the run waited %v s", wait)
	}
	v.end()

	off := s.config("two")
	s.edit(off, "api: {", "api: {metrics_listen: off, ")
	v = s.serve(off)
	if a := v.must(http.StatusNotFound, "GET", "/metrics", ""); !strings.Contains(a.body, "metrics_listen") || v.metrics != "" {
		t.Errorf("metrics are off: %s, %q", a.body, v.metrics)
	}
}

// What the manual, the dashboard and the rules name is what a real scrape shows.
func TestMetricsAreAsWritten(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	config := s.config("one", `schedule: "0 3 29 2 *"`, "timezone: Europe/Berlin")
	s.edit(config, "api: {", "alerts: {webhook: {url: 'http://127.0.0.1:9/', secret: x}}\napi: {")
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Recipient: "guest2@example.com"})
	v := s.serve(config)
	v.must(http.StatusOK, "POST", "/v1/runs", "")
	names := s.scrape(v.url).names
	slices.Sort(names)

	var table []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(sheetclaim_[a-z0-9_]+)` \\|").FindAllStringSubmatch(readText(t, "../../docs/OPERATIONS.md"), -1) {
		table = append(table, row[1])
	}
	slices.Sort(table)
	if !slices.Equal(names, table) {
		t.Errorf("a scrape shows\n%s\nand docs/OPERATIONS.md has\n%s", strings.Join(names, "\n"), strings.Join(table, "\n"))
	}
	for _, file := range []string{"../../examples/grafana/sheetclaim.json", "../../examples/prometheus/sheetclaim.rules.yml"} {
		text := readText(t, file)
		named := regexp.MustCompile(`sheetclaim_[a-z0-9_]+`).FindAllString(text, -1)
		if len(named) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range named {
			if base := strings.TrimSuffix(name, "_bucket"); !slices.Contains(names, base) {
				t.Errorf("%s names %s, which no scrape shows", file, name)
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", file)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// otlp is a collector that keeps what it gets.
type otlp struct {
	mu    sync.Mutex
	spans []*spans.Span
	raw   []byte
}

func (o *otlp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var req collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.raw = append(o.raw, body...)
	for _, rs := range req.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			o.spans = append(o.spans, ss.GetSpans()...)
		}
	}
}

// A run's spans reach the collector, each within the one that it belongs to.
func TestTraces(t *testing.T) {
	t.Parallel()
	o := new(otlp)
	server := httptest.NewServer(o)
	defer server.Close()
	s := newStage(t, dueRows(2))
	p := newProgram(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL})
	if code := p.Run(context.Background(), []string{"--config", s.config("one"), "run", "--run-id", "4711"}); code != exitOK {
		t.Fatalf("exit %d: %s", code, p.err.String())
	}
	name := map[string]string{}
	for _, sp := range o.spans {
		name[string(sp.GetSpanId())] = sp.GetName()
	}
	seen := map[string]int{}
	for _, sp := range o.spans {
		seen[name[string(sp.GetParentSpanId())]+"/"+sp.GetName()]++
	}
	for _, want := range []string{
		"/run", "run/pick", "run/claim", "run/wait", "run/confirm", "run/send", "run/mark", "run/verify",
		"pick/sheets read", "claim/smtp", "claim/sheets read", "claim/sheets claim", "confirm/sheets read", "mark/sheets replace", "verify/sheets read",
	} {
		if seen[want] != 1 {
			t.Errorf("%d spans %q, want 1; there are %v", seen[want], want, seen)
		}
	}
	if seen["send/smtp"] != 2 {
		t.Errorf("%d mail transactions, want 2", seen["send/smtp"])
	}
	for _, hidden := range []string{"example.com", "About k", "Hello", "guest"} {
		if strings.Contains(string(o.raw), hidden) {
			t.Errorf("the spans hold %q", hidden)
		}
	}
	for _, want := range []string{"sheetclaim.run_id", "4711", "service.version", "accepted"} {
		if !strings.Contains(string(o.raw), want) {
			t.Errorf("the spans lack %q", want)
		}
	}
}

// A collector that is gone costs a run nothing but a line in the log.
func TestTracesWithoutACollector(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p := newProgram(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": gone.URL})
	began := time.Now()
	if code := p.Run(context.Background(), []string{"--config", s.config("one"), "run"}); code != exitOK {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	s.wantOneEach(1)
	if !strings.Contains(p.err.String(), "traces") {
		t.Errorf("the log says nothing of it: %s", p.err.String())
	}
}

// Each line of a run names it, and none shows whom a message goes to or what it says.
func TestLogLinesOfARun(t *testing.T) {
	t.Parallel()
	rows := append(dueRows(3), []any{"carol@example.com", "carol@example.com", "2026-01-01", ""}) // an address for a key
	s := newStage(t, rows)
	config := s.config("one")
	s.sink.SetRules(
		smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 <guest1@example.com>: no such user", Recipient: "guest1@example.com"},
		smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "421 4.7.0 <guest3@example.com>: too much mail of guest3@example.com", Recipient: "guest3@example.com"},
	)
	p := newProgram(nil)
	code := p.Run(context.Background(), []string{"--config", config, "--log-format", "json", "--log-level", "debug", "run", "--json", "--run-id", "4711"})
	if code != exitSome {
		t.Errorf("exit %d", code)
	}
	said := p.err.String()
	for _, hidden := range []string{"guest", "carol", "About", "Hello"} {
		if strings.Contains(said, hidden) {
			t.Errorf("the log shows %q:\n%s", hidden, said)
		}
	}
	about := map[string]int{}
	for line := range strings.Lines(said) {
		var l struct{ Msg, Job, Run, Key string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		about[l.Msg]++
		if l.Job != "test" || l.Run != "4711" || (l.Msg == "row" || l.Msg == "mail transaction") && l.Key == "" {
			t.Errorf("the line lacks job, run or key: %s", line)
		}
		if strings.Count(line, `"run":`) != 1 {
			t.Errorf("the line names its run twice: %s", line)
		}
	}
	for _, msg := range []string{"step", "row", "mail transaction", "connected", "run finished"} {
		if about[msg] == 0 {
			t.Errorf("no line %q: %v", msg, about)
		}
	}
}
