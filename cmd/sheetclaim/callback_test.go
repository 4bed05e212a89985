package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/alert"
)

// callbacks is a receiver of callbacks that notes what came, by path.
type callbacks struct {
	*httptest.Server
	mu   sync.Mutex
	came map[string][]string
	down bool // answers 503
}

const callbackSecret = "callback-secret-of-the-tests"

func newCallbacks(t *testing.T) *callbacks {
	t.Helper()
	c := &callbacks{came: map[string][]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var at int64
		signature := r.Header.Get(alert.SignatureHeader)
		if _, err := fmt.Sscanf(signature, "t=%d,", &at); err != nil || signature != alert.Sign(callbackSecret, time.Unix(at, 0), body) {
			t.Errorf("signature %q: %v", signature, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.down {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		c.came[r.URL.Path] = append(c.came[r.URL.Path], string(body))
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *callbacks) setDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// wait waits until n calls of a path came, and answers them.
func (c *callbacks) wait(t *testing.T, path string, n int) []string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		came := slices.Clone(c.came[path])
		c.mu.Unlock()
		if len(came) >= n {
			return came
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d calls, want %d", path, len(came), n)
		}
	}
}

// withCallbacks lets a configuration call a receiver back.
func (s *stage) withCallbacks(config string, c *callbacks) {
	s.t.Helper()
	s.edit(config, "api: {", fmt.Sprintf("api: {callback_hosts: [%q], callback_secret: %s, ", strings.TrimPrefix(c.URL, "http://"), callbackSecret))
}

// The end of a run is told to each address once, however many requests name it, and
// to one that comes late at once.
func TestCallback(t *testing.T) {
	t.Parallel()
	s, c := newStage(t, dueRows(2)), newCallbacks(t)
	config := s.secured()
	s.withCallbacks(config, c)
	v := s.serve(config)
	body := func(path string) string {
		return fmt.Sprintf(`{"run_id": "4711", "callback_url": "%s%s"}`, c.URL, path)
	}
	early := v.must(http.StatusAccepted, "POST", "/v1/runs", body("/a"), "Prefer", "respond-async")
	v.atOnce(body("/a"), body("/a"), body("/b"), `{"run_id": "4711"}`)
	got := v.must(http.StatusOK, "GET", early.header.Get("Location"), "")
	for _, path := range []string{"/a", "/b"} {
		if came := c.wait(t, path, 1); came[0] != got.body {
			t.Errorf("%s got %s, want %s", path, came[0], got.body)
		}
	}
	late := v.must(http.StatusOK, "POST", "/v1/runs", body("/late"))
	if late.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("headers %v", late.header)
	}
	c.wait(t, "/late", 1)
	v.must(http.StatusOK, "POST", "/v1/runs", body("/a"))
	v.end()
	for path, came := range c.came {
		if len(came) != 1 {
			t.Errorf("%s was called %d times", path, len(came))
		}
	}
	if a := v.program.err.String(); strings.Contains(a, callbackSecret) {
		t.Error("the log shows the secret")
	}
	s.wantOneEach(2)
}

// A callback that nobody took outlives the service.
func TestCallbackAfterRestart(t *testing.T) {
	t.Parallel()
	s, c := newStage(t, dueRows(1)), newCallbacks(t)
	config := s.secured()
	s.withCallbacks(config, c)
	c.setDown(true)
	v := s.serve(config)
	v.must(http.StatusOK, "POST", "/v1/runs", fmt.Sprintf(`{"run_id": "1", "callback_url": "%s/x"}`, c.URL))
	c.wait(t, "/x", 1)
	v.end()
	c.setDown(false)
	before := len(c.wait(t, "/x", 1))
	s.serve(config)
	if came := c.wait(t, "/x", before+1); !strings.Contains(came[before], `"outcome":"sent"`) {
		t.Errorf("called with %s", came[before])
	}
}

// A host that the configuration does not name any more is not called.
func TestCallbackToAHostThatWasTakenOut(t *testing.T) {
	t.Parallel()
	s, c, other := newStage(t, dueRows(1)), newCallbacks(t), newCallbacks(t)
	config := s.secured()
	s.withCallbacks(config, c)
	c.setDown(true)
	v := s.serve(config)
	v.must(http.StatusOK, "POST", "/v1/runs", fmt.Sprintf(`{"run_id": "1", "callback_url": "%s/x"}`, c.URL))
	c.wait(t, "/x", 1)
	v.end()
	c.setDown(false)
	before := len(c.wait(t, "/x", 1))
	s.edit(config, strings.TrimPrefix(c.URL, "http://"), strings.TrimPrefix(other.URL, "http://"))
	v = s.serveAt(config, func() time.Time { return time.Now().Add(time.Minute) }) // when the next try is due
	v.must(http.StatusOK, "POST", "/v1/runs", fmt.Sprintf(`{"run_id": "2", "callback_url": "%s/y"}`, other.URL))
	other.wait(t, "/y", 1)
	v.end()
	if n := len(c.wait(t, "/x", 1)); n != before {
		t.Errorf("called %d times more", n-before)
	}
	if said := v.program.err.String(); !strings.Contains(said, "api.callback_hosts does not name its host any more") {
		t.Errorf("the log does not say why: %s", said)
	}
}

// AP07: the service works behind a proxy that takes a prefix off the path.
func TestAP07BehindAProxyUnderAPrefix(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	v := s.serve(s.secured())
	inner, err := url.Parse(v.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/mail", httputil.NewSingleHostReverseProxy(inner)))
	t.Cleanup(proxy.Close)
	v.url = proxy.URL + "/mail"
	a := v.must(http.StatusAccepted, "POST", "/v1/runs", `{"run_id": "1"}`, "Prefer", "respond-async")
	v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "1"}`)
	if got := v.must(http.StatusOK, "GET", a.header.Get("Location"), ""); got.doc.Counts.Sent != 1 { // below the base address
		t.Errorf("%s", got.body)
	}
	s.wantOneEach(1)
}
