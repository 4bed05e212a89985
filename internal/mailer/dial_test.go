package mailer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

func TestLoginMechanisms(t *testing.T) {
	for _, mode := range []TLSMode{STARTTLS, Implicit, NoTLS} {
		for _, mech := range []string{"PLAIN", "LOGIN"} {
			t.Run(fmt.Sprintf("%s %s", mode, mech), func(t *testing.T) {
				sinkMode := map[TLSMode]smtpsink.TLSMode{STARTTLS: smtpsink.STARTTLS, Implicit: smtpsink.Implicit}[mode]
				sink := newSink(t, smtpsink.Options{
					TLS: sinkMode, Users: map[string]string{"alice": "secret"}, Mechanisms: []string{"NTLM", mech},
				})
				m := newMailer(t, sink, func(c *Config) { c.TLS, c.Username, c.Password = mode, "alice", "secret" })
				want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
				if got := sink.Messages()[0]; got.User != "alice" || got.TLS != (mode != NoTLS) {
					t.Errorf("user %q, TLS %t", got.User, got.TLS)
				}
			})
		}
	}
}

func TestLoginRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		edit   func(*smtpsink.Options)
		reply  string // of a fault at AUTH
		step   string
		advice string
	}{
		{"wrong password", func(o *smtpsink.Options) { o.Users["alice"] = "other" }, "", "login", "smtp.password"},
		{"app password", nil, "534-5.7.9 Application-specific\n534 5.7.9 password required", "login", "use an app password"},
		{"browser", nil, "534 5.7.14 Please log in via your web browser", "login", "use an app password"},
		{"basic login off", nil, "550 5.7.30 Basic authentication is not supported", "login", "XOAUTH2"},
		{"for now", nil, "454 4.7.0 Temporary authentication failure", "login", "cannot check the login now"},
		{"not offered", func(o *smtpsink.Options) { o.Mechanisms = []string{} }, "", "login", "offers no login"},
		{"unknown ones", func(o *smtpsink.Options) { o.Mechanisms = []string{"GSSAPI"} }, "", "login", "GSSAPI"},
		{"no STARTTLS", func(o *smtpsink.Options) { o.TLS = smtpsink.NoTLS }, "", "connect", "does not offer STARTTLS"},
		{"implicit", func(o *smtpsink.Options) { o.TLS = smtpsink.Implicit }, "", "connect", "smtp.tls: implicit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := smtpsink.Options{TLS: smtpsink.STARTTLS, Users: map[string]string{"alice": "secret"}}
				if tc.edit != nil {
					tc.edit(&o)
				}
				if tc.reply != "" {
					o.Rules = []smtpsink.Rule{{Phase: smtpsink.Auth, Action: smtpsink.Reply, Text: tc.reply}}
				}
				sink := newSink(t, o)
				m := newMailer(t, sink, func(c *Config) { c.TLS, c.Username, c.Password = STARTTLS, "alice", "secret" })
				err := m.Login(t.Context())
				wantAccountError(t, err, tc.step, strings.ReplaceAll(tc.reply, "-5.7.9 Application-specific\n534 5.7.9", " 5.7.9 Application-specific"), tc.advice)
				if strings.ContainsAny(err.Error(), "\r\n") {
					t.Errorf("the error has several lines: %q", err)
				}
				if strings.Contains(err.Error(), "secret") {
					t.Errorf("the error has the password: %v", err)
				}
				res := send(t, m, "ada@x.test")
				want(t, res, claim.Deferred, true, tc.step, res.Code)
				wantAccepted(t, sink, 0)
				_ = m.Close()
				sink.Close()
				if n := sink.Stats().Open; n != 0 {
					t.Errorf("%d connections are left open", n)
				}
			})
		})
	}
}

// TestServerRepeatsSecret: there are servers that answer a line with that line.
func TestServerRepeatsSecret(t *testing.T) {
	const plain = "AGFsaWNlAHMzY3IzdA==" // \0alice\0s3cr3t
	sink := newSink(t, smtpsink.Options{
		TLS: smtpsink.STARTTLS, Users: map[string]string{"alice": "s3cr3t"},
		Rules: []smtpsink.Rule{{Phase: smtpsink.Auth, Action: smtpsink.Reply, Text: "500 5.5.2 what is " + plain + " or s3cr3t"}},
	})
	m := newMailer(t, sink, func(c *Config) { c.TLS, c.Username, c.Password = STARTTLS, "alice", "s3cr3t" })
	err := m.Login(t.Context())
	wantAccountError(t, err, "login", "what is [hidden] or [hidden]")
	res := send(t, m, "ada@x.test")
	for _, s := range []string{err.Error(), errors.Unwrap(err).Error(), res.Reply, res.Reason()} {
		if strings.Contains(s, plain) || strings.Contains(s, "s3cr3t") {
			t.Errorf("%q has the password", s)
		}
	}
}

func TestConnectTrouble(t *testing.T) {
	for _, tc := range []struct {
		name   string
		port   int
		dial   func(context.Context) (net.Conn, error)
		advice string
	}{
		{"refused", 587, func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}, "nothing answers at localhost:587"},
		{"dns", 587, func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "localhost", IsNotFound: true}}
		}, "check smtp.host"},
		{"port 25", 25, func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, "use 587"},
		{"silence", 587, func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, "within 10s"},
		{"other", 587, func(context.Context) (net.Conn, error) { return nil, errors.New("no route") }, "cannot connect"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMailer(t, nil, func(c *Config) {
					c.Port = tc.port
					c.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return tc.dial(ctx) }
				})
				wantAccountError(t, m.Login(t.Context()), "connect", tc.advice)
				want(t, send(t, m, "ada@x.test"), claim.Deferred, true, "connect", 0)
			})
		})
	}
}

// TestModeDoesNotFit: each side waits for the other, or takes it for garbage.
func TestModeDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inClear, err := smtpsink.New(smtpsink.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer inClear.Close()
		m := newMailer(t, inClear, func(c *Config) { c.TLS = Implicit })
		wantAccountError(t, m.Login(t.Context()), "connect", "does not speak TLS", "smtp.tls: starttls")
	})
	synctest.Test(t, func(t *testing.T) {
		secured, err := smtpsink.New(smtpsink.Options{TLS: smtpsink.Implicit})
		if err != nil {
			t.Fatal(err)
		}
		defer secured.Close()
		m := newMailer(t, secured, func(c *Config) { c.TLS, c.Port = STARTTLS, 465 })
		start := time.Now()
		wantAccountError(t, m.Login(t.Context()), "connect", "localhost:465 did not greet", "smtp.tls: implicit")
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestSTARTTLSRefused(t *testing.T) {
	sink := newSink(t, smtpsink.Options{TLS: smtpsink.STARTTLS, Rules: []smtpsink.Rule{
		{Phase: smtpsink.StartTLS, Action: smtpsink.Reply, Text: "454 4.7.0 TLS not available", Times: 1},
	}})
	m := newMailer(t, sink, func(c *Config) { c.TLS = STARTTLS })
	wantAccountError(t, m.Login(t.Context()), "connect", "454 4.7.0 TLS not available")
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
}

// TestOverTCP: the same over a socket, with the authority from a file.
func TestOverTCP(t *testing.T) {
	sink := newSink(t, smtpsink.Options{TLS: smtpsink.STARTTLS, Users: map[string]string{"alice": "secret"}})
	addr, err := sink.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, sink.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newMailer(t, nil, func(c *Config) {
		c.Host, c.Port, c.TLS, c.CAFile = "127.0.0.1", addr.(*net.TCPAddr).Port, STARTTLS, ca
		c.Username, c.Password = "alice", "secret"
	})
	if err := m.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
	for _, rule := range []smtpsink.Rule{
		{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Times: 1},
		{Phase: smtpsink.Dot, Action: smtpsink.Reset, Accept: true, Times: 1},
	} {
		sink.SetRules(rule)
		want(t, send(t, m, "ada@x.test"), claim.Doubtful, false, "dot", 0)
	}
	sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.ReplyDrop, Text: "451 4.3.0 later", Times: 1})
	want(t, send(t, m, "ada@x.test"), claim.Deferred, false, "dot", 451)
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
	wantAccepted(t, sink, 4)
	sink.Close()
	wantAccountError(t, m.Login(t.Context()), "connect", "nothing answers at 127.0.0.1")
}

func TestConfig(t *testing.T) {
	good := Config{Host: "smtp.x.test", From: "Acme <hello@acme.test>", Username: "a", Password: "b"}
	if m, err := New(good); err != nil || m.cfg.Port != 587 || m.cfg.HELO != "acme.test" || m.cfg.DotTimeout != 10*time.Minute {
		t.Errorf("defaults: %v", err)
	}
	for want, edit := range map[string]func(*Config){
		"no host":                       func(c *Config) { c.Host = "" },
		"tls is \"maybe\"":              func(c *Config) { c.TLS = "maybe" },
		"in the clear":                  func(c *Config) { c.TLS = NoTLS },
		"from has 0 addresses":          func(c *Config) { c.From = "" },
		"from has 2 addresses":          func(c *Config) { c.From = "a@x.test, b@x.test" },
		"no @":                          func(c *Config) { c.From = "acme" },
		"ASCII":                         func(c *Config) { c.From = "jörg@x.test" },
		"line break in from":            func(c *Config) { c.From = "A\n <a@x.test>" },
		"without a username":            func(c *Config) { c.Username = "" },
		"without a password":            func(c *Config) { c.Password = "" },
		"helo \"a b\"":                  func(c *Config) { c.HELO = "a b" },
		"ca_file":                       func(c *Config) { c.CAFile = "/does/not/exist" },
		"holds no certificate in PEM":   func(c *Config) { c.CAPEM = []byte("x") },
		"smtp: helo \"x\\r\\nMAIL\" is": func(c *Config) { c.HELO = "x\r\nMAIL" },
	} {
		c := good
		edit(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
