package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

type healthCmd struct {
	URL   string        `arg:"" optional:"" help:"Where the service is, like http://127.0.0.1:8080; left out: api.listen of the configuration."`
	Ready bool          `help:"Ask /readyz: can it work now, with its ledger? Without: /healthz, does the process live?"`
	Wait  time.Duration `help:"How long to wait for the answer (${default})." default:"5s" placeholder:"TIME"`
}

// Help is the long help of health.
func (healthCmd) Help() string {
	return `For containers, which have no shell and no curl, and for scripts. The certificate of
api.tls is not checked: the service is asked on its own machine, and told nothing.

Exit status: 0 when it is well, 1 when it is not, 2 for a usage or configuration error.`
}

// Run asks a service how it is.
func (c *healthCmd) Run(ctx context.Context, m *Main, opts *cli) error {
	base := c.URL
	if base == "" {
		cfg, err := m.load(opts.Config)
		if err != nil {
			return err
		}
		base = localURL(cfg.API.Listen, cfg.API.TLS != nil)
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("health takes an address like http://127.0.0.1:8080, not %q", base)
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	said, err := askHealth(ctx, u.JoinPath(path).String(), c.Wait)
	if err != nil {
		return &statusError{code: exitSome, text: err.Error()}
	}
	_, err = fmt.Fprintln(m.Stdout, said)
	return err
}

// askHealth answers what the service says of itself; an error when it is not well.
func askHealth(ctx context.Context, address string, wait time.Duration) (string, error) {
	client := &http.Client{
		Timeout: wait,
		Transport: &http.Transport{ // no proxy: the service is here
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, //nolint:gosec // its name is not 127.0.0.1, and nothing is told to it
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("no answer from the service: %w: does sheetclaim serve run, and listen there?", err)
	}
	defer resp.Body.Close()
	const most = 4 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	said := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answered %d: %s", address, resp.StatusCode, said)
	}
	return said, err
}

// localURL is where this machine reaches a service that listens there. One that
// listens on all addresses is asked on loopback.
func localURL(listen string, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(listen) // the configuration was checked
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
		host = map[bool]string{true: "127.0.0.1", false: "::1"}[addr.Is4()]
	}
	return scheme + "://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
}
