package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// caller is who sent a request, and what it may see.
type caller struct {
	name  string // of its token; "" when the service has none
	bound bool   // to its jobs
	jobs  []*JobInfo
	looks bool // and changes nothing
}

// job answers a job that the caller may see.
func (c *caller) job(name string) (*JobInfo, bool) {
	i := slices.IndexFunc(c.jobs, func(j *JobInfo) bool { return j.Name == name })
	if i < 0 {
		return nil, false
	}
	return c.jobs[i], true
}

// sees reports whether the caller may see the runs of a job. One that is not bound
// also sees those of jobs that are no longer configured.
func (c *caller) sees(job string) bool {
	_, ok := c.job(job)
	return ok || !c.bound
}

// jobNames lists the jobs that the caller may see.
func (c *caller) jobNames() []string {
	names := make([]string, len(c.jobs))
	for i, j := range c.jobs {
		names[i] = j.Name
	}
	return names
}

// keyring knows callers by the hash of their token.
type keyring []struct {
	sum    tokenSum
	caller *caller
}

type tokenSum [sha256.Size]byte

func sumOf(token string) tokenSum { return sha256.Sum256([]byte(token)) }

func newKeyring(cfg *Config) keyring {
	ring := make(keyring, len(cfg.Tokens))
	for i, t := range cfg.Tokens {
		ring[i].sum = sumOf(t.Token)
		ring[i].caller = newCaller(cfg, t.Name, t.Jobs)
		ring[i].caller.looks = t.ReadOnly
	}
	return ring
}

// newCaller makes a caller that is bound to some jobs; nil: to none in particular.
func newCaller(cfg *Config, name string, bound []string) *caller {
	c := &caller{name: name, bound: bound != nil}
	for i := range cfg.Jobs {
		if j := &cfg.Jobs[i]; !c.bound || slices.Contains(bound, j.Name) {
			c.jobs = append(c.jobs, j)
		}
	}
	return c
}

// find answers whose token that is, or nil. Hashes of one length are compared, all
// of them and each to its end, so that the time says nothing about the tokens.
func (k keyring) find(sum tokenSum) *caller {
	var found *caller
	for i := range k {
		if subtle.ConstantTimeCompare(sum[:], k[i].sum[:]) == 1 {
			found = k[i].caller
		}
	}
	return found
}

// authenticate lets a request pass that has a token, or whose route is open.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.open[c.Request().Method+" "+c.Path()] {
			return next(c)
		}
		who, err := s.caller(c)
		if err != nil {
			return err
		}
		callOf(c).caller = who
		if who.looks && c.Request().Method != http.MethodGet && c.Path() != previewRoute {
			return errReadOnly()
		}
		return next(c)
	}
}

func errReadOnly() error {
	return refuse(codeReadOnly, "the token is read-only: it looks and previews, use one without read_only to start, send or settle anything")
}

// caller finds out who sent a request (RFC 6750, sections 2.1 and 3).
func (s *Server) caller(c echo.Context) (*caller, error) {
	if len(s.keys) == 0 {
		return s.anyone, nil
	}
	// The name of the scheme is compared without case (RFC 9110, section 11.1).
	scheme, token, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="sheetclaim"`)
		return nil, refuse(codeUnauthorized, "expected the header Authorization: Bearer <token>, found no bearer token: send one of those under api.tokens")
	}
	who, wait := s.logins.find(s.keys, addressOf(c.RealIP()), time.Now(), strings.TrimSpace(token))
	switch {
	case who != nil:
		return who, nil
	case wait > 0:
		return nil, refuse(codeManyWrong, "this address has sent too many wrong tokens, and is asked to wait: compare the token with those under api.tokens").after(wait)
	}
	c.Response().Header().Set("WWW-Authenticate", `Bearer realm="sheetclaim", error="invalid_token"`)
	return nil, refuse(codeUnauthorized, "the bearer token is none that this service knows: compare it with those under api.tokens")
}

// guardLocal protects a service without tokens, which trusts its own machine, from
// what a web page makes a browser on that machine send: a name of the attacker that
// was made to mean 127.0.0.1 shows in Host, and a foreign page in Origin.
func guardLocal(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if !isLoopback(hostOnly(r.Host)) {
			return refuse(codeHostRefused, "without tokens the service answers to localhost alone, and was called %s: call it by 127.0.0.1, or configure api.tokens", brief(r.Host))
		}
		if origin := r.Header.Get("Origin"); origin != "" && !sameHost(origin, r) {
			return refuse(codeOriginRefused, "without tokens the service takes no requests of the web page %s: configure api.tokens", brief(origin))
		}
		return next(c)
	}
}

// sameHost reports whether an Origin (RFC 6454, section 7) is that of the request
// itself. Another port is another origin.
func sameHost(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// hostOnly takes the port off a Host header, and the brackets of an IPv6 address.
func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}
