package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// privateMark stands in everything that is somebody's own: addresses, cells, texts of
// messages. Logs may hold keys and row numbers, and nothing with this mark.
const privateMark = "PR1VATE"

// privateRows is a sheet in which every cell but the keys is private.
func privateRows() [][]any {
	guest := privateMark + ".guest"
	return [][]any{
		{"key", "email", "due", "status", "name"},
		{"good", guest + "1@example.com", "2026-01-01", "", privateMark + " Ada"},
		{"refused", guest + "2@example.com", "2026-01-01", "", privateMark + " Bob"},
		{"later", guest + "3@example.com", "2026-01-01", "", privateMark + " Cy"},
		{"no address", privateMark + " is no address", "2026-01-01", "", privateMark + " Di"},
		{"no date", guest + "5@example.com", privateMark + " day", "", privateMark + " Ed"},
		{"own text", guest + "6@example.com", "2026-01-01", privateMark + " will call", privateMark + " Flo"},
		{"typed over", guest + "7@example.com", "2026-01-01", "", privateMark + " Gus"},
		{"lost", guest + "8@example.com", "2026-01-01", "", privateMark + " Hal"},
	}
}

// private puts secrets and private texts wherever a configuration and a sheet can have
// them. What goes wrong is then each test's to say.
func (s *stage) private(hook string) string {
	s.t.Helper()
	config := s.secured("on_doubt: skip")
	s.edit(config, `{subject: "About {{key}}", text: "Hello {{key}}"}`,
		`{subject: "`+privateMark+` {{name}}", text: "`+privateMark+` {{name}}", reply_to: "`+privateMark+`.desk@acme.test"}`)
	s.edit(config, "api: {", "alerts: {email: ["+privateMark+".ops@acme.test], webhook: {url: '"+hook+"/"+secretMark+"-path?key="+secretMark+"', secret: "+secretMark+"-hook}}\napi: {")
	return config
}

// wantNothingPrivate fails when a log shows what is a secret or somebody's own.
func wantNothingPrivate(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if strings.Contains(strings.ToUpper(line), privateMark) {
			t.Errorf("the log shows something private: %s", line)
		}
	}
	wantNoSecret(t, log)
}

// refusingHook is a webhook that takes nothing, and says so with what it was sent.
func refusingHook(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Error(w, r.URL.String()+r.Header.Get("X-Sheetclaim-Signature"), http.StatusInternalServerError)
	}))
	t.Cleanup(hook.Close)
	return hook.URL, asked
}

// Nothing that is a secret or somebody's own is logged, at the finest level, by a run
// in which everything happens that can happen to a row, by requests that are refused,
// and by alerts that cannot be delivered.
func TestLogsHoldNothingPrivate(t *testing.T) {
	t.Parallel()
	s := newStage(t, privateRows())
	hook, asked := refusingHook(t)
	config := s.private(hook)
	address := func(n string) string { return privateMark + ".guest" + n + "@example.com" }
	s.sink.SetRules(
		smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Recipient: address("2"), Text: "550 5.1.1 <" + address("2") + ">: user unknown"},
		smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Recipient: address("3"), Text: "451 4.2.0 " + address("3") + " greylisted"},
		smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Recipient: address("8")},
		smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Recipient: privateMark + ".ops@acme.test", Text: "550 5.1.1 <" + privateMark + ".ops@acme.test>: user unknown"},
	)
	var once sync.Once
	s.emu.After(func(c *sheetsemu.Call) {
		if c.Write {
			once.Do(func() {
				s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D8", privateMark+" typed") })
			})
		}
	})
	v := s.serve(config, "--log-level", "debug")
	a := v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "a"}`)
	if c := a.doc.Counts; c.Sent != 1 || c.Rejected != 1 || c.Failed != 1 || c.Unknown != 1 || c.Skipped < 3 {
		t.Errorf("the run did not go through all that can happen: %+v\n%s", c, a.body)
	}
	for _, bad := range []string{`{"job": "` + privateMark + `"}`, `{"run_id": "` + privateMark + `!"}`, `{"` + privateMark + `": 1}`, privateMark} {
		if a, err := v.ask(t.Context(), "POST", "/v1/runs?x="+privateMark, bad); err != nil || a.status < 400 {
			t.Errorf("%v, %d: %s", err, a.status, a.body)
		}
	}
	v.must(http.StatusUnauthorized, "GET", "/v1/"+privateMark, "", "Authorization", "Bearer "+secretMark+"-guess")
	v.must(http.StatusNotFound, "GET", "/v1/"+privateMark, "")
	v.end()
	log := v.program.err.String()
	wantNothingPrivate(t, log)
	if !strings.Contains(log, "level=DEBUG") || asked.Load() == 0 {
		t.Errorf("nothing was logged at the finest level, or the webhook was not asked (%d):\n%s", asked.Load(), log)
	}
}

// The same where nothing goes: a login that is refused by a server that repeats it, a
// sheet that is not shared, Google and webhook out of reach.
func TestLogsOfFailuresHoldNothingPrivate(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *stage, config string){
		"login refused": func(s *stage, _ string) {
			s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Auth, Action: smtpsink.Reply, Text: "535 5.7.8 " + mailPassword + " is wrong for " + privateMark + ".me@acme.test"})
		},
		"sender refused": func(s *stage, _ string) {
			s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Mail, Action: smtpsink.Reply, Text: "553 5.7.1 <" + privateMark + ".me@acme.test>: sender rejected"})
		},
		"not shared": func(s *stage, _ string) { s.emu.SetAccess(stageSheet, "", sheetsemu.NoAccess) },
		"Google fails with what it was sent": func(s *stage, _ string) {
			s.emu.Script(sheetsemu.Rule{Fault: sheetsemu.Fault{Answer: sheetsemu.Status(400, `{"error": {"code": 400, "message": "Invalid value: `+privateMark+`.guest@example.com", "status": "INVALID_ARGUMENT"}}`)}})
		},
		"token server refuses": func(s *stage, config string) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := r.FormValue("refresh_token") + r.FormValue("client_secret")
				http.Error(w, `{"error": "invalid_grant", "error_description": "`+body+`"}`, http.StatusBadRequest)
			}))
			s.t.Cleanup(server.Close)
			s.edit(config, "password: "+mailPassword, "oauth: {token_url: '"+server.URL+"', client_id: c, client_secret: "+secretMark+"-client, refresh_token: "+secretMark+"-refresh}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, privateRows())
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l.Close() // nobody listens there now
			config := s.private("http://" + l.Addr().String())
			spoil(s, config)
			v := s.serve(config, "--log-level", "debug", "--log-format", "json")
			if a, err := v.ask(t.Context(), "POST", "/v1/runs", `{"run_id": "a"}`); err != nil || a.status < 400 {
				t.Errorf("%v, %d: %s", err, a.status, a.body)
			}
			v.end()
			wantNothingPrivate(t, v.program.err.String())
		})
	}
}

// The same for the commands that people type. What they ask for is on stdout, and may
// be private; stderr is a log.
func TestCommandsLogNothingPrivate(t *testing.T) {
	t.Parallel()
	s := newStage(t, privateRows())
	hook, _ := refusingHook(t)
	config := s.private(hook)
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Recipient: privateMark + ".guest8@example.com"})
	for _, args := range [][]string{
		{"config", "check"},
		{"check"},
		{"check", "--send-test-alert"},
		{"preview"},
		{"preview", "--row", "good", "--to", privateMark + ".me@acme.test"},
		{"run", "--dry-run"},
		{"run", "--json"},
		{"doubts"},
		{"settle", "lost", "--resend", "--why", privateMark + " has not got it"},
		{"run"},
		{"serve", "--listen", "127.0.0.1:99999"},
	} {
		p := newProgram(nil)
		p.Run(t.Context(), append([]string{"--config", config, "--log-level", "debug"}, args...))
		if t.Failed() {
			break
		}
		for line := range strings.Lines(p.err.String()) {
			if strings.Contains(strings.ToUpper(line), privateMark) {
				t.Errorf("%q: %s", args, line)
			}
		}
		wantNoSecret(t, p.out.String()+p.err.String())
	}
	if n := len(s.sink.Messages()); n < 5 {
		t.Errorf("%d messages: the commands did not get far", n)
	}
}
