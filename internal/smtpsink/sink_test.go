package smtpsink

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/smtp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func newSink(t *testing.T, o Options) *Sink {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// talk holds a dialog: lines with "S: " are the starts of replies that must come,
// others are sent. It answers the violations that the sink has seen.
func talk(t *testing.T, s *Sink, dialog ...string) []string {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for _, line := range dialog {
		want, isReply := strings.CutPrefix(line, "S: ")
		if !isReply {
			if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		got, err := in.ReadString('\n')
		for err == nil && len(got) > 3 && got[3] == '-' {
			got, err = in.ReadString('\n')
		}
		if want == "" && err == io.EOF {
			continue
		}
		if err != nil || !strings.HasPrefix(got, want) {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
	return s.Violations()
}

func TestDialogs(t *testing.T) {
	for _, tc := range []struct {
		name       string
		o          Options
		dialog     []string
		accepted   int
		violations int
	}{
		{"plain", Options{}, []string{
			"S: 220 ", "EHLO c.test", "S: 250 ", "MAIL FROM:<a@x.test> BODY=8BITMIME", "S: 250 ", "RCPT TO:<b@y.test>", "S: 250 ",
			"DATA", "S: 354 ", "Subject: x\r\n\r\n..\r\n.", "S: 250 2.0.0 queued as Q1", "NOOP", "S: 250 ", "QUIT", "S: 221 ", "S: ",
		}, 1, 0},
		{"without enhanced codes", Options{PlainCodes: true}, []string{
			"S: 220 ", "HELO c.test", "S: 250 ", "MAIL FROM:<>", "S: 250 ok", "RSET", "S: 250 ok",
		}, 0, 0},
		{"out of order", Options{}, []string{
			"S: 220 ", "MAIL FROM:<a@x.test>", "S: 503 ", "EHLO", "S: 501 ", "EHLO c", "S: 250 ", "RCPT TO:<b@y.test>", "S: 503 ",
			"DATA", "S: 503 ", "MAIL FROM:<a@x.test>", "S: 250 ", "MAIL FROM:<a@x.test>", "S: 503 ", "STARTTLS", "S: 503 ",
			"AUTH PLAIN", "S: 503 ", "what", "S: 500 ", "DATA", "S: 554 ",
		}, 0, 8},
		{"syntax", Options{}, []string{
			"S: 220 ", "EHLO c", "S: 250 ", "MAIL a@x.test", "S: 501 ", "MAIL FROM:a@x.test", "S: 501 ", "MAIL FROM:<a@x.test", "S: 501 ",
			"MAIL FROM:<a@x.test>", "S: 250 ", "RCPT TO:<>", "S: 501 ", "RCPT TO:<a b@x.test>", "S: 501 ",
		}, 0, 5},
		{"utf8 not offered", Options{}, []string{
			"S: 220 ", "EHLO c", "S: 250 ", "MAIL FROM:<a@x.test> SMTPUTF8", "S: 555 ", "MAIL FROM:<a@x.test>", "S: 250 ",
			"RCPT TO:<jörg@x.test>", "S: 553 ", "\xff\xfe", "S: 500 ", "S: ",
		}, 0, 3},
		{"utf8", Options{UTF8: true}, []string{
			"S: 220 ", "EHLO c", "S: 250 ", "MAIL FROM:<a@x.test> SMTPUTF8", "S: 250 ", "RCPT TO:<jörg@x.test>", "S: 250 ",
		}, 0, 0},
		{"lines", Options{}, []string{
			"S: 220 ", "EHLO c", "S: 250 ", "NOOP " + strings.Repeat("x", 1000), "S: 250 ", "MAIL FROM:<a@x.test>\r\nRCPT TO:<b@x.test>", "S: 250 ", "S: 250 ",
			"DATA", "S: 354 ", "bare\nline\r\n" + strings.Repeat("y", 999) + "\r\n\n.\n\r\n.", "S: 250 ",
		}, 1, 6},
		{"login needed", Options{Users: map[string]string{"u": "p"}}, []string{
			"S: 220 ", "EHLO c", "S: 250 AUTH PLAIN LOGIN", "MAIL FROM:<a@x.test>", "S: 530 ", "AUTH NTLM", "S: 504 ",
			"AUTH LOGIN", "S: 334 ", "dQ==", "S: 334 ", "eA==", "S: 535 ", "AUTH PLAIN", "S: 334 ", "*", "S: 535 ",
			"AUTH PLAIN AHUAcA==", "S: 235 ", "AUTH PLAIN AHUAcA==", "S: 503 ", "MAIL FROM:<a@x.test>", "S: 250 ",
		}, 0, 3},
		{"starttls needed", Options{TLS: STARTTLS, Users: map[string]string{"u": "p"}}, []string{
			"S: 220 ", "EHLO c", "S: 250 STARTTLS", "AUTH PLAIN AHUAcA==", "S: 538 ", "MAIL FROM:<a@x.test>", "S: 530 ",
		}, 0, 2},
		{"token refused", Options{Token: func(_, token string) bool { return token == "good" }}, []string{
			"S: 220 ", "EHLO c", "S: 250 AUTH XOAUTH2", "AUTH XOAUTH2 dXNlcj11AWF1dGg9QmVhcmVyIGJhZAEB", "S: 334 eyJ", "", "S: 535 ",
			"AUTH XOAUTH2 dXNlcj11AWF1dGg9QmVhcmVyIGdvb2QBAQ==", "S: 235 ",
		}, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSink(t, tc.o)
			got := talk(t, s, tc.dialog...)
			if len(got) != tc.violations {
				t.Errorf("%d violations, want %d: %q", len(got), tc.violations, got)
			}
			if n := len(s.Messages()); n != tc.accepted {
				t.Errorf("%d messages, want %d", n, tc.accepted)
			}
		})
	}
}

// TestWithNetSMTP: a client that is not ours, over a socket, with TLS and a login.
func TestWithNetSMTP(t *testing.T) {
	s := newSink(t, Options{TLS: STARTTLS, Users: map[string]string{"alice": "secret"}})
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := smtp.Dial(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA())
	if err := c.StartTLS(&tls.Config{RootCAs: roots, ServerName: "localhost"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Auth(smtp.PlainAuth("", "alice", "secret", "127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	w := data(t, c)
	fmt.Fprint(w, "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n"+
		"--b\nContent-Transfer-Encoding: base64\n\nSGVs\nbG8=\n--b\nContent-Type: text/html\n"+
		"Content-Transfer-Encoding: quoted-printable\n\n<p>H=C3=A9=\nllo</p>\n--b--\n")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Quit(); err != nil {
		t.Fatal(err)
	}
	m := s.Messages()[0]
	if m.From != "a@x.test" || !slices.Equal(m.To, []string{"b@y.test"}) || m.User != "alice" || !m.TLS || m.Conn != 1 {
		t.Errorf("envelope %+v", m.Envelope)
	}
	p, err := m.Parse()
	if err != nil || p.Get("Subject") != "Grüße" || p.Text != "Hello" || p.HTML != "<p>Héllo</p>" {
		t.Errorf("%+v, %v", p, err)
	}
	if v := s.Violations(); len(v) > 0 {
		t.Errorf("violations: %q", v)
	}
	for _, l := range s.Dialog(1) {
		if strings.Contains(l.Text, "secret") || strings.Contains(l.Text, "AGFsaWNl") {
			t.Errorf("the dialog has the password: %s", l)
		}
	}
}

func TestMaxConns(t *testing.T) {
	s := newSink(t, Options{MaxConns: 1})
	first, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	talk(t, s, "S: 432 4.3.2 ", "S: ")
}

func TestRuleCounts(t *testing.T) {
	for _, tc := range []struct {
		rule Rule
		want string // of six MAIL commands, those that are refused
	}{
		{Rule{}, "xxxxxx"},
		{Rule{Nth: 3}, "..xxxx"},
		{Rule{Times: 2}, "xx...."},
		{Rule{Nth: 2, Times: 3}, ".xxx.."},
		{Rule{Conn: 2}, "...xxx"},
		{Rule{Match: func(e Envelope) bool { return e.From == "1@x.test" }}, ".x..x."},
	} {
		tc.rule.Phase, tc.rule.Action, tc.rule.Text = Mail, Reply, "451 no"
		s := newSink(t, Options{Rules: []Rule{tc.rule}})
		var got strings.Builder
		for range 2 {
			dialog := []string{"S: 220 ", "EHLO c", "S: 250 "}
			for i := range 3 {
				dialog = append(dialog, fmt.Sprintf("MAIL FROM:<%d@x.test>", i), "S: ", "RSET", "S: 250 ")
			}
			talk(t, s, dialog...)
		}
		for _, l := range s.Dialog(0) {
			switch {
			case l.Client:
			case strings.HasPrefix(l.Text, "(fault: mail"):
				got.WriteString("x")
			case l.Text == "250 2.1.0 ok":
				got.WriteString(".")
			}
		}
		if got.String() != tc.want {
			t.Errorf("%+v: got %s, want %s", tc.rule, got.String(), tc.want)
		}
	}
}

// TestChance: the same seed gives the same faults, whatever happens elsewhere.
func TestChance(t *testing.T) {
	draw := func(seed uint64) string {
		c := &Chance{Seed: seed, PerMill: 300, Faults: Mean()}
		var got strings.Builder
		for conn := 1; conn <= 20; conn++ {
			for moment := 1; moment <= 10; moment++ {
				if r := c.draw(Dot, Envelope{Conn: conn}, moment); r != nil {
					got.WriteString(fmt.Sprintf("%d.%d %s %t, ", conn, moment, r.Action, r.Accept))
				}
			}
		}
		return got.String()
	}
	one, again, two := draw(1), draw(1), draw(2)
	if one != again || one == two {
		t.Errorf("seed 1: %s\nseed 1: %s\nseed 2: %s", one, again, two)
	}
	if n := strings.Count(one, ","); n < 40 || n > 80 {
		t.Errorf("%d faults in 200 moments, want about 60", n)
	}
	if (*Chance)(nil).draw(Dot, Envelope{}, 1) != nil || (&Chance{PerMill: 1000}).draw(Dot, Envelope{}, 1) != nil {
		t.Error("luck from nothing")
	}
}

// TestCloseEndsFaults: a sink that hangs or sleeps can still be closed.
func TestCloseEndsFaults(t *testing.T) {
	for _, r := range []Rule{
		{Phase: Connect, Action: Hang},
		{Phase: EHLO, Action: Slow, Delay: time.Hour},
		{Phase: MidData, Action: Hang},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			s := newSink(t, Options{Rules: []Rule{r}})
			conn, err := s.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "EHLO c\r\nMAIL FROM:<a@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\nx\r\n")
			synctest.Wait()
			s.Close()
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s: took %s", r.Phase, took)
			}
			if _, err := s.Dial(t.Context()); err == nil {
				t.Error("a closed sink answers")
			}
		})
	}
}

func TestOnMessage(t *testing.T) {
	s := newSink(t, Options{})
	got := make(chan Message, 1)
	s.OnMessage(func(m Message) { got <- m })
	client, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := smtp.NewClient(client, "sink.test")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := data(t, c)
	_, _ = io.WriteString(w, "Subject: x\n\n.\n")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if m := <-got; m.ID != "Q1" || string(m.Data) != "Subject: x\r\n\r\n.\r\n" {
		t.Errorf("%+v: %q", m, m.Data)
	}
}

// data begins a message and answers where its text goes.
func data(t *testing.T, c *smtp.Client) io.WriteCloser {
	t.Helper()
	if err := errors.Join(c.Mail("a@x.test"), c.Rcpt("b@y.test")); err != nil {
		t.Fatal(err)
	}
	w, err := c.Data()
	if err != nil {
		t.Fatal(err)
	}
	return w
}
