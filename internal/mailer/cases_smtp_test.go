package mailer

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// The mailer's part of the collected cases on talking to servers.
func TestSMTPCases(t *testing.T) {
	for name, f := range map[string]func(*testing.T){
		"SM01": testReplyLost,
		"SM02": testDot451,
		"SM04": test421Burst,
		"SM05": testRSETAfterRefusal,
		"SM07": testGreylisting,
		"SM08": testRefusedForGood,
		"SM10": testM365Limits,
		"SM11": testPasswordSwitchedOff,
		"SM12": testTokenExpired,
		"SM15": testPrivateCA,
		"SM16": testRate,
		"SM17": testSlowPool,
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
}

func testReplyLost(t *testing.T) {
	sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
		{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true},
	}})
	res := send(t, newMailer(t, sink), "ada@x.test")
	want(t, res, claim.Doubtful, false, "dot", 0)
	wantAccepted(t, sink, 1)
	if res.Reason() == "" {
		t.Error("no reason")
	}
}

func testDot451(t *testing.T) {
	sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
		{Phase: smtpsink.Dot, Action: smtpsink.Reply, Text: "451 4.4.2 timeout waiting for data", Times: 1},
	}})
	m := newMailer(t, sink)
	res := send(t, m, "ada@x.test")
	want(t, res, claim.Deferred, false, "dot", 451)
	if res.Reason() != "451 4.4.2 timeout waiting for data" {
		t.Errorf("reason %q", res.Reason())
	}
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
	wantAccepted(t, sink, 1)
}

func test421Burst(t *testing.T) {
	// go-mail says HELO after a failed EHLO, so three connections are three faults.
	sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
		{Phase: smtpsink.EHLO, Action: smtpsink.ReplyDrop, Text: "421 4.7.0 Try again later", Times: 3},
	}})
	m := newMailer(t, sink)
	wantAccountError(t, m.Login(t.Context()), "connect", "421 4.7.0 Try again later")
	for range 2 {
		want(t, send(t, m, "ada@x.test"), claim.Deferred, true, "connect", 421)
	}
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
}

func testRSETAfterRefusal(t *testing.T) {
	sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
		{Phase: smtpsink.Rcpt, Recipient: "k2@x.test", Action: smtpsink.Reply, Text: "450 4.7.0 rate limit"},
	}})
	m := newMailer(t, sink)
	want(t, send(t, m, "k1@x.test"), claim.Accepted, false, "dot", 250)
	want(t, send(t, m, "k2@x.test"), claim.Deferred, false, "rcpt", 450)
	want(t, send(t, m, "k3@x.test"), claim.Accepted, false, "dot", 250)
	if st := sink.Stats(); st.Connections != 1 || st.Commands["RSET"] != 1 {
		t.Errorf("%d connections, %d times RSET", st.Connections, st.Commands["RSET"])
	}
}

func testGreylisting(t *testing.T) {
	start := time.Now()
	sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{{
		Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "451 4.7.1 greylisted, try again in 300 s",
		Match: func(smtpsink.Envelope) bool { return time.Since(start) < 300*time.Second },
	}}})
	m := newMailer(t, sink)
	want(t, send(t, m, "ada@x.test"), claim.Deferred, false, "rcpt", 451)
	time.Sleep(15 * time.Minute)
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
}

func testRefusedForGood(t *testing.T) {
	text := "550-5.1.1 The account that you tried\n550-5.1.1 to reach does not\texist. " +
		strings.Repeat("Read more. ", 80) + "\n550 5.1.1 gsmtp"
	sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
		{Phase: smtpsink.Rcpt, Recipient: "k2@x.test", Action: smtpsink.Reply, Text: text},
	}})
	m := newMailer(t, sink)
	res := send(t, m, "k2@x.test")
	want(t, res, claim.Refused, false, "rcpt", 550)
	if !strings.HasPrefix(res.Reply, "550 5.1.1 The account that you tried to reach does not exist. Read more.") ||
		strings.ContainsAny(res.Reply, "\r\n\t") || len(res.Reply) > 600 || len(res.Reason()) > 200 {
		t.Errorf("reply %q\nreason %q", res.Reply, res.Reason())
	}
	want(t, send(t, m, "k3@x.test"), claim.Accepted, false, "dot", 250)
}

func testM365Limits(t *testing.T) {
	sink := newSink(t, smtpsink.Options{MaxConns: 3})
	m := newMailer(t, sink, func(c *Config) {
		c.Connections = 3
		c.Rate = rate.Every(2 * time.Second) // 30/m
	})
	start := time.Now()
	var workers sync.WaitGroup
	for w := range 5 {
		workers.Go(func() {
			for i := range 13 {
				want(t, send(t, m, fmt.Sprintf("k%d.%d@x.test", w, i)), claim.Accepted, false, "dot", 250)
			}
		})
	}
	workers.Wait()
	if took := time.Since(start); took < 2*time.Minute || took > 3*time.Minute {
		t.Errorf("65 letters at 30/m took %s", took)
	}
	if st := sink.Stats(); st.Peak > 3 {
		t.Errorf("%d connections at once", st.Peak)
	}
	sink.SetRules(smtpsink.Rule{
		Phase: smtpsink.Dot, Action: smtpsink.Reply,
		Text: "554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException; daily limit",
	})
	want(t, send(t, m, "k66@x.test"), claim.Deferred, true, "dot", 554)
}

func testRate(t *testing.T) {
	sink := newSink(t, smtpsink.Options{})
	m := newMailer(t, sink, func(c *Config) { c.Rate = rate.Every(time.Minute / 20) })
	var jobs sync.WaitGroup
	for job := range 5 { // five jobs share the account
		jobs.Go(func() { want(t, send(t, m, fmt.Sprintf("k%d@x.test", job)), claim.Accepted, false, "dot", 250) })
	}
	jobs.Wait()
	ms := sink.Messages()
	if took := ms[len(ms)-1].At.Sub(ms[0].At); len(ms) != 5 || took < 12*time.Second {
		t.Errorf("%d messages within %s, want 5 within 12s", len(ms), took)
	}
}

func testSlowPool(t *testing.T) {
	sink := newSink(t, smtpsink.Options{Rules: []smtpsink.Rule{
		{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 3 * time.Second},
	}})
	m := newMailer(t, sink)
	var rows sync.WaitGroup
	for i := range 40 {
		rows.Go(func() { want(t, send(t, m, fmt.Sprintf("k%d@x.test", i)), claim.Accepted, false, "dot", 250) })
	}
	rows.Wait()
	wantAccepted(t, sink, 40)
	if st := sink.Stats(); st.Peak > 2 {
		t.Errorf("%d connections at once, want 2 at most", st.Peak)
	}
}

func testPasswordSwitchedOff(t *testing.T) {
	const text = "535 5.7.139 Authentication unsuccessful, basic authentication is disabled."
	sink := newSink(t, smtpsink.Options{
		TLS: smtpsink.STARTTLS, Users: map[string]string{"hello@acme.test": "secret"},
		Rules: []smtpsink.Rule{{Phase: smtpsink.Auth, Action: smtpsink.Reply, Text: text}},
	})
	m := newMailer(t, sink, func(c *Config) {
		c.TLS, c.Username, c.Password = STARTTLS, "hello@acme.test", "secret"
	})
	wantAccountError(t, m.Login(t.Context()), "login", text, "app password", "XOAUTH2", "enable SMTP AUTH")
	res := send(t, m, "ada@x.test")
	want(t, res, claim.Deferred, true, "login", 535)
	wantAccepted(t, sink, 0)
}

func testTokenExpired(t *testing.T) {
	sink := newSink(t, smtpsink.Options{
		TLS:   smtpsink.STARTTLS,
		Token: func(user, token string) bool { return user == "hello@acme.test" && token == "fresh" },
	})
	tokens := &fakeTokens{give: []string{"expired", "fresh"}}
	m := newMailer(t, sink, func(c *Config) {
		c.TLS, c.Username, c.Token = STARTTLS, "hello@acme.test", tokens.token
	})
	want(t, send(t, m, "ada@x.test"), claim.Accepted, false, "dot", 250)
	want(t, send(t, m, "bob@x.test"), claim.Accepted, false, "dot", 250)
	if st := sink.Stats(); st.Connections != 2 || tokens.asked != 2 {
		t.Errorf("%d connections, %d tokens", st.Connections, tokens.asked)
	}
	if got := sink.Messages()[0].User; got != "hello@acme.test" {
		t.Errorf("user %q", got)
	}
}

func testPrivateCA(t *testing.T) {
	for _, mode := range []struct {
		sink smtpsink.TLSMode
		tls  TLSMode
	}{{smtpsink.STARTTLS, STARTTLS}, {smtpsink.Implicit, Implicit}} {
		sink := newSink(t, smtpsink.Options{TLS: mode.sink})
		stranger := newMailer(t, sink, func(c *Config) { c.TLS, c.CAPEM = mode.tls, nil })
		wantAccountError(t, stranger.Login(t.Context()), "connect", "x509", "ca_file")
		want(t, send(t, stranger, "ada@x.test"), claim.Deferred, true, "connect", 0)
		wantAccepted(t, sink, 0)
		friend := newMailer(t, sink, func(c *Config) { c.TLS = mode.tls })
		want(t, send(t, friend, "ada@x.test"), claim.Accepted, false, "dot", 250)
		if !sink.Messages()[0].TLS {
			t.Error("sent in the clear")
		}
		trusting := newMailer(t, sink, func(c *Config) { c.TLS, c.CAPEM, c.SkipVerify = mode.tls, nil, true })
		want(t, send(t, trusting, "bob@x.test"), claim.Accepted, false, "dot", 250)
		elsewhere := newMailer(t, sink, func(c *Config) { c.TLS, c.Host = mode.tls, "other.test" })
		wantAccountError(t, elsewhere.Login(t.Context()), "connect", "for other names", "smtp.host")
	}
}
