package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// liveRuns are the runs that go on, for the page's streams.
type liveRuns struct {
	mu      sync.Mutex
	docs    []claim.Document
	changed chan struct{}
}

func (l *liveRuns) Live() []claim.Document {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]claim.Document{}, l.docs...)
}

func (l *liveRuns) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *liveRuns) set(docs ...claim.Document) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.docs = docs
	close(l.changed)
	l.changed = make(chan struct{})
}

// stream opens a stream of the page and answers its events, each as parts by id. The
// channel is closed at its end.
func stream(t *testing.T, addr, path, cookie string) <-chan map[string]string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", cookie)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("%s: %s, %s", path, resp.Status, kind)
	}
	events := make(chan map[string]string, 100)
	go func() {
		defer close(events)
		defer resp.Body.Close()
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			data, ok := strings.CutPrefix(s.Text(), "data: ")
			parts := map[string]string{}
			if ok && json.Unmarshal([]byte(data), &parts) == nil {
				events <- parts
			}
		}
	}()
	return events
}

// until waits for an event whose part holds a text.
func until(t *testing.T, events <-chan map[string]string, id, text string) {
	t.Helper()
	patience := time.After(20 * time.Second)
	for {
		select {
		case parts, ok := <-events:
			if !ok {
				t.Fatalf("the stream ended before it said %q", text)
			}
			if strings.Contains(parts[id], text) {
				return
			}
		case <-patience:
			t.Fatalf("the stream does not say %q in %s", text, id)
		}
	}
}

func running(job, id string, rows ...claim.RowReport) claim.Document {
	return claim.Document{
		Job: job, RunID: id, State: claim.RunRunning, Step: claim.StepSend, StartedAt: noon, Rows: rows,
		Steps: []claim.StepTime{{Step: claim.StepPick, At: noon}, {Step: claim.StepSend, At: noon}},
	}
}

// An open page sees each row as it is settled, of the jobs that its token may see, and
// does not hold up the end of the service.
func TestPageStreams(t *testing.T) {
	live := &liveRuns{changed: make(chan struct{})}
	b := &book{}
	s := newServer(t, b, withJobs("reviews", "invoices"), func(c *api.Config) {
		c.Live, c.Grace = live, time.Minute
		c.Tokens = []api.Token{{Name: "ada", Token: secret, Jobs: []string{"reviews"}}}
	})
	addr, stop, ended := serving(t, s)
	v := visit(t, s)
	v.login(secret)
	events := stream(t, addr, "/live", v.cookie)
	until(t, events, "live-running", "No run is under way")

	one := claim.RowReport{Row: 2, Key: "B-1"}
	live.set(running("reviews", "4711", one), running("invoices", "secret-run"))
	until(t, events, "live-running", "0 of 1 row done")
	of := stream(t, addr, "/live?job=reviews&run=4711", v.cookie)
	until(t, of, "live-run", "under way")
	one.Outcome, one.SMTPReply = claim.Sent, "250 taken"
	live.set(running("reviews", "4711", one), running("invoices", "secret-run"))
	until(t, events, "live-running", "1 of 1 row done")
	until(t, of, "live-run", "250 taken")

	if _, err := b.Start(t.Context(), claim.Request{Job: "reviews", RunID: "4711"}); err != nil {
		t.Fatal(err)
	}
	live.set()
	until(t, events, "live-ended", "1 of 1 due rows sent")
	until(t, of, "live-say", "The run has ended")

	live.set(running("invoices", "secret-run"))
	v.want(404, "/live?job=invoices&run=secret-run")
	stop()
	for _, open := range []<-chan map[string]string{events, of} {
		for parts := range open {
			for id, part := range parts {
				if strings.Contains(part, "secret-run") || strings.Contains(part, "invoices") {
					t.Errorf("%s shows what the token may not see:\n%s", id, part)
				}
			}
		}
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("open streams hold up the end of the service")
	}
}
