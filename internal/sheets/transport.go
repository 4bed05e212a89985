package sheets

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// newTransport is Go's own with pings on idle HTTP/2 connections: without them a
// connection that a firewall forgot swallows every request until its time is up.
func newTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second}
	return t
}

// onceTransport makes sure that a request with a body is sent once. net/http sends
// one again when a kept connection turns out dead, if it can make the body anew or
// the request claims to be idempotent; here it can and does neither. Requests
// without a body are reads.
type onceTransport struct {
	base     http.RoundTripper
	answered func(http.Header) // told of every answer
}

func (t *onceTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	handOver(req.Context())
	if req.Body != nil {
		req = req.Clone(req.Context())
		req.GetBody = nil
		req.Header.Del("Idempotency-Key")
		req.Header.Del("X-Idempotency-Key")
	}
	answer, err := t.base.RoundTrip(req)
	if err == nil {
		t.answered(answer.Header)
	}
	return answer, err
}

// noRedirect keeps http.Client from following a redirect, which would send a
// POST's body again (307, 308).
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// checkEndpoint reads the address of an emulator, which may lack its scheme, and
// closes its path, for what stands behind the last slash would be dropped.
func checkEndpoint(text string) (string, error) {
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", endpointProblem(text, "is not an address", "write it as http://127.0.0.1:9410")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return "", endpointProblem(text, "is plain http to another machine", "use https, or an emulator on this machine")
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", endpointProblem(text, "has more than a host and a path", "write it as http://127.0.0.1:9410")
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u.String(), nil
}

func endpointProblem(text, problem, advice string) *claim.SheetError {
	return &claim.SheetError{Problem: fmt.Sprintf("the endpoint %q %s", text, problem), Advice: advice, Setup: true}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
