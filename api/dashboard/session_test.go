package dashboard

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// empty remembers nothing and has nothing that waits.
type empty struct {
	Runs
	Desk
}

func newPage(t *testing.T, tokens ...Token) *Page {
	t.Helper()
	p, err := New(Config{
		Runs: empty{}, Desk: empty{}, Tokens: tokens,
		Login: func(*http.Request, string) (string, time.Duration) { return "", 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func asking(cookie string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: cookie})
	return r
}

// A session ends by itself, and with its token; instances with the same token share it.
func TestSessionEnds(t *testing.T) {
	p := newPage(t, Token{Name: "ada", Token: "first"})
	cookie := p.viewers["ada"].newSession(time.Now())
	if got := p.Viewer(asking(cookie)); got != "ada" {
		t.Errorf("right after the login the viewer is %q", got)
	}
	if got := newPage(t, Token{Name: "ada", Token: "first"}).Viewer(asking(cookie)); got != "ada" {
		t.Errorf("another instance with that token takes it for %q", got)
	}
	for what, other := range map[string]Token{"changed": {Name: "ada", Token: "second"}, "renamed": {Name: "bob", Token: "first"}} {
		if got := newPage(t, other).Viewer(asking(cookie)); got != "" {
			t.Errorf("with a token that was %s the viewer is %q", what, got)
		}
	}
	p.now = func() time.Time { return time.Now().Add(sessionLasts) }
	if got := p.Viewer(asking(cookie)); got != "" {
		t.Errorf("after its time the viewer is %q", got)
	}
}

// Streams are bounded: they hold a connection each.
func TestStreamsAreBounded(t *testing.T) {
	p := newPage(t)
	for range mostStreams {
		if !p.openStream() {
			t.Fatal("a stream was refused too early")
		}
	}
	rec := httptest.NewRecorder()
	p.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/live?job=none&run=1", nil))
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" {
		t.Errorf("one more: %d", rec.Code)
	}
	p.closeStream()
	if !p.openStream() {
		t.Error("there is no room after one has ended")
	}
}
