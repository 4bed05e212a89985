package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// exchange is an in-process transport.
type exchange func(*http.Request) (*http.Response, error)

func (f exchange) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("secret echo"))}
}

func newHook(t *testing.T, url, secret string, rt http.RoundTripper) *Webhook {
	t.Helper()
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	w, err := NewWebhook(url, secret, rt, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWebhookPost(t *testing.T) {
	var got *http.Request
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer srv.Close()
	m := newMessage(queued(unknown(2, "B-1"), unknown(3, "B-2")))
	if err := newHook(t, srv.URL+"/x", "s3cret", nil).Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"unknown","job":"reviews","run":"4711","cause":"smtp_reply_lost","count":2,` +
		`"rows":[{"row":2,"key":"B-1","detail":"dot: connection lost"},{"row":3,"key":"B-2","detail":"dot: connection lost"}],"more_rows":0,` +
		`"seen":"the mail server's answer was lost: dot: connection lost; Message-ID \u003cB-1.1@acme.test\u003e\n` +
		`the mail server's answer was lost: dot: connection lost; Message-ID \u003cB-2.1@acme.test\u003e",` +
		`"done":"the row is marked unknown and never sent again by itself","todo":"look for the Message-ID",` +
		`"first_at":"2026-11-30T09:00:00Z","last_at":"2026-11-30T09:01:00Z","id":"` + m.ID + `"}`
	if string(body) != want {
		t.Errorf("body\n%s\nwant\n%s", body, want)
	}
	if got.Method != http.MethodPost || got.URL.Path != "/x" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %v", got.Method, got.URL, got.Header)
	}
	if sig, want := got.Header.Get(SignatureHeader), Sign("s3cret", time.Unix(1796029200, 0), body); sig != want {
		t.Errorf("signature %q, want %q", sig, want)
	}
}

// TestSign compares with: printf '1796029200.{}' | openssl dgst -sha256 -hmac s3cret
func TestSign(t *testing.T) {
	const want = "t=1796029200,v1=2fead2b6bfafdcee946b1e87076062c459b15cf906ba786cce99f8c234b0f1ac"
	if got := Sign("s3cret", time.Unix(1796029200, 0), []byte("{}")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWebhookWithoutSecret(t *testing.T) {
	w := newHook(t, "http://hooks.example.com/x", "", exchange(func(r *http.Request) (*http.Response, error) {
		if _, ok := r.Header[SignatureHeader]; ok {
			t.Error("signed without a secret")
		}
		return answer(http.StatusNoContent), nil
	}))
	if err := w.Deliver(t.Context(), newMessage(queued(overlap("1")))); err != nil {
		t.Error(err)
	}
}

func TestWebhookFailures(t *testing.T) {
	const address = "https://user:pw@hooks.example.com:8443/T0KEN?key=T0KEN"
	tests := []struct {
		name string
		rt   exchange
		want string
	}{
		{"500", func(*http.Request) (*http.Response, error) { return answer(500), nil }, "webhook at hooks.example.com:8443: answered 500"},
		{"a refused connection", func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }, "connection refused"},
		{
			"a redirect",
			func(*http.Request) (*http.Response, error) {
				res := answer(http.StatusTemporaryRedirect)
				res.Header.Set("Location", "https://other.example.com/")
				return res, nil
			},
			"answered 307, and redirects are not followed",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			w := newHook(t, address, "s3cret", exchange(func(r *http.Request) (*http.Response, error) {
				calls++
				return tt.rt(r)
			}))
			err := w.Deliver(t.Context(), newMessage(queued(overlap("1"))))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			for _, secret := range []string{"T0KEN", "pw", "s3cret", "secret echo"} {
				if strings.Contains(fmt.Sprintf("%v %v", err, w), secret) {
					t.Errorf("%q is in %q", secret, err)
				}
			}
			if calls != 1 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

func TestWebhookTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHook(t, "https://hooks.example.com/", "", exchange(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}))
		begin := time.Now()
		err := w.Deliver(t.Context(), newMessage(queued(overlap("1"))))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != postWithin {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestNewWebhookRefuses(t *testing.T) {
	for _, address := range []string{"", "hooks.example.com/T0KEN", "ftp://hooks.example.com/T0KEN", "https://", "https://h:port/T0KEN", "https:///T0KEN"} {
		if _, err := NewWebhook(address, "", nil, time.Now); err == nil || strings.Contains(err.Error(), "T0KEN") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestLargePayload(t *testing.T) {
	const rows = 20_000
	a := claim.Alert{Kind: claim.AlertRowFault, Job: "reviews", Run: "1", Cause: "row_fault", Seen: "many"}
	for i := range rows {
		a.Rows = append(a.Rows, claim.AlertRow{Row: i + 2, Key: fmt.Sprint("B-", i), Detail: "no address <>&"})
	}
	body, err := payload(newMessage(queued(a)))
	if err != nil {
		t.Fatal(err)
	}
	var p Payload
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatal(err)
	}
	if len(body) > largestBody || len(body) < largestBody-1000 {
		t.Errorf("%d octets", len(body))
	}
	if p.MoreRows == 0 || len(p.Rows)+p.MoreRows != rows {
		t.Errorf("%d rows and %d more", len(p.Rows), p.MoreRows)
	}
	empty, err := payload(newMessage(queued(overlap("1"))))
	if err != nil || !strings.Contains(string(empty), `"rows":[],"more_rows":0`) {
		t.Errorf("%s, %v", empty, err)
	}
}
