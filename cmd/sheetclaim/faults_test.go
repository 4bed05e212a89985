package main

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to meddle with a ledger as another program would

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// Secrets of these tests. Whatever the program prints, nothing with secretMark in it
// may be among it.
const (
	secretMark   = "S3CRET"
	mailUser     = "hello@acme.test"
	mailPassword = secretMark + "-password"
	apiToken     = secretMark + "-token"
)

// wantNoSecret fails when a text shows a secret, plainly or as it goes over the wire.
func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	plain := base64.StdEncoding.EncodeToString([]byte("\x00" + mailUser + "\x00" + mailPassword))
	login := base64.StdEncoding.EncodeToString([]byte(mailPassword))
	for _, secret := range []string{secretMark, plain, login} {
		if strings.Contains(text, secret) {
			t.Errorf("the output shows a secret (%s):\n%s", secret, text)
		}
	}
}

// secured has the sink want STARTTLS and a login, and answers a configuration with
// secrets in it.
func (s *stage) secured(more ...string) string {
	s.t.Helper()
	s.sink.Close()
	var err error
	s.sink, err = smtpsink.New(smtpsink.Options{UTF8: true, TLS: smtpsink.STARTTLS, Users: map[string]string{mailUser: mailPassword}})
	if err != nil {
		s.t.Fatal(err)
	}
	addr, err := s.sink.Listen("127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.smtp = addr.String()
	s.file("ca.pem", string(s.sink.CA()))
	path := s.config("one", more...)
	s.edit(path, "tls: none", "tls: starttls, ca_file: ca.pem, username: "+mailUser+", password: "+mailPassword)
	s.edit(path, "api: {", "api: {tokens: [{name: n8n, token: "+apiToken+"}], ")
	return path
}

// file writes a file into the stage's folder.
func (s *stage) file(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// edit replaces a text in a configuration that must be there.
func (s *stage) edit(path, old, text string) {
	s.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		s.t.Fatalf("the configuration does not hold %q:\n%s", old, b)
	}
	s.file(filepath.Base(path), strings.Replace(string(b), old, text, 1))
}

// wantUntouched fails when anything was written into the sheet or mailed.
func (s *stage) wantUntouched() {
	s.t.Helper()
	for _, c := range s.emu.Log() {
		if c.Write {
			s.t.Errorf("%s wrote %s", c.Kind, c.Body)
		}
	}
	if n := len(s.sink.Messages()); n != 0 {
		s.t.Errorf("%d messages were sent", n)
	}
}

// toGoogle points a configuration at Google itself, with a credentials file.
func (s *stage) toGoogle(config, credentials string) {
	s.t.Helper()
	s.edit(config, "endpoint: \""+s.url+"\"", "credentials_file: google.json")
	s.edit(config, "wait: 2s", "wait: 5s")
	if credentials != "" {
		s.file("google.json", credentials)
	}
}

// Each set-up fault says what is wrong, where, and what to do, and touches nothing.
func TestSetUpFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil func(s *stage, config string)
		// document says that the run began, so that it has a document to print.
		document bool
		want     []string // what, where, what to do
	}{
		{"credentials are no JSON", func(s *stage, config string) {
			s.toGoogle(config, "AQAB "+mailPassword)
		}, false, []string{"google.json", "is not a JSON file", "give the JSON key file of a service account"}},
		{"credentials of an OAuth client", func(s *stage, config string) {
			s.toGoogle(config, `{"installed": {"client_id": "x", "client_secret": "`+mailPassword+`"}}`)
		}, false, []string{"google.json", "is an OAuth client secret", "give the JSON key file of a service account"}},
		{"credentials of a service account with a damaged key", func(s *stage, config string) {
			s.toGoogle(config, `{"type": "service_account", "client_email": "bot@p.example", "private_key": "`+mailPassword+`"}`)
		}, false, []string{"google.json", "private key", "is damaged", "as it was downloaded"}},
		{"credentials are missing", func(s *stage, config string) {
			s.toGoogle(config, "")
		}, false, []string{"one.yaml:2:", "google.credentials_file", "google.json", "no such file"}},
		{"plain http to another machine", func(s *stage, config string) {
			s.edit(config, s.url, "http://sheets.example.com")
			s.edit(config, "wait: 2s", "wait: 5s")
		}, false, []string{"one.yaml:2:", "google.endpoint", "expected https, found plain http", "on loopback only"}},
		{"unset variable", func(s *stage, config string) {
			s.edit(config, mailPassword, `"${SMTP_PASSWORD}"`)
		}, false, []string{"one.yaml:3:", "smtp.password", "SMTP_PASSWORD", "not set"}},
		{"template typo", func(s *stage, config string) {
			s.edit(config, "Hello {{key}}", "Hello {{kee}}")
		}, true, []string{"message.text", "kee", `"key", "email", "due", "status"`}},
		{"unknown tab", func(s *stage, config string) {
			s.edit(config, stageTab+"!A1:Z", "Visists!A1:Z")
		}, true, []string{"there is no tab \"Visists\"", "write the tab's name in the range"}},
		{"spreadsheet not found", func(s *stage, config string) {
			s.edit(config, "spreadsheet: "+stageSheet, "spreadsheet: S2")
		}, true, []string{"spreadsheet id not found: \"S2\"", "between /d/ and /edit"}},
		{"spreadsheet not shared", func(s *stage, _ string) {
			s.emu.SetAccess(stageSheet, "", sheetsemu.NoAccess)
		}, true, []string{"no access to the spreadsheet", "share the sheet with", "as editor"}},
		{"Sheets API switched off", func(s *stage, _ string) {
			s.emu.Script(sheetsemu.Rule{Fault: sheetsemu.Fault{Answer: sheetsemu.Status(403, sheetsemu.ServiceDisabledBody(sheetsemu.Project))}})
		}, true, []string{"the Google Sheets API is switched off", "enable the Sheets API in project " + sheetsemu.Project}},
		{"Google out of reach", func(s *stage, config string) {
			s.edit(config, s.url, "http://127.0.0.1:1")
		}, true, []string{"no usable answer from Google Sheets", "127.0.0.1:1: connect: connection refused", "check the network"}},
		{"header missing", func(s *stage, config string) {
			s.edit(config, "key: key", "key: booking")
		}, true, []string{"\"booking\"", "tab \"" + stageTab + "\"", `"key", "email", "due", "status"`}},
		{"ledger in a missing folder", func(s *stage, config string) {
			s.edit(config, "sqlite:one.db", "sqlite:none/one.db")
		}, false, []string{"open ledger", filepath.Join("none", "one.db"), "does not exist", "create it, or name another file"}},
		{"ledger is no database", func(s *stage, _ string) {
			s.file("one.db", strings.Repeat("not a database\n", 500))
		}, false, []string{"open ledger", "one.db", "expected a SQLite database", "name another file"}},
		{"ledger in Postgres", func(s *stage, config string) {
			s.edit(config, "sqlite:one.db", "postgres://bob:"+mailPassword+"@127.0.0.1:1/mail")
		}, false, []string{"open ledger postgres://bob@127.0.0.1:1/mail", "cannot be reached", "host, port and sslmode"}},
		{"mail server refuses the connection", func(s *stage, _ string) {
			s.sink.Close()
		}, true, []string{"connection refused", "check smtp.host and smtp.port"}},
		{"mail server refuses the password", func(s *stage, config string) {
			s.edit(config, mailPassword, mailPassword+"-of-yesterday")
		}, true, []string{"the server refuses the login: 535 5.7.8", "check smtp.username and smtp.password"}},
		{"mail server of an unknown authority", func(s *stage, config string) {
			s.edit(config, "ca_file: ca.pem, ", "")
		}, true, []string{"127.0.0.1:", "authority", "smtp.ca_file"}},
		{"mail server offers no TLS", func(s *stage, config string) {
			s.edit(config, "tls: starttls", "tls: implicit")
		}, true, []string{"127.0.0.1:", "does not speak TLS from the first byte", "set smtp.tls: starttls"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, dueRows(2))
			config := s.secured()
			tc.spoil(s, config)
			p := newProgram(nil)
			code := p.Run(t.Context(), []string{"--config", config, "run", "--json"})
			said := p.err.String()
			if tc.document {
				var d claim.Document
				if err := json.Unmarshal(p.out.Bytes(), &d); err != nil {
					t.Fatalf("stdout is not one document: %v\n%s\n%s", err, p.out.String(), said)
				}
				if d.Outcome != claim.RunFailed || d.State != claim.RunFinished || d.Counts.Sent != 0 {
					t.Errorf("%+v", d)
				}
				said = d.Detail
			} else if p.out.Len() > 0 {
				t.Errorf("stdout is not empty:\n%s", p.out.String())
			}
			if code != exitError {
				t.Errorf("exit %d, want %d", code, exitError)
			}
			for _, want := range tc.want {
				if !strings.Contains(said, want) {
					t.Errorf("nothing says %q:\n%s", want, said)
				}
			}
			wantNoSecret(t, p.out.String()+p.err.String())
			s.wantUntouched()
		})
	}
}

// A set-up fault takes nothing away: once it is mended, the same run sends. The alert
// about it, which the mail server will not take either, is kept, and holds nobody up.
func TestMendedSetUpSends(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	config := s.secured()
	s.edit(config, "api: {", "alerts: {email: [ops@acme.test]}\napi: {")
	s.edit(config, mailPassword, mailPassword+"-of-yesterday")
	args := []string{"--config", config, "run", "--run-id", "a"}
	p, began := newProgram(nil), time.Now()
	if code := p.Run(t.Context(), args); code != exitError || time.Since(began) > 5*time.Second || !strings.Contains(p.err.String(), "alert not delivered; it is kept") {
		t.Errorf("exit %d after %v: %s", code, time.Since(began), p.err.String())
	}
	wantNoSecret(t, p.out.String()+p.err.String())
	s.wantUntouched()
	s.edit(config, mailPassword+"-of-yesterday", mailPassword)
	if d, code := s.runJSON(config, args[3:]...); code != exitOK || d.Counts.Sent != 2 {
		t.Errorf("exit %d, %+v", code, d)
	}
	s.wantOneEach(2)
}

// A foreign text over a claim, while the service waits: nothing is mailed, the text
// stays, the other rows are given back, and people are told.
func TestForeignTextWhileServing(t *testing.T) {
	t.Parallel()
	const foreign = "sending 4712"
	s := newStage(t, dueRows(3))
	config := s.secured()
	s.edit(config, "api: {", "alerts: {email: [ops@acme.test]}\napi: {")
	v := s.serve(config)
	var once sync.Once
	s.emu.After(func(c *sheetsemu.Call) {
		if c.Write { // the first is the claim
			once.Do(func() {
				s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D3", foreign) })
			})
		}
	})
	a := v.must(http.StatusConflict, "POST", "/v1/runs", `{"run_id": "a"}`)
	d := a.doc
	if d.Outcome != claim.RunStopped || d.Counts.Sent != 0 || len(d.Doubts) != 1 {
		t.Fatalf("%s", a.body)
	}
	if x := d.Doubts[0]; x.Kind != claim.ClaimOverwritten || x.Row != 3 || x.Key != "k2" || !strings.Contains(x.Detail, foreign) || x.Advice == "" {
		t.Errorf("%+v", x)
	}
	s.wantStatuses("", foreign, "")
	v.end() // which delivers what is queued
	msgs := s.sink.Messages()
	if len(msgs) != 1 || msgs[0].To[0] != "ops@acme.test" || !strings.Contains(string(msgs[0].Data), foreign) {
		t.Errorf("want one message, the alert: %+v", msgs)
	}
}

// wantStatuses fails unless the status cells read so.
func (s *stage) wantStatuses(want ...string) {
	s.t.Helper()
	for i, row := range s.emu.Grid(stageSheet, stageTab)[1:] {
		if got := append(row, "")[3]; got != want[i] {
			s.t.Errorf("row %d reads %q, want %q", i+2, got, want[i])
		}
	}
}

// A service, or a run of its own, that is stopped in the middle finishes the message
// in flight, marks what was sent and gives the rest back; the next start sends that.
func TestStoppedInMidRun(t *testing.T) {
	t.Parallel()
	const n, first, second = 40, 4, 3
	s := newStage(t, dueRows(n))
	config := s.secured()
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 400 * time.Millisecond})
	var stopped time.Time
	// stopAfter stops when so many messages are there; the last of them is in flight
	// then: its answer is yet to come.
	stopAfter := func(count int, stop func()) {
		s.sink.OnMessage(func(smtpsink.Message) {
			if len(s.sink.Messages()) == count {
				stopped = time.Now()
				stop()
			}
		})
	}
	wantStopped := func(d claim.Document, sent, before int) {
		t.Helper()
		if took := time.Since(stopped); took > 15*time.Second {
			t.Errorf("it took %v to stop", took)
		}
		if c := d.Counts; d.Outcome != claim.RunStopped || c.Sent != sent || c.Released != n-before-sent || c.Unknown != 0 || len(d.Doubts) != 0 {
			t.Errorf("%s: %s, %+v", d.Outcome, d.Detail, c)
		}
		all := sent + before
		s.wantStatuses(slices.Concat(slices.Repeat([]string{"sent"}, all), slices.Repeat([]string{""}, n-all))...)
	}

	v := s.serve(config)
	stopAfter(first, v.stop)
	a := v.must(http.StatusConflict, "POST", "/v1/runs", `{"run_id": "a"}`)
	v.end()
	wantStopped(a.doc, first, 0)

	p := startRun(t, config, "b")
	stopAfter(first+second, func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) })
	d, code := p.wait(t)
	if code != exitSome {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	wantStopped(d, second, first)

	s.sink.SetRules()
	v = s.serve(config)
	if a := v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "c"}`); a.doc.Counts.Sent != n-first-second {
		t.Errorf("%s", a.body)
	}
	s.wantOneEach(n)
}

// A service whose ledger cannot be written says that it is not ready, without the
// reason, which the log has; and it is ready again by itself.
func TestReadyNeedsAWritableLedger(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	v := s.serve(s.secured())
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "one.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	meddle := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	v.must(http.StatusOK, "GET", "/readyz", "")
	meddle(`CREATE TRIGGER stuck BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
	if a := v.must(http.StatusServiceUnavailable, "GET", "/readyz", ""); a.code != "not_ready" || strings.Contains(a.body, "disk") || a.header.Get("Retry-After") == "" {
		t.Errorf("%v\n%s", a.header, a.body)
	}
	v.must(http.StatusOK, "GET", "/healthz", "")
	meddle(`DROP TRIGGER stuck`)
	v.must(http.StatusOK, "GET", "/readyz", "")
	v.end()
	if said := v.program.err.String(); !strings.Contains(said, "the disk is full") {
		t.Errorf("the log does not say why:\n%s", said)
	}
}
