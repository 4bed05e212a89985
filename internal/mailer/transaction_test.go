package mailer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

func TestBeginSaysNo(t *testing.T) {
	sink := newSink(t, smtpsink.Options{})
	m := newMailer(t, sink)
	no := errors.New("the confirming read is too old")
	res := m.Send(t.Context(), compose(t, m, draft("ada@x.test")), claim.Hooks{Begin: func() error { return no }})
	want(t, res, claim.NotBegun, false, "mail", 0)
	if !errors.Is(res.Err, no) {
		t.Errorf("err %v", res.Err)
	}
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
	if st := sink.Stats(); st.Connections != 1 || st.Commands["MAIL"] != 1 {
		t.Errorf("%d connections, MAIL %d times", st.Connections, st.Commands["MAIL"])
	}
}

// TestCommitFails: whatever the size of the letter, nothing is accepted.
func TestCommitFails(t *testing.T) {
	for name, size := range map[string]int{"small": 1, "large": 500} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := newSink(t, smtpsink.Options{TLS: smtpsink.STARTTLS})
				m := newMailer(t, sink, func(c *Config) { c.TLS = STARTTLS })
				d := draft("ada@x.test")
				d.Text = strings.Repeat(d.Text, size)
				no := errors.New("the lease has ended")
				res := m.Send(t.Context(), compose(t, m, d), claim.Hooks{Commit: func() error { return no }})
				want(t, res, claim.NotBegun, false, "content", 0)
				if !errors.Is(res.Err, no) {
					t.Errorf("err %v", res.Err)
				}
				_ = m.Close()
				time.Sleep(time.Hour)
				wantAccepted(t, sink, 0)
				if st := sink.Stats(); st.Open != 0 || st.Commands["QUIT"] != 0 {
					t.Errorf("%d connections open, QUIT %d times", st.Open, st.Commands["QUIT"])
				}
			})
		})
	}
}

// TestContextEnds ends the context while the sink is slow at each moment.
func TestContextEnds(t *testing.T) {
	for _, tc := range []struct {
		phase    smtpsink.Phase
		verdict  claim.Verdict
		step     string
		accepted int
	}{
		{smtpsink.Connect, claim.NotBegun, "connect", 0},
		{smtpsink.EHLO, claim.NotBegun, "connect", 0},
		{smtpsink.StartTLS, claim.NotBegun, "connect", 0},
		{smtpsink.Auth, claim.NotBegun, "connect", 0},
		{smtpsink.Mail, claim.NotBegun, "mail", 0},
		{smtpsink.Rcpt, claim.NotBegun, "rcpt", 0},
		{smtpsink.Data, claim.NotBegun, "data", 0},
		{smtpsink.MidData, claim.NotBegun, "content", 0},
		{smtpsink.Dot, claim.Accepted, "dot", 1},
	} {
		t.Run(string(tc.phase), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := newSink(t, smtpsink.Options{
					TLS: smtpsink.STARTTLS, Users: map[string]string{"a": "secret"}, Buffer: 8 << 10,
					Rules: []smtpsink.Rule{{Phase: tc.phase, Action: smtpsink.Slow, Delay: 8 * time.Second, Times: 1}},
				})
				m := newMailer(t, sink, func(c *Config) { c.TLS, c.Username, c.Password = STARTTLS, "a", "secret" })
				d := draft("ada@x.test")
				d.Text = strings.Repeat(d.Text, 50)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				start := time.Now()
				res := m.Send(ctx, compose(t, m, d), claim.Hooks{})
				want(t, res, tc.verdict, false, tc.step, res.Code)
				if took := time.Since(start); tc.verdict == claim.NotBegun && took != 3*time.Second {
					t.Errorf("took %s, want no more than the context", took)
				}
				time.Sleep(time.Minute)
				wantAccepted(t, sink, tc.accepted)
				want(t, send(t, m, "bob@x.test"), claim.Accepted, false, "dot", 250)
			})
		})
	}
}

// TestContextEndsInHooks: until the dot is written the context counts.
func TestContextEndsInHooks(t *testing.T) {
	for _, hook := range []string{"before", "begin", "commit"} {
		t.Run(hook, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := newSink(t, smtpsink.Options{})
				m := newMailer(t, sink)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				end := func(at string) func() error {
					return func() error {
						if at == hook {
							cancel()
						}
						return nil
					}
				}
				_ = end("before")()
				res := m.Send(ctx, compose(t, m, draft("ada@x.test")), claim.Hooks{Begin: end("begin"), Commit: end("commit")})
				if res.Verdict != claim.NotBegun || res.Account || !errors.Is(res.Err, context.Canceled) {
					t.Errorf("got %+v", res)
				}
				time.Sleep(time.Minute)
				wantAccepted(t, sink, 0)
			})
		})
	}
}

// panicConn panics when it is to write what contains a text.
type panicConn struct {
	net.Conn
	at string
}

func (c *panicConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.at)) {
		panic("a fault within the library")
	}
	return c.Conn.Write(p)
}

func TestPanicWithin(t *testing.T) {
	for _, tc := range []struct {
		at      string
		verdict claim.Verdict
		step    string
	}{
		{"EHLO", claim.Deferred, "connect"},
		{"MAIL", claim.Deferred, "mail"},
		{"RCPT", claim.Deferred, "rcpt"},
		{"DATA", claim.Deferred, "data"},
		{"\r\n.\r\n", claim.Doubtful, "dot"},
	} {
		t.Run(tc.at, func(t *testing.T) {
			sink := newSink(t, smtpsink.Options{})
			armed := true
			m := newMailer(t, sink, func(c *Config) {
				c.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
					conn, err := sink.Dial(ctx)
					if armed {
						conn = &panicConn{conn, tc.at}
					}
					return conn, err
				}
			})
			res := send(t, m, "ada@x.test")
			if res.Verdict != tc.verdict || res.Step != tc.step || res.Err == nil {
				t.Errorf("got %+v, want %s at %s", res, tc.verdict, tc.step)
			}
			wantAccepted(t, sink, 0)
			armed = false
			want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
		})
	}
}

// TestDotNotHandedOver: a write of the dot that fails is no doubt.
func TestDotNotHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newSink(t, smtpsink.Options{})
		var conn net.Conn
		m := newMailer(t, sink, func(c *Config) {
			c.DialContext = func(ctx context.Context, _, _ string) (_ net.Conn, err error) {
				conn, err = sink.Dial(ctx)
				return conn, err
			}
		})
		res := m.Send(t.Context(), compose(t, m, draft("ada@x.test")), claim.Hooks{
			Commit: func() error { return conn.Close() },
		})
		want(t, res, claim.Deferred, false, "dot", 0)
		time.Sleep(time.Minute)
		wantAccepted(t, sink, 0)
	})
}

// TestLogIsDiscreet: no address, text or secret in the log.
func TestLogIsDiscreet(t *testing.T) {
	var log bytes.Buffer
	sink := newSink(t, smtpsink.Options{
		TLS: smtpsink.STARTTLS, Users: map[string]string{"someone": "s3cr3t"},
		Rules: []smtpsink.Rule{{
			Phase: smtpsink.Rcpt, Recipient: "bob@x.test", Action: smtpsink.Reply,
			Text: "550 5.1.1 <bob@x.test> unknown",
		}},
	})
	m := newMailer(t, sink, func(c *Config) {
		c.TLS, c.Username, c.Password = STARTTLS, "someone", "s3cr3t"
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	send(t, m, "ada@x.test")
	send(t, m, "bob@x.test")
	for _, secret := range []string{"ada@", "bob@", "s3cr3t", "0123456789", "How was"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, log.String())
		}
	}
	for _, part := range []string{"verdict=accepted", "verdict=refused", "code=550", "step=rcpt", "message_id=<k1.7f3a@acme.test>"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %q:\n%s", part, log.String())
		}
	}
}

func TestEmptyLetter(t *testing.T) {
	m := newMailer(t, nil)
	want(t, m.Send(t.Context(), claim.Letter{}, claim.Hooks{}), claim.Refused, false, "connect", 0)
}
