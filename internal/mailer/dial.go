package mailer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wneessen/go-mail/smtp"
)

var (
	errNoSTARTTLS = errors.New("the server does not offer STARTTLS")
	errNoLogin    = errors.New("the server offers no login")
)

// connection answers a connection that is alive: an idle one that still answers,
// or a new one. Idle ones that are dead or have carried enough are replaced
// without a word.
func (m *SMTP) connection(ctx context.Context) (*conn, error) {
	for {
		c := m.pool.take()
		if c == nil {
			return m.dial(ctx)
		}
		if c.sent >= m.cfg.MessagesPerConnection {
			c.quit(m.cfg.Timeout)
			continue
		}
		unwatch := context.AfterFunc(ctx, c.cut)
		err := c.alive(m.cfg.Timeout)
		if !unwatch() {
			c.cut()
			return nil, ctx.Err()
		}
		if err == nil {
			return c, nil
		}
		c.cut()
		m.cfg.Log.DebugContext(ctx, "idle connection is dead", "err", err)
	}
}

// dial connects and logs in. Its errors are *AccountError, unless the context has
// ended. A token may have been revoked while it still looks good, so one that is
// refused is replaced once.
func (m *SMTP) dial(ctx context.Context) (*conn, error) {
	if m.cfg.Token == nil {
		return m.dialWith(ctx, "")
	}
	token, err := m.token(ctx, "")
	if err != nil {
		return nil, err
	}
	c, err := m.dialWith(ctx, token)
	if rep, ok := replyIn(err); !ok || rep.code != 535 {
		return c, err
	}
	if token, err = m.token(ctx, token); err != nil {
		return nil, err
	}
	return m.dialWith(ctx, token)
}

// token fetches a token for XOAUTH2.
func (m *SMTP) token(ctx context.Context, refused string) (string, error) {
	within, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	token, err := m.cfg.Token(within, refused)
	if err != nil && ctx.Err() != nil {
		return "", ctx.Err()
	}
	var fault *AccountError
	if err != nil && !errors.As(err, &fault) {
		err = &AccountError{Step: stepLogin, Problem: "no OAuth token could be had", Err: err}
	}
	return token, err
}

// dialWith connects and logs in, once. The connection is ours until it is
// returned: go-mail leaves it open when a step fails.
func (m *SMTP) dialWith(ctx context.Context, token string) (*conn, error) {
	raw, err := m.connect(ctx)
	if err != nil {
		return nil, m.accountError(ctx, phaseConnect, err)
	}
	c := &conn{Conn: raw}
	unwatch := sync.OnceValue(context.AfterFunc(ctx, c.cut))
	whole := false
	defer func() {
		if !unwatch() || !whole {
			c.cut()
		}
	}()
	for _, do := range []struct {
		phase phase
		step  func(context.Context, *conn) error
	}{
		{phaseGreeting, m.greet},
		{phaseTLS, m.startTLS},
		{phaseLogin, func(ctx context.Context, c *conn) error { return m.logIn(c, token) }},
	} {
		if err := do.step(ctx, c); err != nil {
			return nil, m.accountError(ctx, do.phase, err)
		}
	}
	if !unwatch() {
		return nil, ctx.Err()
	}
	whole = true
	m.cfg.Log.DebugContext(ctx, "connected", "host", m.cfg.Host, "port", m.cfg.Port, "tls", string(m.cfg.TLS))
	return c, nil
}

func (m *SMTP) connect(ctx context.Context) (net.Conn, error) {
	within, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	return m.cfg.DialContext(within, "tcp", net.JoinHostPort(m.cfg.Host, strconv.Itoa(m.cfg.Port)))
}

// greet reads the greeting and says EHLO, under TLS if that is implicit.
func (m *SMTP) greet(ctx context.Context, c *conn) error {
	wire := c.Conn
	if m.cfg.TLS == Implicit {
		c.expect(m.cfg.Timeout)
		secured := tls.Client(c.Conn, m.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			return err
		}
		wire = secured
	}
	c.expect(m.cfg.Timeout)
	client, err := smtp.NewClient(wire, m.cfg.Host)
	if err != nil {
		return err
	}
	c.smtp = client
	c.expect(m.cfg.Timeout)
	return client.Hello(m.cfg.HELO)
}

func (m *SMTP) startTLS(_ context.Context, c *conn) error {
	if m.cfg.TLS != STARTTLS {
		return nil
	}
	if !c.offers("STARTTLS") {
		return errNoSTARTTLS
	}
	c.expect(m.cfg.Timeout)
	return c.smtp.StartTLS(m.tls)
}

func (m *SMTP) logIn(c *conn, token string) error {
	if m.cfg.Username == "" {
		return nil
	}
	_, encrypted := c.smtp.TLSConnectionState()
	if !encrypted && !isLoopback(m.cfg.Host) { // New has seen to it; nothing else may undo that
		return errors.New("the connection is not encrypted")
	}
	ok, offered := c.smtp.Extension("AUTH")
	if !ok {
		return errNoLogin
	}
	auth, err := m.mechanism(strings.Fields(strings.ToUpper(offered)), token)
	if err != nil {
		return err
	}
	c.expect(m.cfg.Timeout)
	return withoutSecrets(c.smtp.Auth(auth), m.cfg.Password, token)
}

// mechanism chooses how to log in. Under TLS the plain ones go first: they work
// with every way that a server keeps passwords, while CRAM-MD5 and SCRAM are
// offered by servers that cannot do them for each user. Without TLS the server is
// on this machine.
func (m *SMTP) mechanism(offered []string, token string) (smtp.Auth, error) {
	user, pw, host := m.cfg.Username, m.cfg.Password, m.cfg.Host
	type mechanism struct {
		name string
		auth smtp.Auth
	}
	known := []mechanism{
		{"PLAIN", smtp.PlainAuth("", user, pw, host, isLoopback(host))},
		{"LOGIN", smtp.LoginAuth(user, pw, host, isLoopback(host))},
		{"SCRAM-SHA-256", smtp.ScramSHA256Auth(user, pw)},
		{"SCRAM-SHA-1", smtp.ScramSHA1Auth(user, pw)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(user, pw)},
	}
	if token != "" {
		known = []mechanism{{"XOAUTH2", smtp.XOAuth2Auth(user, token)}}
	}
	for _, k := range known {
		if slices.Contains(offered, k.name) {
			return k.auth, nil
		}
	}
	return nil, fmt.Errorf("%w that is known here: it has %s", errNoLogin, strings.Join(offered, ", "))
}
