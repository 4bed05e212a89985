package api

import (
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"
)

// How many wrong tokens one address may send: some at once, for people who mistype,
// then one in a while. A token of 16 random characters is not found at that pace.
const (
	guessesAtOnce = 10
	guessEvery    = 6 * time.Second
	mostAddresses = 4096 // that are remembered; an entry takes some 500 bytes
)

// logins counts wrong tokens by the address that sent them, so that tokens cannot be
// guessed. The count is looked at before the token: an answer that told a right token
// from a wrong one would let the guessing go on.
type logins struct {
	mu     sync.Mutex
	byFrom map[netip.Prefix]*guesses // only of addresses that sent a wrong token
}

// guesses are the wrong tokens of one address.
type guesses struct {
	limit *rate.Limiter
	// known are the hashes of the latest. The same one again is a caller with an old
	// token and no guess: it must not keep others of its address out.
	known []tokenSum
}

// find looks at a token, unless its address has sent too many wrong ones; then it
// answers how long to wait.
func (l *logins) find(keys keyring, from netip.Prefix, now time.Time, token string) (*caller, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum, g := sumOf(token), l.byFrom[from]
	if g != nil {
		if slices.Contains(g.known, sum) {
			return nil, 0
		}
		if missing := 1 - g.limit.TokensAt(now); missing > 0 {
			return nil, time.Duration(math.Ceil(missing*guessEvery.Seconds())) * time.Second
		}
	}
	who := keys.find(sum)
	if who != nil {
		return who, 0
	}
	if g == nil {
		l.makeRoom(now)
		g = &guesses{limit: rate.NewLimiter(rate.Every(guessEvery), guessesAtOnce)}
		l.byFrom[from] = g
	}
	g.limit.AllowN(now, 1)
	g.known = append(g.known[max(0, len(g.known)-guessesAtOnce+1):], sum)
	return nil, 0
}

// makeRoom forgets addresses that have waited long enough, and at least the one that
// is nearest to it: who has that many addresses gains little by being forgotten.
func (l *logins) makeRoom(now time.Time) {
	if len(l.byFrom) < mostAddresses {
		return
	}
	var nearest netip.Prefix
	most := math.Inf(-1)
	for from, g := range l.byFrom {
		left := g.limit.TokensAt(now)
		if left >= guessesAtOnce {
			delete(l.byFrom, from)
		}
		if left > most {
			nearest, most = from, left
		}
	}
	delete(l.byFrom, nearest)
}

// addressOf is whose wrong tokens are counted together: one IPv4 address, or the /64
// of an IPv6 address, since one host has all of that (RFC 4291, section 2.5.4).
// Requests whose address cannot be read share a count.
func addressOf(realIP string) netip.Prefix {
	addr, err := netip.ParseAddr(realIP)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap()
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(addr.WithZone(""), bits).Masked()
}

// clientAddress says where RealIP comes from: the connection, or X-Forwarded-For as
// far as trusted proxies have written it. Anybody can send that header.
func clientAddress(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		trust = append(trust, echo.TrustIPRange(&net.IPNet{
			IP: p.Masked().Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}
