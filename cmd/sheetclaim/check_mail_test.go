package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/check"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// mailConfig is a configuration whose mail server is another one.
func (s *stage) mailConfig(name, smtp string) string {
	s.t.Helper()
	path := s.config(name)
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "smtp:") {
			lines[i] = "smtp: {from: 'Acme <hello@acme.test>', " + smtp + "}"
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// newSink is a mail server of its own, and its port.
func newSink(t *testing.T, o smtpsink.Options) (*smtpsink.Sink, string) {
	t.Helper()
	sink, err := smtpsink.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sink.Close)
	addr, err := sink.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	return sink, port
}

func TestSM11CheckTellsOfALoginThatIsSwitchedOff(t *testing.T) {
	s := newStage(t, dueRows(1))
	_, port := newSink(t, smtpsink.Options{
		Users: map[string]string{"me": "pw"},
		Rules: []smtpsink.Rule{{Phase: smtpsink.Auth, Action: smtpsink.Reply, Text: "535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant."}},
	})
	c := s.check(s.mailConfig("sm11", "host: 127.0.0.1, port: "+port+", tls: none, username: me, password: pw"))
	c.exits(1)
	c.want("mail server", check.Fail, "SmtpClientAuthentication is disabled for the Tenant", "enable SMTP AUTH", "app password", "XOAUTH2")
}

func TestSM15CheckNamesTheAuthority(t *testing.T) {
	s := newStage(t, dueRows(1))
	sink, port := newSink(t, smtpsink.Options{TLS: smtpsink.STARTTLS, Users: map[string]string{"me": "pw"}})
	login := "host: localhost, port: " + port + ", tls: starttls, username: me, password: pw"
	c := s.check(s.mailConfig("sm15", login))
	c.exits(1)
	c.want("mail server", check.Fail, "x509", "smtp.ca_file")

	ca := filepath.Join(s.dir, "ca.pem")
	if err := os.WriteFile(ca, sink.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	c = s.check(s.mailConfig("sm15-ca", login+", ca_file: "+ca))
	c.exits(0)
	c.want("mail server", check.OK, "TLS 1.3", "logged in as me")
	if n := len(sink.Messages()); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestCheckMailServer(t *testing.T) {
	for name, tc := range map[string]struct {
		sink smtpsink.Options
		smtp string
		code int
		want []string
	}{
		"TLS from the first byte at a server without": {smtpsink.Options{}, "tls: implicit", 1, []string{"does not speak TLS from the first byte", "starttls"}},
		"no STARTTLS":                   {smtpsink.Options{}, "tls: starttls", 1, []string{"does not offer STARTTLS", "smtp.tls: none"}},
		"a greeting waited for in vain": {smtpsink.Options{TLS: smtpsink.Implicit}, "tls: starttls, timeout: 1s", 1, []string{"did not greet within 1s", "smtp.tls: implicit"}},
		"a sender that is not the account's": {
			smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Mail, Action: smtpsink.Reply, Text: "550 5.7.60 Client does not have permissions to send as this sender"}}},
			"tls: none", 1,
			[]string{"does not take hello@acme.test as the sender", "5.7.60", "set smtp.from"},
		},
		"a port that does not go with the mode": {smtpsink.Options{}, "tls: starttls, port: 465", 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, dueRows(1))
			_, port := newSink(t, tc.sink)
			smtp := "host: localhost, " + tc.smtp
			if !strings.Contains(smtp, "port:") {
				smtp += ", port: " + port
			}
			c := s.check(s.mailConfig("mail", smtp))
			c.exits(tc.code)
			if tc.code == 2 {
				c.want("configuration", check.Fail, "port 465 speaks TLS from the first byte")
				return
			}
			c.want("mail server", check.Fail, tc.want...)
		})
	}
}

func TestCheckClock(t *testing.T) {
	s := newStage(t, dueRows(1))
	for off, want := range map[time.Duration]check.Level{-time.Minute: check.Warn, 2 * time.Hour: check.Fail} {
		p := newProgram(nil)
		p.Now = func() time.Time { return time.Now().Add(off) }
		c := s.checkWith(p, s.config("clock"))
		c.want("clock", want, "set the clock", map[bool]string{true: "fast", false: "slow"}[off > 0])
	}
}

func TestCheckAlertRoutes(t *testing.T) {
	s := newStage(t, dueRows(1))
	posts := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { posts <- r.Header.Get("X-Sheetclaim-Signature") }))
	path := s.config("alerts")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	alerts := fmt.Sprintf("alerts: {email: [ops@acme.test], webhook: {url: '%s/secret-path', secret: s}}\n", hook.URL)
	if err := os.WriteFile(path, append([]byte(alerts), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	c := s.check(path)
	c.exits(0)
	c.want("alerts", check.OK, "by mail to ops@acme.test")
	c.want("alerts", check.OK, "the webhook at 127.0.0.1")
	if strings.Contains(c.String(), "secret-path") {
		t.Error("the webhook's path is shown")
	}
	if len(posts) > 0 || len(s.sink.Messages()) > 0 {
		t.Error("an alert was sent unasked")
	}
	c = s.check(path, "--send-test-alert")
	c.exits(0)
	if sig := <-posts; sig == "" || len(s.sink.Messages()) != 1 {
		t.Errorf("signature %q, %d mails", sig, len(s.sink.Messages()))
	}
	hook.Close()
	c = s.check(path)
	c.exits(1)
	c.want("alerts", check.Fail, "cannot be reached")
	s.sink.Close()
	c = s.check(path)
	c.want("alerts", check.Warn, "by mail to ops@acme.test", "mend the mail server")
}
