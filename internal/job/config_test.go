package job_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

// minimal is the shortest configuration with a job; tests append to it or replace
// pieces of it.
const minimal = `smtp:
  host: smtp.example.com
  from: hello@example.com
jobs:
  j:
    spreadsheet: 1AbC
    range: "A1:H"
    columns: {key: id, email: email, status: status}
    message:
      subject: Hello
      text: Hello
`

func environment(pairs ...string) func(string) (string, bool) {
	env := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// write makes files in a new folder and returns the path of a configuration in it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "sheetclaim.yaml")
}

func mustParse(t *testing.T, text string, env ...string) *job.Config {
	t.Helper()
	c, err := job.Parse("sheetclaim.yaml", []byte(text), environment(env...))
	if err != nil {
		t.Fatalf("the configuration must load:\n%v", err)
	}
	return c
}

// contractExample is the configuration of the documentation.
const contractExample = `ledger: sqlite:sheetclaim.db
google:
  credentials_file: google.json
  endpoint: ""
smtp:
  host: smtp.example.com
  port: 587
  tls: starttls
  ca_file: ""
  username: hello@example.com
  password: ${SMTP_PASSWORD}
  helo: sender.example.com
  from: "Acme <hello@example.com>"
  connections: 2
  messages_per_connection: 100
  rate: 30/m
  timeout: 30s
  dot_timeout: 10m
alerts:
  email: [ops@example.com]
  webhook: {url: "https://hooks.example.com/x", secret: "${HOOK_SECRET}"}
  repeat_after: 1h
api:
  listen: 127.0.0.1:8080
  tokens: [{name: n8n, token: "${SHEETCLAIM_TOKEN}", jobs: [review-requests]}]
  max_wait: 240s
  callback_hosts: [n8n.internal]
run_memory: 24h
jobs:
  review-requests:
    spreadsheet: 1AbCdEf
    range: "Visits!A1:H"
    columns: {key: booking, email: email, status: review_status, due: visited_at}
    where: 'visit_status == "completed"'
    delay: 48h
    timezone: Europe/Berlin
    limit: 50
    wait: 15s
    lease: 5m
    on_doubt: stop
    max_attempts: 3
    retry_after: 15m
    schedule: "*/5 * * * *"
    first_run_limit: 200
    max_lateness: 0
    catch_up: all
    window: ""
    skip_hidden: false
    allow_ranges: []
    allow_spreadsheets: []
    message:
      subject: "How was your visit, {{First name}}?"
      text: |
        Hello {{First name}}, …
      html_file: review.html
      reply_to: desk@example.com
`

func TestContractExampleLoads(t *testing.T) {
	path := write(t, map[string]string{
		"sheetclaim.yaml": contractExample, "google.json": "{}", "review.html": "<p>Hello {{First name}}</p>",
	})
	c, err := job.Load(path, environment("SMTP_PASSWORD", "a\"b\nc: d", "HOOK_SECRET", "hook", "SHEETCLAIM_TOKEN", "tok"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	for _, check := range []struct{ what, got, want string }{
		{"ledger", c.Ledger.Reveal(), "sqlite:" + filepath.Join(dir, "sheetclaim.db")},
		{"credentials", c.Google.CredentialsFile, filepath.Join(dir, "google.json")},
		{"password", c.SMTP.Password.Reveal(), "a\"b\nc: d"},
		{"rate", c.SMTP.Rate.String(), "30/m"},
		{"hook", c.Alerts.Webhook.Secret.Reveal(), "hook"},
		{"token", c.API.Tokens[0].Token.Reveal(), "tok"},
		{"html", c.Jobs["review-requests"].Message.HTML, "<p>Hello {{First name}}</p>"},
	} {
		if check.got != check.want {
			t.Errorf("%s = %q, want %q", check.what, check.got, check.want)
		}
	}
	got, err := c.Job("review-requests")
	if err != nil {
		t.Fatal(err)
	}
	if got.Bind == nil || got.Zone.String() != "Europe/Berlin" || got.Open != nil {
		t.Errorf("job = %+v", got)
	}
	if key := got.Normal("Cafe\u0301"); key != "Café" {
		t.Errorf("the key is not composed: %q", key)
	}
	if ticks, known := got.Missed("cron-20261130T0900Z", time.Date(2026, 11, 30, 9, 16, 0, 0, time.UTC), nil); len(ticks) != 1 || !known {
		t.Errorf("missed ticks: %v", ticks)
	}
	got.Bind, got.Zone, got.Normal, got.Missed = nil, nil, nil, nil
	want := &claim.Job{
		Name: "review-requests", Target: claim.Target{Spreadsheet: "1AbCdEf", Range: "Visits!A1:H"},
		Delay: 48 * time.Hour, Limit: 50, Wait: 15 * time.Second, Lease: 5 * time.Minute, OnDoubt: claim.Stop,
		MaxAttempts: 3, RetryAfter: 15 * time.Minute, FirstRunLimit: 200, CatchUp: claim.CatchAll,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExampleLoads(t *testing.T) {
	path := write(t, map[string]string{"sheetclaim.yaml": string(job.Example()), "google.json": "{}"})
	c, err := job.Load(path, environment("SMTP_PASSWORD", "x", "SHEETCLAIM_TOKEN", "y"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := c.Job("review-requests")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Bind([]string{"Booking", "Email", "First name", "Visit status", "Visited at", "Review status", "Note"}, j.Zone); err != nil {
		t.Error(err)
	}
}

func TestDefaults(t *testing.T) {
	c := mustParse(t, minimal)
	s := c.Jobs["j"]
	got := []any{
		c.RunMemory, c.Alerts.RepeatAfter, c.API.Listen, c.API.MaxWait, c.SMTP.Port, c.SMTP.TLS, c.SMTP.Connections,
		c.SMTP.MessagesPerConnection, c.SMTP.Timeout, c.SMTP.DotTimeout, s.Limit, s.Wait, s.Lease, s.OnDoubt,
		s.MaxAttempts, s.RetryAfter, s.FirstRunLimit, s.MaxLateness, s.CatchUp, s.Clock(), s.Window.IsZero(),
	}
	want := []any{
		24 * time.Hour, time.Hour, "127.0.0.1:8080", 240 * time.Second, 587, job.StartTLS, 2,
		100, 30 * time.Second, 10 * time.Minute, 50, 15 * time.Second, 5 * time.Minute, claim.Stop,
		3, 15 * time.Minute, 200, time.Duration(0), claim.CatchAll, (*time.Location)(nil), true,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("default %d = %v, want %v", i, got[i], want[i])
		}
	}
	if !strings.HasPrefix(c.Ledger.Reveal(), "sqlite:/") || !strings.HasSuffix(c.Ledger.Reveal(), "/sheetclaim.db") {
		t.Errorf("ledger = %s", c.Ledger.Reveal())
	}
}

func TestPortFollowsTLS(t *testing.T) {
	for tls, port := range map[string]int{"starttls": 587, "implicit": 465, "none": 25} {
		c := mustParse(t, strings.Replace(minimal, "  host:", "  tls: "+tls+"\n  host:", 1))
		if c.SMTP.Port != port {
			t.Errorf("%s: port %d, want %d", tls, c.SMTP.Port, port)
		}
	}
}

func TestWithoutJobsNoSectionIsNeeded(t *testing.T) {
	if c := mustParse(t, "ledger: sqlite:keys.db\n"); c.SMTP != nil || len(c.Jobs) > 0 {
		t.Errorf("config = %v", c)
	}
	mustParse(t, "")
}

func TestAnchorsAndMerges(t *testing.T) {
	c := mustParse(t, strings.Replace(minimal, "  j:\n", "  j: &base\n", 1)+`  k:
    <<: *base
    limit: 7
    message: {subject: Other, text: Other}
`)
	k := c.Jobs["k"]
	if k.Limit != 7 || k.Spreadsheet != "1AbC" || k.Message.Subject != "Other" || k.Columns.Status != "status" {
		t.Errorf("k = %+v", k)
	}
}

func TestSpreadsheetAddress(t *testing.T) {
	c := mustParse(t, strings.Replace(minimal, "1AbC", "https://docs.google.com/spreadsheets/d/1AbC_d-E/edit#gid=0", 1))
	if got := c.Jobs["j"].Spreadsheet; got != "1AbC_d-E" {
		t.Errorf("spreadsheet = %q", got)
	}
}

func TestAllowLists(t *testing.T) {
	c := mustParse(t, minimal+"    allow_ranges: [\"B!A1:C\"]\n    allow_spreadsheets: [other]\n")
	s := c.Jobs["j"]
	got := []bool{s.AllowsRange("A1:H"), s.AllowsRange("B!A1:C"), s.AllowsRange("C"), s.AllowsSpreadsheet("1AbC"), s.AllowsSpreadsheet("other"), s.AllowsSpreadsheet("x")}
	if diff := cmp.Diff([]bool{true, true, false, true, true, false}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEmulatorLoosensTheWait(t *testing.T) {
	fast := minimal + "    wait: 50ms\n    lease: 2s\n"
	c := mustParse(t, fast, "SHEETS_EMULATOR_HOST", "127.0.0.1:9410")
	if c.Google.Endpoint != "http://127.0.0.1:9410" || !c.Google.Emulated() {
		t.Errorf("google = %+v", c.Google)
	}
	mustParse(t, "google: {endpoint: \"http://localhost:9410\"}\n"+fast)
	if (job.Google{Endpoint: "https://sheets.googleapis.com/"}).Emulated() {
		t.Error("Google's own endpoint counts as an emulator")
	}
}

// A fault says where it came from: nothing in the file is wrong.
func TestEmulatorVariableIsNamed(t *testing.T) {
	_, err := job.Parse("c.yaml", []byte(minimal), environment(job.EmulatorVariable, "sheets.example.com:80"))
	if want := "c.yaml: SHEETS_EMULATOR_HOST: expected https, found plain http to another machine: it is allowed on loopback only"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestUnknownJob(t *testing.T) {
	_, err := mustParse(t, minimal).Job("jj")
	if err == nil || err.Error() != `there is no job "jj", did you mean j?; the configuration has j` {
		t.Errorf("error = %v", err)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := job.Load(filepath.Join(t.TempDir(), "none.yaml"), environment())
	if err == nil || !strings.Contains(err.Error(), "sheetclaim init") {
		t.Errorf("error = %v", err)
	}
}

func TestProblemsAreAllReported(t *testing.T) {
	_, err := job.Parse("dir/sheetclaim.yaml", []byte("legder: x\nsmtp:\n  prot: 5\n  port: abc\n"), environment())
	var ps job.Problems
	if !errors.As(err, &ps) || len(ps) != 3 {
		t.Fatalf("error = %v", err)
	}
	want := `dir/sheetclaim.yaml:1:1: legder is no known key, did you mean ledger?
dir/sheetclaim.yaml:3:3: smtp: prot is no known key, did you mean port?
dir/sheetclaim.yaml:4:9: smtp.port: expected a whole number, found "abc"`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestLedgerPath(t *testing.T) {
	for text, want := range map[string]string{
		"sqlite:a.db": "sqlite:/etc/sc/a.db", "sqlite://a.db": "sqlite:/etc/sc/a.db", "sqlite:../a.db": "sqlite:/etc/a.db",
		"sqlite:/var/a.db": "sqlite:/var/a.db", "sqlite:///var/a.db": "sqlite:/var/a.db",
	} {
		c, err := job.Parse("/etc/sc/sheetclaim.yaml", []byte("ledger: "+text), environment())
		if err != nil || c.Ledger.Reveal() != want {
			t.Errorf("%s: %v, %v, want %s", text, c.Ledger.Reveal(), err, want)
		}
	}
}

// TestLedgerName: a ledger is named without what it takes to open it.
func TestLedgerName(t *testing.T) {
	for name, want := range map[string]string{
		"sqlite:/var/lib/sheetclaim.db":                        "/var/lib/sheetclaim.db",
		"postgres://ann:s3cret@db.example:5433/mail":           "postgres://ann@db.example:5433/mail",
		"postgresql://db/mail?user=ann&password=s3cret":        "postgresql://db/mail",
		"postgres://ann:s3cret@/mail?host=/var/run/postgresql": "postgres://ann@/mail",
	} {
		c := job.Config{Ledger: job.Secret(name)}
		if got := c.LedgerName(); got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
