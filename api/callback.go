package api

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// longestCallback bounds the address of a callback, in bytes.
const longestCallback = 2000

// callback checks where the end of a run is to be told; "" for nowhere.
func (s *Server) callback(address *string) (string, error) {
	if address == nil {
		return "", nil
	}
	return checkCallback(*address, s.cfg.CallbackHosts)
}

// CallbackAllowed reports whether an address may be called back where these hosts are
// allowed, as it must be at each try: the configuration may have changed since the
// request.
func CallbackAllowed(address string, hosts []string) bool {
	_, err := checkCallback(address, hosts)
	return err == nil
}

// checkCallback answers the address as it is kept. Only the hosts that the configuration
// names are called: a caller must not be able to make the service speak to others
// (server-side request forgery).
func checkCallback(address string, hosts []string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case len(hosts) == 0:
		return "", refuseCallback("this service calls nobody back: leave callback_url out, or let its owner set api.callback_hosts")
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || len(address) > longestCallback:
		return "", refuseCallback("expected an address such as https://host/path, of at most %d bytes, found %s", longestCallback, brief(address))
	case u.User != nil:
		return "", refuseCallback("expected an address without a name and a password: it would be kept in the ledger; the receiver can check the signature")
	case !slices.ContainsFunc(hosts, func(allowed string) bool { return isHost(u, allowed) }):
		return "", refuseCallback("callbacks may not go to %s: use an allowed host, or let the owner add it to api.callback_hosts", brief(u.Host)).allow(hosts)
	case u.Scheme == "http" && !isPrivate(u.Hostname()):
		return "", refuseCallback("expected https: a run document holds addresses, and %s may be on the public internet", brief(u.Host))
	}
	u.Fragment = ""
	return u.String(), nil
}

func refuseCallback(format string, args ...any) *problem {
	return refuse(codeCallback, format, args...).at("callback_url")
}

// isHost reports whether an address is at an allowed host: at that very port when one
// is named, else at any.
func isHost(u *url.URL, allowed string) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	allowed = strings.ToLower(allowed)
	if host == strings.Trim(allowed, "[]") {
		return true
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host+":"+port == allowed
}

// isPrivate reports whether a host cannot be on the public internet: a private
// address, a name without a dot, as containers have, or one under a domain that is
// kept for private use (RFC 6761, 6762, 8375; ICANN's resolution on .internal).
func isPrivate(host string) bool {
	if isLoopback(host) {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsPrivate()
	}
	host = "." + strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.LastIndexByte(host, '.') == 0 || slices.ContainsFunc([]string{".internal", ".local", ".home.arpa"},
		func(domain string) bool { return strings.HasSuffix(host, domain) })
}
