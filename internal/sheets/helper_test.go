package sheets

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// sent is a request as it went over the wire.
type sent struct {
	method, url, body string
	header            http.Header
	again             bool // it could be made anew
}

func (s sent) query(t *testing.T) url.Values {
	t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// script is a transport that answers in turn, the last answer for ever.
type script struct {
	answers []answer
	mu      sync.Mutex
	log     []sent
}

type answer func(*http.Request) (*http.Response, error)

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	s.mu.Lock()
	s.log = append(s.log, sent{r.Method, r.URL.String(), strings.TrimSpace(string(body)), r.Header.Clone(), r.GetBody != nil})
	a := s.answers[min(len(s.log), len(s.answers))-1]
	s.mu.Unlock()
	return a(r)
}

// reply answers with a status and a body.
func reply(status int, body string, header ...string) answer {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json; charset=UTF-8"}}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r, ContentLength: int64(len(body))}, nil
	}
}

// refuse answers as Google refuses.
func refuse(code int, status, message string) answer {
	return reply(code, `{"error":{"code":`+itoa(code)+`,"message":`+quote(message)+`,"status":"`+status+`"}}`)
}

// fail breaks the connection.
func fail(err error) answer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var errCut = errors.New("connection reset by peer")

// hang answers when the caller has given up.
func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// with is a client over scripted answers.
func with(t *testing.T, answers ...answer) (*Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	return newClient(t, Config{Transport: s}), s
}

func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.Rand == nil {
		cfg.Rand = func() float64 { return 0.5 }
	}
	c, err := New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sheetError is the error for people that err must be.
func sheetError(t *testing.T, err error) *claim.SheetError {
	t.Helper()
	var words *claim.SheetError
	if !errors.As(err, &words) {
		t.Fatalf("%v (%T) is not for people", err, err)
	}
	return words
}

func isUnclear(err error) bool {
	var unclear *claim.UnclearError
	return errors.As(err, &unclear)
}

func itoa(n int) string { return strconv.Itoa(n) }

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return string(b)
}
