package api_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
)

// The tests of this file use a real listener, and times as short as they can be.

// serving serves s until stop is called; ended then gives what Serve returned.
func serving(t *testing.T, s *api.Server) (addr string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	end := make(chan error, 1)
	go func() { end <- s.Serve(ctx, l) }()
	return l.Addr().String(), stop, end
}

// talk writes text on a fresh connection and reads the answer to it.
func talk(t *testing.T, addr, text string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode, readAll(t, res.Body)
}

func post(body string) string {
	return "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n" + body
}

func TestServeLimitsBodiesAndNotWaits(t *testing.T) {
	const readTime = 50 * time.Millisecond
	s := newServer(t, &book{takes: 3 * readTime}, func(c *api.Config) { c.ReadTimeout = readTime })
	addr, _, _ := serving(t, s)
	if status, body := talk(t, addr, post("{")); status != 408 || !strings.Contains(body, "body_timeout") {
		t.Errorf("a body that does not come: %d %s", status, body)
	}
	if status, body := talk(t, addr, post("{}")); status != 200 || !strings.Contains(body, `"sent"`) {
		t.Errorf("a run that takes longer than a body may: %d %s", status, body)
	}
}

func TestServeAnswersHead(t *testing.T) {
	addr, _, _ := serving(t, newServer(t, &book{}))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, conn); !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\n") {
		t.Errorf("answered %q, want a header and no body", got)
	}
}

func TestServeLetsRunsEnd(t *testing.T) {
	status, stopped := stopWhileWaiting(t, &book{takes: 100 * time.Millisecond}, time.Minute)
	if status != 200 || stopped != nil {
		t.Errorf("the caller got %d and Serve %v, want 200 and nil", status, stopped)
	}
}

func TestServeWaitsNoLongerThanItsGrace(t *testing.T) {
	status, stopped := stopWhileWaiting(t, &book{takes: time.Hour}, 20*time.Millisecond)
	if status != 202 || stopped != nil {
		t.Errorf("the caller got %d and Serve %v, want 202 and nil", status, stopped)
	}
}

// stopWhileWaiting stops a server while a request waits for its run.
func stopWhileWaiting(t *testing.T, b *book, grace time.Duration) (status int, stopped error) {
	t.Helper()
	addr, stop, ended := serving(t, newServer(t, b, func(c *api.Config) { c.Grace = grace }))
	go func() {
		for b.count() == 0 {
			time.Sleep(time.Millisecond)
		}
		stop()
	}()
	status, _ = talk(t, addr, post("{}"))
	return status, <-ended
}

func TestServeRefusesOpenListener(t *testing.T) {
	s := newServer(t, &book{})
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(context.Background(), l); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("Serve returned %v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}
