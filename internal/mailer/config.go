package mailer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"os"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// TLSMode says how a connection becomes encrypted. There is no "if offered": an
// attacker would take the offer away.
type TLSMode string

const (
	STARTTLS TLSMode = "starttls"
	Implicit TLSMode = "implicit" // from the first byte (RFC 8314 section 3)
	NoTLS    TLSMode = "none"
)

// Config is one account at a mail server.
type Config struct {
	Host   string
	Port   int     // 0: 587, 465 or 25, as TLS has it
	TLS    TLSMode // "": STARTTLS
	CAFile string  // certificates trusted beside those of the system, in PEM
	CAPEM  []byte  // the same, already read
	// SkipVerify takes any certificate, also that of somebody in between who then sees
	// login and messages.
	SkipVerify bool
	Username   string // "": no login
	Password   string
	// Token answers an OAuth token for XOAUTH2, in place of a password.
	Token TokenFunc
	HELO  string // own name for EHLO; "": the domain of From
	From  string // "Name <address>", the author and the envelope sender

	Connections           int           // at the same time, at most; 0: 2
	MessagesPerConnection int           // 0: 100
	Rate                  rate.Limit    // transactions per second; 0: no limit
	Timeout               time.Duration // of each step but the final dot; 0: 30s
	DotTimeout            time.Duration // 0: 10m

	// DialContext connects in place of a net.Dialer. Its connections must do as TCP
	// does: a Write that fails has not handed over all of its bytes.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	Now         func() time.Time // of Result.At
	// Observe is told of each Login and Send that begins, and answers what is to be told
	// its end. Nil: nobody counts.
	Observe func(ctx context.Context) (context.Context, func(claim.Result))
	Log     *slog.Logger // steps and codes; never an address, a body or a reply's text
}

// TokenFunc answers an access token that is good now. Refused, when not "", is one
// that the server has just refused: it is not answered again.
type TokenFunc func(ctx context.Context, refused string) (string, error)

// standardPort is the port of a TLS mode (RFC 8314 sections 3.3 and 7.3).
func (m TLSMode) standardPort() int {
	switch m {
	case STARTTLS:
		return 587
	case Implicit:
		return 465
	case NoTLS:
		return 25
	}
	return 0
}

func (c *Config) setDefaults() {
	if c.TLS == "" {
		c.TLS = STARTTLS
	}
	if c.Port == 0 {
		c.Port = c.TLS.standardPort()
	}
	if c.Connections <= 0 {
		c.Connections = 2
	}
	if c.MessagesPerConnection <= 0 {
		c.MessagesPerConnection = 100
	}
	if c.Rate <= 0 {
		c.Rate = rate.Inf
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.DotTimeout <= 0 {
		c.DotTimeout = 10 * time.Minute
	}
	if c.DialContext == nil {
		c.DialContext = new(net.Dialer).DialContext
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Observe == nil {
		c.Observe = func(ctx context.Context) (context.Context, func(claim.Result)) { return ctx, func(claim.Result) {} }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// check answers what is wrong with the configuration, and the author.
func (c *Config) check() (*mail.Address, error) {
	from, err := parseList("from", c.From)
	switch {
	case c.Host == "":
		return nil, errors.New("smtp: no host")
	case c.TLS.standardPort() == 0:
		return nil, fmt.Errorf("smtp: tls is %q, not starttls, implicit or none", c.TLS)
	case err != nil:
		return nil, fmt.Errorf("smtp: %w", err)
	case len(from) != 1:
		return nil, fmt.Errorf("smtp: from has %d addresses, not one", len(from))
	case !isASCII(from[0].Address):
		return nil, errors.New("smtp: from must be an ASCII address: not every server takes others")
	case c.Username == "" && (c.Password != "" || c.Token != nil):
		return nil, errors.New("smtp: a password or oauth without a username")
	case c.Username != "" && c.Password == "" && c.Token == nil:
		return nil, errors.New("smtp: a username without a password or oauth")
	case c.Username != "" && c.TLS == NoTLS && !isLoopback(c.Host):
		return nil, fmt.Errorf("smtp: tls is none and %s is not this machine: the login would go over the network in the clear", c.Host)
	case strings.ContainsFunc(c.HELO, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, fmt.Errorf("smtp: helo %q is not a host name", c.HELO)
	}
	if c.HELO == "" {
		c.HELO = domainOf(from[0].Address)
	}
	return from[0], nil
}

// tlsConfig trusts the system's authorities and those of the configuration.
func (c *Config) tlsConfig() (*tls.Config, error) {
	cfg := &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.SkipVerify} //nolint:gosec // asked for, and warned of at each start
	pem := c.CAPEM
	if c.CAFile != "" {
		b, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("smtp: ca_file: %w", err)
		}
		pem = append(b, pem...)
	}
	if len(pem) == 0 {
		return cfg, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a machine without a store still has what it was given
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("smtp: ca_file %s holds no certificate in PEM", c.CAFile)
	}
	cfg.RootCAs = roots
	return cfg, nil
}

// isLoopback reports whether a host is this machine by its very name.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
