package job

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// serverTLS checks that the files are there and belong together.
func (r *reader) serverTLS(t *ServerTLS) {
	if t == nil {
		return
	}
	before := len(r.problems)
	r.present("api.tls.cert_file", t.CertFile)
	r.present("api.tls.key_file", t.KeyFile)
	r.readable("api.tls.cert_file", t.CertFile)
	r.readable("api.tls.key_file", t.KeyFile)
	if len(r.problems) > before {
		return
	}
	if _, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile); err != nil {
		r.at("api.tls", "expected a certificate and its own key, both in PEM: %s", strings.TrimPrefix(err.Error(), "tls: "))
	}
}

// proxies reads the addresses of trusted_proxies. All addresses would mean that a
// caller says itself who it is.
func (r *reader) proxies(a *API) {
	for i, text := range a.TrustedProxies {
		path := fmt.Sprintf("api.trusted_proxies[%d]", i)
		p, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		switch {
		case err != nil:
			r.at(path, "expected an address such as 10.0.0.5 or a range such as 10.0.0.0/24, found %s", r.show(path, text))
		case p.Bits() == 0:
			r.at(path, "%s is everybody: name the proxy's own address or range", r.show(path, text))
		}
		a.proxies = append(a.proxies, p)
	}
}

// leastToken is the length below which a token is worth a warning.
const leastToken = 16

// Warnings says what is allowed and not wise. It is said at each start.
func (c *Config) Warnings() []string {
	var w []string
	for _, t := range c.API.Tokens {
		if len(t.Token.Reveal()) < leastToken {
			w = append(w, fmt.Sprintf("the token named %q is shorter than %d characters and may be guessed: make one with `openssl rand -hex 24`", t.Name, leastToken))
		}
	}
	if c.SMTP != nil && c.SMTP.SkipVerify {
		w = append(w, "smtp.skip_verify takes any certificate: whoever gets between can read the login and the messages, give smtp.ca_file instead")
	}
	if hook := c.Alerts.Webhook; hook != nil {
		if u, err := url.Parse(hook.URL); err == nil && u.Scheme == "http" && !isNear(u.Hostname()) {
			w = append(w, "alerts.webhook.url is plain http: keys and details of rows cross the network in the clear, use https")
		}
	}
	return w
}

// isNear reports whether a host is this machine, a private address, or a name without
// a dot, as containers have on their own network.
func isNear(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	return isLoopback(host) || !strings.Contains(host, ".") || strings.HasSuffix(strings.ToLower(host), ".internal")
}
