//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// shortLease ends a few seconds after its run stood still or died.
const shortLease = 4 * time.Second

// instance is a serve in a process of its own.
type instance struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
}

// instance starts one and waits until it listens.
func (s *stage) instance(config string) *instance {
	s.t.Helper()
	i := &instance{t: s.t, cmd: exec.Command("sheetclaim", "--config", config, "serve")}
	said, err := i.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := i.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = i.cmd.Process.Kill()
		_ = i.cmd.Wait()
	})
	lines := bufio.NewReader(said)
	address := regexp.MustCompile(`msg=serving address=(\S+)`)
	var all strings.Builder
	for i.url == "" {
		line, err := lines.ReadString('\n')
		all.WriteString(line)
		if err != nil {
			s.t.Fatalf("the instance ended: %v\n%s", err, all.String())
		}
		if found := address.FindStringSubmatch(line); found != nil {
			i.url = "http://" + found[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return i
}

// signal sends a signal to the process.
func (i *instance) signal(sig syscall.Signal) {
	if err := i.cmd.Process.Signal(sig); err != nil {
		i.t.Error(err)
	}
}

// run asks for a run and answers its document when it has finished.
func (i *instance) run(id string, headers ...string) (claim.Document, http.Header) {
	i.t.Helper()
	body := fmt.Sprintf(`{"job": "test", "run_id": %q, "confirm": true}`, id)
	req, err := http.NewRequestWithContext(i.t.Context(), http.MethodPost, i.url+"/v1/runs", strings.NewReader(body))
	if err != nil {
		i.t.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		i.t.Fatal(err)
	}
	defer resp.Body.Close()
	var d claim.Document
	if err := json.NewDecoder(resp.Body).Decode(&d); err != nil {
		i.t.Fatal(resp.Status, err)
	}
	return d, resp.Header
}

// ended waits for the end of a run without asking for it: that would settle one whose lease
// has ended.
func (i *instance) ended(id string) (d claim.Document) {
	i.t.Helper()
	for deadline := time.Now().Add(time.Minute); d.State != claim.RunFinished; time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, i.url+"/v1/runs/test/"+id, http.NoBody)
		if err != nil {
			i.t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			i.t.Fatal(err)
		}
		err = json.NewDecoder(resp.Body).Decode(&d)
		resp.Body.Close()
		if err != nil || time.Now().After(deadline) {
			i.t.Fatalf("run %s has not ended: %+v, %v", id, d, err)
		}
	}
	return d
}

// runAll runs until nothing is due.
func (i *instance) runAll() {
	i.t.Helper()
	for n := range 5 {
		if d, _ := i.run(fmt.Sprintf("after-%d", n)); d.Outcome == claim.RunNothingDue {
			return
		}
	}
	i.t.Error("rows are still due after five runs")
}

// onPostgres writes a configuration with a ledger in Postgres.
func (s *stage) onPostgres(name, address string, more ...string) string {
	s.t.Helper()
	config := s.config(name, append([]string{"lease: " + shortLease.String()}, more...)...)
	s.edit(config, "sqlite:"+name+".db", address)
	return config
}

// A run id names one run, whichever instance is asked.
func TestInstancesShareRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(5))
	config := s.onPostgres("one", pgtest.Address(t))
	a, b := s.instance(config), s.instance(config)
	if d, _ := a.run("4711", "Prefer", "respond-async"); d.State != claim.RunRunning {
		t.Errorf("started as %s", d.State)
	}
	d, header := b.run("4711") // attaches
	if d.Outcome != claim.RunSent || d.Counts.Sent != 5 || header.Get("Idempotent-Replayed") != "" {
		t.Errorf("attached: %s, %+v, %v", d.Outcome, d.Counts, header)
	}
	for _, i := range []*instance{a, b} {
		if d, header := i.run("4711"); d.Counts.Sent != 5 || header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("replayed: %+v, %v", d.Counts, header)
		}
	}
	s.wantOneEach(5)

	// Many requests at once, to both, for another name and new rows.
	s2 := newStage(t, dueRows(4))
	config = s2.onPostgres("two", pgtest.Address(t))
	a, b = s2.instance(config), s2.instance(config)
	var all sync.WaitGroup
	for n := range 12 {
		all.Go(func() {
			if d, _ := []*instance{a, b}[n%2].run("n8n-1"); d.Counts.Sent != 4 {
				t.Errorf("%s: %+v", d.Outcome, d.Counts)
			}
		})
	}
	all.Wait()
	s2.wantOneEach(4)
}

// Killed right after the fourth message was queued, with another instance alive: that
// one settles what is left, and of two that could the alert goes out once.
func TestOV08AnotherInstanceTakesOver(t *testing.T) {
	t.Parallel()
	var alerts atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), `"kind":"unknown"`) {
			alerts.Add(1)
		}
	}))
	t.Cleanup(hook.Close)
	s := newStage(t, dueRows(10))
	config := s.onPostgres("one", pgtest.Address(t))
	s.edit(config, "jobs:\n", fmt.Sprintf("alerts: {webhook: {url: %q, secret: s}}\njobs:\n", hook.URL))
	a, b := s.instance(config), s.instance(config)
	s.instance(config) // delivers alerts, too
	var once sync.Once
	s.sink.OnMessage(func(smtpsink.Message) {
		if len(s.sink.Messages()) >= 3 {
			once.Do(func() { a.signal(syscall.SIGKILL); _, _ = a.cmd.Process.Wait() })
		}
	})
	a.run("4711", "Prefer", "respond-async")
	_, _ = a.cmd.Process.Wait()

	d, _ := b.run("while-it-may-live") // its lease has not ended: its rows are not touched
	if d.Counts.Sent != 0 || d.Counts.Claimed != 0 {
		t.Errorf("before the lease ended: %s, %+v", d.Outcome, d.Counts)
	}
	time.Sleep(shortLease)
	b.runAll()
	s.wantEach(10, 1, "unknown 4711: ")
	time.Sleep(12 * time.Second) // every instance has looked for alerts by now
	if n := alerts.Load(); n != 1 {
		t.Errorf("the alert went out %d times", n)
	}
}

// wantEach fails unless each of n due rows got one message and reads sent, but for
// some that may read doubt, of which each got one at most.
func (s *stage) wantEach(n, doubtful int, doubt string) {
	s.t.Helper()
	got := map[string]int{}
	for _, m := range s.sink.Messages() {
		got[strings.Join(m.To, ",")]++
	}
	found := 0
	for _, row := range s.emu.Grid(stageSheet, stageTab)[1 : n+1] {
		status := ""
		if len(row) > 3 {
			status = row[3]
		}
		switch {
		case got[row[1]] > 1:
			s.t.Errorf("%s got %d messages", row[1], got[row[1]])
		case doubtful > 0 && strings.HasPrefix(status, doubt):
			found++
		case status != "sent" || got[row[1]] != 1:
			s.t.Errorf("%s got %d messages, its status reads %q", row[1], got[row[1]], status)
		}
	}
	if found > doubtful {
		s.t.Errorf("%d rows are in doubt, want at most %d", found, doubtful)
	}
}

// Two instances with a schedule make one run of a tick.
func TestLG08OneRunPerTick(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	config := s.onPostgres("one", pgtest.Address(t), `schedule: "* * * * *"`)
	// Their clocks are set so that the next minute is near.
	soon := time.Now().Truncate(time.Minute).Add(time.Minute - 3*time.Second)
	ahead := time.Until(soon)
	now := func() time.Time { return time.Now().Add(ahead) }
	tick := soon.Add(3 * time.Second)
	var services []*service
	for range 2 {
		services = append(services, s.serveAt(config, now))
	}
	for len(s.sink.Messages()) < 3 {
		time.Sleep(100 * time.Millisecond)
		if now().After(tick.Add(30 * time.Second)) {
			t.Fatal("the tick started no run")
		}
	}
	id := "cron-" + tick.UTC().Format("20060102T1504Z")
	for _, v := range services {
		v.must(http.StatusOK, http.MethodPost, "/v1/runs", fmt.Sprintf(`{"job": "test", "run_id": %q}`, id))
		if a := v.must(http.StatusOK, http.MethodGet, "/v1/runs", ""); strings.Count(a.body, `"`+id+`"`) != 1 {
			t.Errorf("not one run of the tick: %s", a.body)
		}
	}
	s.wantOneEach(3)
}
