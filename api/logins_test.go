package api_test

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
)

// asks sends GET /v1/jobs from an address with a token.
func asks(t *testing.T, s *api.Server, from, token string, headers ...string) answer {
	t.Helper()
	r := request("GET", "/v1/jobs", "", append(headers, "Authorization: Bearer "+token)...)
	r.RemoteAddr = from
	return send(t, s, r)
}

// guess sends n different wrong tokens from an address and answers how often the
// service looked at them.
func guess(t *testing.T, s *api.Server, from, mark string, n int, headers ...string) (looked int) {
	t.Helper()
	for i := range n {
		if a := asks(t, s, from, fmt.Sprintf("%s-%d", mark, i), headers...); a.Status == 401 {
			looked++
		}
	}
	return looked
}

// AP05: tokens cannot be guessed, and whoever guesses keeps out nobody but the own
// address.
func TestAP05GuessingIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &book{}, withToken)
		const attacker, n8n = "203.0.113.9:1000", "203.0.113.10:1000"
		if n := guess(t, s, attacker, "a", 200); n != 10 {
			t.Errorf("%d of 200 guesses were looked at, want 10", n)
		}
		a := asks(t, s, "203.0.113.9:2000", secret) // another port is the same caller
		a.want(t, 429, "too_many_wrong_tokens")
		if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 6 {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
		asks(t, s, n8n, secret).want(t, 200, "")
		time.Sleep(6 * time.Second)
		asks(t, s, attacker, secret).want(t, 200, "")
		if n := guess(t, s, attacker, "b", 50); n != 1 {
			t.Errorf("after 6 s %d guesses were looked at, want 1", n)
		}
		time.Sleep(time.Hour)
		if n := guess(t, s, attacker, "c", 50); n != 10 {
			t.Errorf("after an hour %d guesses were looked at, want 10", n)
		}
	})
}

// A flow that was given an old token asks all the time, from the address of those
// that have a good one. It guesses nothing, so it keeps nobody out.
func TestOldTokenKeepsNobodyOut(t *testing.T) {
	s := newServer(t, &book{}, withToken)
	const from = "10.0.0.7:1000"
	for range 100 {
		asks(t, s, from, "the-token-of-last-year").want(t, 401, "unauthorized")
		do(t, s, "GET", "/v1/jobs", "").want(t, 401, "unauthorized")
	}
	asks(t, s, from, secret).want(t, 200, "")
}

func TestWhoseGuessesAreCountedTogether(t *testing.T) {
	trust := func(cfg *api.Config) {
		withToken(cfg)
		cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	}
	const proxy, forwarded = "10.0.0.5:1000", "X-Forwarded-For: "
	for _, tt := range []struct {
		name          string
		edit          func(*api.Config)
		from, headers string
		other         string // an address
		otherHeaders  string
		together      bool
	}{
		{"one IPv6 network", withToken, "[2001:db8:1:2::1]:1", "X: y", "[2001:db8:1:2:ffff::9]:1", "X: y", true},
		{"two IPv6 networks", withToken, "[2001:db8:1:2::1]:1", "X: y", "[2001:db8:1:3::1]:1", "X: y", false},
		{"IPv4 in IPv6", withToken, "[::ffff:192.0.2.1]:1", "X: y", "192.0.2.1:1", "X: y", true},
		{"a header that anybody can send", withToken, "192.0.2.1:1", forwarded + "198.51.100.1", "192.0.2.1:1", forwarded + "198.51.100.2", true},
		{"two callers behind a trusted proxy", trust, proxy, forwarded + "198.51.100.1", proxy, forwarded + "198.51.100.2", false},
		{"one caller that makes up addresses", trust, proxy, forwarded + "1.1.1.1, 198.51.100.1", proxy, forwarded + "2.2.2.2, 198.51.100.1", true},
		{"a caller that is no proxy", trust, "10.0.1.5:1", forwarded + "198.51.100.1", "10.0.1.5:1", forwarded + "198.51.100.2", true},
		{"an address that cannot be read", withToken, "pipe", "X: y", "@", "X: y", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, &book{}, tt.edit)
				guess(t, s, tt.from, "a", 20, tt.headers)
				want := map[bool]int{true: 429, false: 200}[tt.together]
				if a := asks(t, s, tt.other, secret, tt.otherHeaders); a.Status != want {
					t.Errorf("answered %d, want %d", a.Status, want)
				}
			})
		})
	}
}

// An attacker with very many addresses cannot fill the memory, and a good token is
// taken meanwhile.
func TestGuessesTakeBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &book{}, withToken)
		addr := netip.MustParseAddr("198.18.0.0")
		for i := range 6000 {
			r := httptest.NewRequest("GET", "/v1/jobs", nil)
			r.Header.Set("Authorization", fmt.Sprintf("Bearer wrong-%d", i))
			r.RemoteAddr = netip.AddrPortFrom(addr, 1).String()
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
			addr = addr.Next()
		}
		if n := s.Guessers(); n > 4096 {
			t.Errorf("%d addresses are remembered", n)
		}
		asks(t, s, "203.0.113.10:1", secret).want(t, 200, "")
		time.Sleep(time.Hour)
		guess(t, s, "203.0.113.11:1", "a", 1)
		if n := s.Guessers(); n != 1 {
			t.Errorf("%d addresses are remembered after an hour, want 1", n)
		}
	})
}
