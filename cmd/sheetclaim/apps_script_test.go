package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// scriptAddress is how the script knows the service; the stand-in for Google leads it
// to the service of the test.
const scriptAddress = "https://sheetclaim.test/base"

// scene is what a function of the script is played in; see testdata/apps-script.
type scene struct {
	Script     string             `json:"script"`
	Address    string             `json:"address"`
	Service    string             `json:"service"`
	Call       string             `json:"call"`
	Properties map[string]string  `json:"properties"`
	Tabs       map[string][][]any `json:"tabs"`
	Edit       map[string]any     `json:"edit,omitempty"`
	Answers    []string           `json:"answers"`
	Triggers   []map[string]any   `json:"triggers"`
	Timeout    int                `json:"timeout"` // of a call, in milliseconds
	Speed      float64            `json:"speed"`   // 0.1: a second of sleep takes 0.1 s
}

// played is what became of it.
type played struct {
	Toasts []struct {
		Text    string
		Seconds int
	}
	Notes map[string]string
	Calls []struct {
		URL, Method, Body string
		Headers           map[string]string
		Status            int
	}
	Triggers   []map[string]any
	Menu       []struct{ Title, Name string }
	Prompts    []string
	Slept      int
	Thrown     string
	Properties map[string]string
}

// lastToast is what stays before the person's eyes.
func (p *played) lastToast() string {
	if len(p.Toasts) == 0 {
		return ""
	}
	return p.Toasts[len(p.Toasts)-1].Text
}

// needNode skips a test where there is no Node, and fails it in CI.
func needNode(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "node", "-e", "fetch; console.log(process.version)").CombinedOutput()
	if err == nil {
		return
	}
	why := fmt.Sprintf("the Apps Script is played by Node 18 or later, and there is none: %v %s", err, out)
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// newScene is the script in a sheet that is set up.
func newScene(service, call string) scene {
	return scene{
		Service: service, Call: call, Speed: 0.2,
		Properties: map[string]string{"SHEETCLAIM_URL": scriptAddress + "/", "SHEETCLAIM_TOKEN": apiToken},
		Tabs:       map[string][][]any{"Visits": {{"key", "email", "due", "status", "note"}}},
	}
}

// play runs the very file that people paste, its names filled in as they would.
func (s scene) play(t *testing.T) *played {
	t.Helper()
	b, err := os.ReadFile("../../examples/apps-script/sheetclaim.gs")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for old, mine := range map[string]string{"JOB = 'review-requests'": "JOB = 'test'", "NOTE_HEADER = 'Note'": "NOTE_HEADER = 'note'", "EDIT_HEADER = 'Visit status'": "EDIT_HEADER = 'due'"} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("the script does not say %q once", old)
		}
		text = strings.Replace(text, old, mine, 1)
	}
	s.Script = filepath.Join(t.TempDir(), "sheetclaim.gs")
	if err := os.WriteFile(s.Script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Address = scriptAddress
	in, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "node", "testdata/apps-script/stage.js")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	p := &played{}
	if err := json.Unmarshal(out, p); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, shown := range p.Toasts {
		wantNoSecret(t, shown.Text)
	}
	wantNoSecret(t, fmt.Sprint(p.Notes, p.Thrown))
	return p
}

// runIDs answers the distinct run ids that were asked for.
func (p *played) runIDs(t *testing.T) []string {
	t.Helper()
	var ids []string
	for _, c := range p.Calls {
		var body struct {
			RunID string `json:"run_id"`
		}
		if c.Method != "post" {
			continue
		}
		if err := json.Unmarshal([]byte(c.Body), &body); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, body.RunID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestAppsScriptSendsDueRows(t *testing.T) {
	t.Parallel()
	needNode(t)
	s := newStage(t, dueRows(3))
	config := s.secured()
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user", Recipient: "guest2@example.com"})
	v := s.serve(config)
	if p := newScene(v.url, "onOpen").play(t); len(p.Calls) != 0 || p.Menu[0].Title != "Send due rows" || p.Menu[0].Name != "sendDueRows" {
		t.Errorf("a simple trigger may only make the menu: %+v", p)
	}

	p := newScene(v.url, "sendDueRows").play(t)
	const want = "partial: 2 of 3 due rows sent"
	if !strings.HasPrefix(p.lastToast(), want) || p.Toasts[len(p.Toasts)-1].Seconds != -1 {
		t.Errorf("toasts: %+v", p.Toasts)
	}
	note := p.Notes["Visits!1,5"]
	if len(p.Notes) != 1 || !strings.HasPrefix(note, want) || !strings.Contains(note, "k2: rejected: 550") {
		t.Errorf("notes: %q", p.Notes)
	}
	post := p.Calls[0]
	if post.Status != http.StatusAccepted || post.Headers["Prefer"] != "respond-async" || len(p.runIDs(t)) != 1 || len(p.Calls) < 2 {
		t.Errorf("calls: %+v", p.Calls)
	}
	if n := len(s.sink.Messages()); n != 2 {
		t.Errorf("%d messages", n)
	}

	again := newScene(v.url, "sendDueRows").play(t) // another click is another run
	if !strings.HasPrefix(again.lastToast(), "nothing_due: ") || slices.Equal(again.runIDs(t), p.runIDs(t)) {
		t.Errorf("%+v", again)
	}
	last := newScene(v.url, "showLastRun")
	last.Properties = p.Properties
	if got := last.play(t); got.lastToast() != p.lastToast() || len(got.Calls) != 1 {
		t.Errorf("%+v", got)
	}
}

// Two people click at the same moment.
func TestAppsScriptTwoClicksAtOnce(t *testing.T) {
	t.Parallel()
	needNode(t)
	s := newStage(t, dueRows(3))
	v := s.serve(s.secured())
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { newScene(v.url, "sendDueRows").play(t) })
	}
	both.Wait()
	s.wantOneEach(3)
}

// The request arrives and its answer is lost: asked again, it is the same run.
func TestAppsScriptLostAnswer(t *testing.T) {
	t.Parallel()
	needNode(t)
	s := newStage(t, dueRows(3))
	v := s.serve(s.secured())
	target, err := url.Parse(v.url)
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(*http.Response) error {
			if lost.CompareAndSwap(false, true) {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	defer server.Close()
	p := newScene(server.URL, "sendDueRows").play(t)
	if !lost.Load() || p.Calls[0].Status != 0 || !strings.HasPrefix(p.lastToast(), "sent: 3 of 3 due rows sent") {
		t.Errorf("%+v", p)
	}
	if ids := p.runIDs(t); len(ids) != 1 {
		t.Errorf("asked for %q", ids)
	}
	s.wantOneEach(3)
}

// Whatever answers, people get a sentence that says what to do, and no call is
// repeated that cannot get better.
func TestAppsScriptFaults(t *testing.T) {
	t.Parallel()
	needNode(t)
	const login = "<html>please log in</html>"
	tests := map[string]struct {
		status, calls int
		body, want    string
	}{
		"redirect":     {302, 1, "", "not sheetclaim, perhaps a login page"},
		"login page":   {200, 1, login, "not sheetclaim, perhaps a login page"},
		"other JSON":   {200, 1, `{"ok": true}`, "not sheetclaim, perhaps a login page"},
		"bad request":  {400, 1, `{"detail": "no run_id"}`, "different versions. (status 400) The service says: no run_id"},
		"token":        {401, 1, `{"detail": "the bearer token is none"}`, "Set up and paste it again"},
		"job":          {403, 1, "", "may not do that"},
		"unknown":      {404, 1, `{"detail": "no job test"}`, "The service says: no job test"},
		"timeout":      {408, 1, "", "Try again"},
		"conflict":     {409, 1, `{"detail": "under way"}`, "try again in a minute"},
		"large":        {413, 1, login, "too large"},
		"reused":       {422, 1, `{"detail": "other settings"}`, `Choose "Send due rows" again`},
		"teapot":       {418, 1, "", "not sheetclaim"},
		"too many":     {429, 3, "", "Wait some minutes"},
		"fault":        {500, 3, `{"detail": "a fault of its own"}`, "The service says: a fault of its own"},
		"bad gateway":  {502, 3, login, "a proxy before it"},
		"not ready":    {503, 3, `{"detail": "the ledger did not answer"}`, "not ready"},
		"gateway time": {504, 3, login, "A run that has begun goes on"},
		"hangs":        {0, 3, "", "Google got no answer from the service"},
		"stopped":      {409, 1, runAs("stopped", "a doubt ended the run"), "stopped: a doubt ended the run"},
		"failed":       {502, 1, runAs("failed", "Sheets is out of reach"), "failed: Sheets is out of reach"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.status == 0 {
					_, _ = io.Copy(io.Discard, r.Body) // only then a caller's hanging up is seen
					<-r.Context().Done()
					return
				}
				w.Header().Set("Retry-After", "9")
				w.Header().Set("Location", "https://login.example/")
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			}))
			defer server.Close()
			s := newScene(server.URL, "sendDueRows")
			if s.Speed = 0; tt.status == 0 {
				s.Timeout = 300
			}
			p := s.play(t)
			if toast := p.lastToast(); !strings.Contains(toast, tt.want) || strings.Contains(toast, "<html>") || !strings.HasPrefix(p.Notes["Visits!1,5"], toast) {
				t.Errorf("shown: %q, and %q", toast, p.Notes)
			}
			if len(p.Calls) != tt.calls || len(p.runIDs(t)) != 1 || p.Thrown != "" {
				t.Errorf("%d calls for %v, thrown %q", len(p.Calls), p.runIDs(t), p.Thrown)
			}
			if retry := (tt.calls - 1) * 9000; tt.status != 0 && p.Slept != retry {
				t.Errorf("slept %d ms, want %d", p.Slept, retry)
			}
		})
	}
}

// runAs is the document of a finished run.
func runAs(outcome, detail string) string {
	return fmt.Sprintf(`{"job": "test", "run_id": "1", "state": "finished", "outcome": %q, "detail": %q, "rows": [], "doubts": [{"key": "k1", "detail": "seen", "advice": "Do this."}]}`, outcome, detail)
}

// A run that takes longer than a script may goes on without it.
func TestAppsScriptLongRun(t *testing.T) {
	t.Parallel()
	needNode(t)
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"job": "test", "run_id": "1", "state": "running", "detail": "", "rows": [], "doubts": []}`)
	}))
	defer server.Close()
	s := newScene(server.URL, "sendDueRows")
	s.Speed = 0
	p := s.play(t)
	if slept := time.Duration(p.Slept) * time.Millisecond; slept < 3*time.Minute || slept > 5*time.Minute {
		t.Errorf("it looked for %v; a script ends after 6 minutes", slept)
	}
	if n := calls.Load(); n > 60 || !strings.Contains(p.lastToast(), "goes on in the service") {
		t.Errorf("%d calls; shown: %q", n, p.lastToast())
	}
}

func TestAppsScriptTriggers(t *testing.T) {
	t.Parallel()
	needNode(t)
	s := newStage(t, dueRows(2))
	v := s.serve(s.secured())
	start := newScene(v.url, "startAutomaticRuns")
	first := start.play(t)
	start.Triggers = first.Triggers
	if p := start.play(t); len(p.Triggers) != 2 || p.Triggers[0]["name"] != "onTick" || p.Triggers[0]["minutes"] != 15.0 || p.Triggers[1]["name"] != "onSheetEdit" || len(p.Calls) != 0 {
		t.Errorf("started twice: %+v", p.Triggers)
	}
	stop := newScene(v.url, "stopAutomaticRuns")
	stop.Triggers = first.Triggers
	if p := stop.play(t); len(p.Triggers) != 0 {
		t.Errorf("stopped: %+v", p.Triggers)
	}

	for name, tt := range map[string]struct {
		edit  map[string]any
		calls int
	}{
		"the column":     {map[string]any{"tab": "Visits", "row": 3, "column": 3}, 1},
		"a block":        {map[string]any{"tab": "Visits", "row": 1, "column": 2, "rows": 9, "columns": 3}, 1},
		"another column": {map[string]any{"tab": "Visits", "row": 3, "column": 4}, 0},
		"the header":     {map[string]any{"tab": "Visits", "row": 1, "column": 3}, 0},
		"another tab":    {map[string]any{"tab": "Notes", "row": 3, "column": 3}, 0},
	} {
		edit := newScene(v.url, "onSheetEdit")
		edit.Edit = tt.edit
		if p := edit.play(t); len(p.Calls) != tt.calls || p.Thrown != "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := newScene(v.url, "onTick").play(t); len(p.Calls) != 1 || p.Slept != 0 || p.Thrown != "" {
		t.Errorf("%+v", p)
	}
	wrong := newScene(v.url, "onTick")
	wrong.Properties["SHEETCLAIM_TOKEN"] = "wrong"
	if p := wrong.play(t); !strings.Contains(p.Thrown, "does not know this token") { // Google mails it to the owner
		t.Errorf("thrown: %q", p.Thrown)
	}
	last := newScene(v.url, "sendDueRows")
	last.play(t)
	s.wantOneEach(2)
}

func TestAppsScriptSetUp(t *testing.T) {
	t.Parallel()
	needNode(t)
	s := newStage(t, dueRows(1))
	v := s.serve(s.secured())
	for name, tt := range map[string]struct {
		answers    []string
		properties map[string]string
		want       string
		calls      int
	}{
		"first time":   {[]string{" " + scriptAddress + " ", apiToken}, nil, "knows the job test", 1},
		"as before":    {[]string{"", ""}, map[string]string{"SHEETCLAIM_URL": scriptAddress, "SHEETCLAIM_TOKEN": apiToken}, "knows the job test", 1},
		"called off":   {nil, nil, "", 0},
		"no token":     {[]string{scriptAddress, ""}, nil, "is missing", 0},
		"no TLS":       {[]string{"http://sheetclaim.test", "x"}, nil, "must begin with https://", 0},
		"wrong token":  {[]string{scriptAddress, "wrong"}, nil, "does not know this token", 1},
		"wrong prefix": {[]string{scriptAddress + "/v2", apiToken}, nil, "Compare JOB in the script, and the address", 1},
	} {
		set := newScene(v.url, "setUp")
		set.Answers, set.Properties = tt.answers, tt.properties
		p := set.play(t)
		if !strings.Contains(p.lastToast(), tt.want) || len(p.Calls) != tt.calls || p.Thrown != "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
