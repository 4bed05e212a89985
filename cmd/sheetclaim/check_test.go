package main

import (
	"context"
	"encoding/json"
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
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// checked is what "check --json" printed.
type checked struct {
	t        *testing.T
	Code     int                 `json:"-"`
	OK       bool                `json:"ok"`
	Counts   map[check.Level]int `json:"counts"`
	Findings []check.Finding     `json:"findings"`
}

// check runs "check --json" with a configuration.
func (s *stage) check(config string, args ...string) *checked {
	s.t.Helper()
	return s.checkWith(newProgram(nil), config, args...)
}

func (s *stage) checkWith(p *program, config string, args ...string) *checked {
	s.t.Helper()
	c := &checked{t: s.t}
	c.Code = p.Run(context.Background(), append([]string{"--config", config, "check", "--json"}, args...))
	if err := json.Unmarshal(p.out.Bytes(), c); err != nil {
		s.t.Fatalf("exit %d, stdout is not one document: %v\n%s\n%s", c.Code, err, p.out.String(), p.err.String())
	}
	return c
}

// want fails unless a finding of that check has the level and holds the texts.
func (c *checked) want(name string, level check.Level, texts ...string) {
	c.t.Helper()
	for _, f := range c.Findings {
		if f.Check != name || f.Level != level {
			continue
		}
		missing := 0
		for _, text := range texts {
			if !strings.Contains(f.Found+" "+f.Todo, text) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
	}
	c.t.Errorf("no finding %q of level %s with %q in\n%s", name, level, texts, c)
}

func (c *checked) exits(code int) {
	c.t.Helper()
	if c.Code != code || c.OK != (code == 0) {
		c.t.Errorf("exit %d, ok %t, want %d in\n%s", c.Code, c.OK, code, c)
	}
}

func (c *checked) String() string {
	var b strings.Builder
	for _, f := range c.Findings {
		check.Print(&b, f)
	}
	return b.String()
}

func TestCheckOfASetUpThatWorks(t *testing.T) {
	s := newStage(t, dueRows(3))
	before := s.emu.Grid(stageSheet, stageTab)
	config := s.config("fresh", `schedule: "*/5 * * * *"`, "timezone: Europe/Berlin")
	c := s.check(config)
	c.exits(0)
	for _, name := range []string{"ledger", "google login", "sheet", "headers", "status column", "writing", "round trip", "fence", "due rows", "mail server", "clock"} {
		c.want(name, check.OK)
	}
	c.want("due rows", check.OK, "3 rows would be sent now")
	c.want("configuration", check.Warn, "an emulator, not Google")
	c.want("alerts", check.Warn, "go nowhere", "alerts.email")
	c.want("sender", check.Warn, "acme.test")

	if _, err := os.Stat(filepath.Join(s.dir, "fresh.db")); err == nil {
		t.Error("check made the ledger")
	}
	if after := s.emu.Grid(stageSheet, stageTab); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("check changed the sheet: %v", after)
	}
	if n := len(s.sink.Messages()); n != 0 {
		t.Errorf("check sent %d messages", n)
	}

	if d, code := s.runJSON(config); code != 0 {
		t.Fatalf("exit %d: %s", code, d.Detail)
	}
	c = s.check(config)
	c.exits(0)
	c.want("due rows", check.OK, "no row is due now")
	c.want("fence", check.OK, "1 claims, none by another ledger")
	c.want("overlaps", check.OK, "one starts every 5m0s: runs have room")
}

func TestCheckForPeople(t *testing.T) {
	s := newStage(t, dueRows(1))
	s.emu.SetAccess(stageSheet, "", sheetsemu.CanRead)
	p := newProgram(nil)
	if code := p.Run(context.Background(), []string{"--config", s.config("people"), "check"}); code != exitSome {
		t.Errorf("exit %d", code)
	}
	for _, text := range []string{
		"ok    test headers: ", "fail  test writing: the account may not write to the spreadsheet\n      -> share the sheet with the account of the credentials as editor\n", "\n1 failed, ",
	} {
		if !strings.Contains(p.out.String(), text) {
			t.Errorf("no %q in\n%s", text, p.out.String())
		}
	}
}

func TestGS07CheckNamesTheWayToTheSheet(t *testing.T) {
	disabled := `{"error":{"code":403,"message":"Google Sheets API has not been used in project 4711 before or it is disabled.","status":"PERMISSION_DENIED","details":[
		{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED","domain":"googleapis.com","metadata":{"service":"sheets.googleapis.com","consumer":"projects/4711","activationUrl":"https://console.example/4711"}}]}}`
	for name, tc := range map[string]struct {
		answer sheetsemu.Answer
		want   []string
	}{
		"not shared":   {sheetsemu.Status(403, ""), []string{"no access", "share the sheet with", "as editor"}},
		"API disabled": {sheetsemu.Status(403, disabled), []string{"enable the Sheets API in project 4711"}},
		"unknown id":   {sheetsemu.Status(404, ""), []string{"spreadsheet id not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, dueRows(1))
			s.emu.Script(sheetsemu.Rule{Fault: sheetsemu.Fault{Answer: tc.answer}})
			c := s.check(s.config("gs07"))
			c.exits(2)
			c.want("sheet", check.Fail, tc.want...)
			c.want("mail server", check.OK) // it goes on after a failure
			c.want("clock", check.OK)       // which a refusal tells, too
		})
	}
}

func TestGS08CheckFindsThatNothingCanBeWritten(t *testing.T) {
	t.Run("the account may only read", func(t *testing.T) {
		s := newStage(t, dueRows(1))
		s.emu.Script(sheetsemu.Rule{Match: sheetsemu.Match{Writes: true}, Fault: sheetsemu.Fault{Answer: sheetsemu.Status(403, "")}})
		config := s.config("gs08")
		c := s.check(config)
		c.exits(1)
		c.want("sheet", check.OK)
		c.want("writing", check.Fail, "may not write", "as editor")

		// And a run stops at the claim step.
		if d, code := s.runJSON(config); code != 2 || len(s.sink.Messages()) != 0 {
			t.Errorf("exit %d, %d messages: %s", code, len(s.sink.Messages()), d.Detail)
		}
	})
	t.Run("the column is protected", func(t *testing.T) {
		s := newStage(t, dueRows(2))
		s.batch(`{"addProtectedRange":{"protectedRange":{"range":{"sheetId":0,"startColumnIndex":3,"endColumnIndex":4},"description":"hands off","editors":{"users":["boss@example.com"]}}}}`)
		c := s.check(s.config("protected"))
		c.exits(1)
		c.want("status column", check.Fail, `"status" is protected`, "hands off", "let the account edit it")
	})
}

// batch sends one request of a batchUpdate to the emulator, as somebody else.
func (s *stage) batch(request string) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.url+"/v4/spreadsheets/"+stageSheet+":batchUpdate", strings.NewReader(`{"requests":[`+request+`]}`))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer boss@example.com")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", request, resp.Status)
	}
}

func TestCheckStatusColumn(t *testing.T) {
	t.Run("formula", func(t *testing.T) {
		rows := dueRows(3)
		rows[2][3] = `=IF(A3="x","sent","")`
		s := newStage(t, rows)
		c := s.check(s.config("formula"))
		c.exits(1)
		c.want("status column", check.Fail, "contains formulas (row 3)", "map a column of its own")
	})
	t.Run("strict dropdown", func(t *testing.T) {
		s := newStage(t, dueRows(3))
		rule := `"rule":{"strict":%t,"condition":{"type":"ONE_OF_LIST","values":[{"userEnteredValue":"open"},{"userEnteredValue":"done"}]}}`
		at := `{"setDataValidation":{"range":{"sheetId":0,"startRowIndex":1,"endRowIndex":4,"startColumnIndex":3,"endColumnIndex":4},` + rule + `}}`
		s.batch(fmt.Sprintf(at, true))
		config := s.config("dropdown")
		c := s.check(config)
		c.exits(0)
		c.want("status column", check.Warn, `"status" takes only one of open, done (3 cells, from row 2 on)`, "Data validation")
		s.batch(fmt.Sprintf(at, false))
		s.check(config).want("status column", check.OK)
	})
}

func TestCheckHeadersAndTab(t *testing.T) {
	s := newStage(t, [][]any{{"key", "e-mail", "due", "status"}, {"k1", "a@example.com", "2026-01-01", ""}})
	c := s.check(s.config("header"))
	c.exits(1)
	c.want("headers", check.Fail, `columns.email: there is no column "email"`, "e-mail")
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.RenameTab(stageTab, "Besuche") })
	c = s.check(s.config("header"))
	c.exits(2)
	c.want("sheet", check.Fail, `there is no tab "Visits"`, `the spreadsheet has "Besuche"`)
}

func TestCheckRows(t *testing.T) {
	rows := dueRows(5)
	rows[2][1], rows[4][0] = "no address", "k1"
	s := newStage(t, rows)
	c := s.check(s.config("rows", "first_run_limit: 1"))
	c.exits(0)
	c.want("due rows", check.Warn, "2 rows would be sent now, more than first_run_limit (1)", "--yes")
	c.want("row faults", check.Warn, "3 due rows", "row 3: ", "repeated key")
}

func TestOV05CheckWarnsOfPrivateLedgers(t *testing.T) {
	s := newStage(t, dueRows(2))
	if d, code := s.runJSON(s.config("theirs"), "--limit", "1"); code != 0 {
		t.Fatal(d.Detail)
	}
	for range 2 { // before this ledger is made, and after
		c := s.check(s.config("ours"))
		c.exits(0)
		c.want("fence", check.Warn, "1 other ledger", "share one ledger")
		if d, code := s.runJSON(s.config("ours")); code != 0 {
			t.Fatal(d.Detail)
		}
	}
}

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
		"no STARTTLS":                   {smtpsink.Options{}, "tls: starttls", 1, []string{"does not offer STARTTLS"}},
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
}

func TestCheckConfigurationAndUsage(t *testing.T) {
	s := newStage(t, dueRows(1))
	c := s.check(filepath.Join(s.dir, "none.yaml"))
	c.exits(2)
	c.want("configuration", check.Fail, "no configuration file", "sheetclaim init")
	p := newProgram(nil)
	if code := p.Run(context.Background(), []string{"--config", s.config("usage"), "check", "no-such-job"}); code != exitError || !strings.Contains(p.err.String(), `no job "no-such-job"`) {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
}

func TestCheckLedger(t *testing.T) {
	s := newStage(t, dueRows(1))
	config := s.config("book")
	if err := os.WriteFile(filepath.Join(s.dir, "book.db"), []byte("not a database, but long enough to be looked at as one"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := s.check(config)
	c.exits(1)
	c.want("ledger", check.Fail, "expected a SQLite database")
	c.want("writing", check.OK)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), "sqlite:book.db", "sqlite:no/such/book.db", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.check(config).want("ledger", check.Fail, "cannot be made", "make the folder")
}
