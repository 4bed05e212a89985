package mailer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// inBubble runs a test with a sink and a mailer under the clock of a bubble.
func inBubble(t *testing.T, rules []smtpsink.Rule, edit func(*Config), f func(*testing.T, *smtpsink.Sink, *SMTP)) {
	t.Helper()
	if edit == nil {
		edit = func(*Config) {}
	}
	synctest.Test(t, func(t *testing.T) {
		sink := newSink(t, smtpsink.Options{Rules: rules})
		f(t, sink, newMailer(t, sink, edit))
	})
}

func wantConnections(t *testing.T, sink *smtpsink.Sink, n int) {
	t.Helper()
	if got := sink.Stats().Connections; got != n {
		t.Errorf("%d connections were made, want %d", got, n)
	}
}

func TestPoolReuses(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
		if err := m.Login(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
			time.Sleep(maxIdle - time.Second)
		}
		if err := m.Login(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantConnections(t, sink, 1)
		if n := sink.Stats().Commands["NOOP"]; n != 6 {
			t.Errorf("NOOP %d times, want one before each use but the first", n)
		}
	})
}

func TestPoolLetsIdleGo(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
		send(t, m, "ada@x.test")
		time.Sleep(maxIdle + time.Second)
		if st := sink.Stats(); st.Open != 0 || st.Commands["QUIT"] != 1 {
			t.Errorf("%d open, QUIT %d times", st.Open, st.Commands["QUIT"])
		}
		want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
		wantConnections(t, sink, 2)
	})
}

func TestMessagesPerConnection(t *testing.T) {
	inBubble(t, nil, func(c *Config) { c.MessagesPerConnection = 3 }, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
		for range 7 {
			want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
		}
		wantConnections(t, sink, 3)
		if n := sink.Stats().Commands["QUIT"]; n != 2 {
			t.Errorf("QUIT %d times, want 2", n)
		}
	})
}

// TestUsedUpAtMAIL: a used connection that dies at MAIL, or gets 421 there as Exim
// gives it after so many messages, is replaced without harm to the row; a new one
// that does is the account's fault.
func TestUsedUpAtMAIL(t *testing.T) {
	for name, rule := range map[string]smtpsink.Rule{
		"421":  {Phase: smtpsink.Mail, Action: smtpsink.ReplyDrop, Text: "421 too many messages in this connection", Nth: 3, Times: 1},
		"drop": {Phase: smtpsink.Mail, Action: smtpsink.Drop, Nth: 3, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, []smtpsink.Rule{rule}, nil, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
				for range 2 {
					send(t, m, "ada@x.test")
				}
				begun := 0
				res := m.Send(t.Context(), compose(t, m, draft("bob@x.test")), claim.Hooks{
					Begin: func() error { begun++; return nil },
				})
				want(t, res, claim.Accepted, false, "dot", 250)
				wantConnections(t, sink, 2)
				if begun != 2 {
					t.Errorf("Begin was asked %d times, want before each MAIL", begun)
				}
				rule := rule
				rule.Nth, rule.Times = 0, 0
				sink.SetRules(rule)
				res = send(t, m, "bob@x.test")
				want(t, res, claim.Deferred, true, "mail", res.Code)
				wantConnections(t, sink, 3)
			})
		})
	}
}

// TestContextEndsAfterwards: a connection that is back in the pool is no longer tied
// to the context of the letter that it carried.
func TestContextEndsAfterwards(t *testing.T) {
	refuse := []smtpsink.Rule{{Phase: smtpsink.Rcpt, Recipient: "no@x.test", Action: smtpsink.Reply, Text: "550 5.1.1 no"}}
	inBubble(t, refuse, nil, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
		for i, hooks := range []claim.Hooks{{}, {Begin: func() error { return errors.New("no") }}, {}} {
			ctx, cancel := context.WithCancel(t.Context())
			to := []string{"no@x.test", "ada@x.test", "ada@x.test"}[i]
			_ = m.Send(ctx, compose(t, m, draft(to)), hooks)
			if err := m.Login(ctx); err != nil {
				t.Error(err)
			}
			cancel()
			synctest.Wait()
		}
		want(t, send(t, m, "bob@x.test"), claim.Accepted, false, "dot", 250)
		wantConnections(t, sink, 1)
	})
}

// TestWaitForPlace: waiting for a connection has no limit but the context.
func TestWaitForPlace(t *testing.T) {
	slow := []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 50 * time.Second}}
	inBubble(t, slow, func(c *Config) { c.Connections = 1 }, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
		done := make(chan claim.Result)
		go func() { done <- send(t, m, "ada@x.test") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		want(t, m.Send(ctx, compose(t, m, draft("bob@x.test")), claim.Hooks{}), claim.NotBegun, false, "connect", 0)
		if err := m.Login(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Login: %v", err)
		}
		want(t, send(t, m, "bob@x.test"), claim.Accepted, false, "dot", 250)
		want(t, <-done, claim.Accepted, false, "dot", 250)
	})
}

func TestClose(t *testing.T) {
	slow := []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 5 * time.Second, Nth: 2}}
	inBubble(t, slow, nil, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
		send(t, m, "ada@x.test")
		if err := m.Login(t.Context()); err != nil {
			t.Fatal(err)
		}
		done := make(chan claim.Result)
		go func() { done <- send(t, m, "bob@x.test") }()
		synctest.Wait()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		res := send(t, m, "eve@x.test")
		want(t, res, claim.NotBegun, false, "connect", 0)
		if !errors.Is(res.Err, ErrClosed) {
			t.Errorf("err %v", res.Err)
		}
		if err := m.Login(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Login: %v", err)
		}
		want(t, <-done, claim.Accepted, false, "dot", 250) // what is under way ends well
		synctest.Wait()
		wantAccepted(t, sink, 2)
		if n := sink.Stats().Open; n != 0 {
			t.Errorf("%d connections are open", n)
		}
	})
}

func TestCloseSaysQUIT(t *testing.T) {
	inBubble(t, nil, nil, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
		send(t, m, "ada@x.test")
		_ = m.Close()
		_ = m.Close()
		if n := sink.Stats().Commands["QUIT"]; n != 1 {
			t.Errorf("QUIT %d times", n)
		}
	})
}

// TestTurnNotUsed: a turn that Begin says no to is there for the next letter, if it
// comes soon; turns are never saved up.
func TestTurnNotUsed(t *testing.T) {
	inBubble(t, nil, func(c *Config) { c.Rate = rate.Every(2 * time.Minute) }, func(t *testing.T, sink *smtpsink.Sink, m *SMTP) {
		say := func(err error) claim.Hooks { return claim.Hooks{Begin: func() error { return err }} }
		old := errors.New("the read is too old")
		start := time.Now()
		for _, step := range []struct {
			begin error
			pause time.Duration
			at    time.Duration // when the letter ended
		}{
			{nil, 0, 0},
			{old, 0, 2 * time.Minute},
			{old, time.Second, 2*time.Minute + time.Second},
			{nil, time.Second, 2*time.Minute + 2*time.Second},
			{old, 0, 4 * time.Minute},
			{nil, 5 * time.Minute, 9 * time.Minute}, // the limiter's own
			{nil, 0, 11 * time.Minute},              // and not one more
		} {
			time.Sleep(step.pause)
			res := m.Send(t.Context(), compose(t, m, draft("ada@x.test")), say(step.begin))
			if got := time.Since(start); got != step.at || (res.Verdict == claim.Accepted) != (step.begin == nil) {
				t.Errorf("%s after %s, want it after %s", res.Verdict, got, step.at)
			}
		}
		wantAccepted(t, sink, 4)
	})
}

// Whoever counts is told how each login and each letter ended, once.
func TestEveryEndIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
			{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no", Recipient: "bob@x.test"},
			{Phase: smtpsink.Connect, Action: smtpsink.ReplyDrop, Text: "421 4.3.2 closing", Conn: 1},
		}})
		var told []string
		m := newMailer(t, sink, func(c *Config) {
			c.Observe = func(ctx context.Context) (context.Context, func(claim.Result)) {
				return ctx, func(r claim.Result) { told = append(told, fmt.Sprint(r.Step, " ", r.Code, " ", r.Verdict)) }
			}
		})
		if err := m.Login(t.Context()); err == nil {
			t.Error("logged in at a server that closes")
		}
		if err := m.Login(t.Context()); err != nil {
			t.Error(err)
		}
		send(t, m, "ada@x.test")
		send(t, m, "bob@x.test")
		want := []string{"connect 421 deferred", "login 0 accepted", "dot 250 accepted", "rcpt 550 refused"}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
