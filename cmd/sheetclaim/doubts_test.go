package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// loseAnswer has the sink take the next message and drop the connection instead of
// saying so.
func (s *stage) loseAnswer() {
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Times: 1})
}

// inDoubt runs n due rows of which the first loses its answer, and answers the
// configuration and the Message-ID to look for.
func (s *stage) inDoubt(n int) (config, messageID string) {
	s.t.Helper()
	s.loseAnswer()
	config = s.config("one", "on_doubt: skip")
	d, code := s.runJSON(config, "--run-id", "4711")
	if code != exitSome || d.Counts.Unknown != 1 || d.Counts.Sent != n-1 || len(d.Rows) != n {
		s.t.Fatalf("exit %d, %+v", code, d)
	}
	return config, d.Rows[0].MessageID
}

// says runs a command that must end with that status, and answers what it printed on
// stdout, or on stderr when it failed.
func (s *stage) says(code int, config string, args ...string) string {
	s.t.Helper()
	p := newProgram(map[string]string{"USER": "ada"})
	if got := p.Run(context.Background(), append([]string{"--config", config}, args...)); got != code {
		s.t.Errorf("%q: exit %d, want %d\n%s%s", args, got, code, p.out.String(), p.err.String())
	}
	if code != exitOK {
		return p.err.String()
	}
	return p.out.String()
}

// wantIn fails unless a text holds all parts.
func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// status is the status cell of a row, counted from 1 below the header.
func (s *stage) status(row int) any { return append(s.emu.Grid(stageSheet, stageTab)[row], "")[3] }

// events are the texts of the ledger's record.
func (s *stage) events() []string {
	s.t.Helper()
	l, err := ledger.Open(s.t.Context(), s.dir+"/one.db", ledger.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer l.Close()
	es, err := l.Events(s.t.Context(), "test")
	if err != nil {
		s.t.Fatal(err)
	}
	var texts []string
	for _, e := range es {
		texts = append(texts, e.Text)
	}
	return texts
}

func TestDoubtsWhenNothingWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.config("one")
	if got := s.says(exitOK, config, "doubts"); got != "No message waits for a person.\n" {
		t.Errorf("said %q", got)
	}
	if got := s.says(exitOK, config, "doubts", "--json", "--job", "test"); strings.Join(strings.Fields(got), "") != `{"messages":[]}` {
		t.Errorf("said %q", got)
	}
	wantIn(t, s.says(exitError, config, "doubts", "--job", "tset"), `no job "tset"`)
	s.wantUntouched()
	if n := len(s.emu.Log()); n != 0 {
		t.Errorf("the sheet was asked %d times", n)
	}
}

func TestSettleAsSent(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	config, id := s.inDoubt(2)
	wantIn(t, s.says(exitOK, config, "doubts"),
		"k1, row 2 of the tab Visits (job test)", "run 4711", "Message-ID "+id,
		"sheetclaim settle k1 --sent --why '…'\n", "sheetclaim settle k1 --resend --why '…'\n", "1 message waits for a person")
	var list api.MessageList
	if err := json.Unmarshal([]byte(s.says(exitOK, config, "doubts", "--json")), &list); err != nil || len(list.Messages) != 1 {
		t.Fatalf("%v: %+v", err, list)
	}
	if v := list.Messages[0]; v.Key != "k1" || v.State != api.WaitsUnknown || v.MessageID != id || v.RunID != "4711" || time.Since(v.SettledAt) > time.Minute {
		t.Errorf("%+v", v)
	}

	wantIn(t, s.says(exitError, config, "settle", "k1", "--sent", "--why", " "), "say why")
	wantIn(t, s.says(exitError, config, "settle", "k7", "--sent", "--why", "seen"), `the key "k7"`)
	wantIn(t, s.says(exitError, config, "settle", "k2", "--sent", "--why", "seen"), "its end is known")
	wantIn(t, s.says(exitError, config, "settle", "k2", "--resend", "--why", "more"), "--spreadsheet")
	wantIn(t, s.says(exitError, config, "settle", "k1", "--why", "seen"), "--sent or --resend")
	wantIn(t, s.says(exitError, config, "settle", "k1", "--sent", "--resend", "--why", "seen"), "--sent and --resend")
	if got := s.status(1); !strings.HasPrefix(got.(string), "unknown 4711") {
		t.Fatalf("the status reads %q", got)
	}
	wantIn(t, s.says(exitOK, config, "settle", " k1", "--sent", "--why", "it is in the Sent folder"), "settled as sent", "has been marked")
	s.wantOneEach(2)
	wantIn(t, s.says(exitError, config, "settle", "k1", "--sent", "--why", "twice"), "was settled before")
	if got := s.says(exitOK, config, "doubts"); got != "No message waits for a person.\n" {
		t.Errorf("said %q", got)
	}
	if want := "settled as sent by cli:ada: it is in the Sent folder"; !slices.Contains(s.events(), want) {
		t.Errorf("the record lacks %q: %q", want, s.events())
	}
	if d, code := s.runJSON(config); code != exitOK || d.Outcome != claim.RunNothingDue {
		t.Errorf("exit %d, %+v", code, d)
	}
	s.wantOneEach(2)
}

func TestSettleAsResend(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	config, _ := s.inDoubt(2)
	calls := len(s.emu.Log())
	wantIn(t, s.says(exitOK, config, "settle", "k1", "--resend", "--why", "not in the Sent folder"), "the next run of test sends it again")
	wantIn(t, s.says(exitOK, config, "settle", "k1", "--resend", "--why", "said twice"), "the next run")
	wantIn(t, s.says(exitOK, config, "doubts"), "No message waits for a person.", "Sent again by the next run: k1 (job test)")
	if n := len(s.emu.Log()) - calls; n != 0 {
		t.Errorf("the sheet was asked %d times", n)
	}
	if d, code := s.runJSON(config); code != exitOK || d.Counts.Sent != 1 {
		t.Errorf("exit %d, %+v", code, d)
	}
	if d, code := s.runJSON(config); code != exitOK || d.Outcome != claim.RunNothingDue {
		t.Errorf("exit %d, %+v", code, d)
	}
	if n := len(s.sink.Messages()); n != 3 || s.status(1) != "sent" {
		t.Errorf("%d messages, the status reads %q", n, s.status(1))
	}
	wantIn(t, s.says(exitError, config, "settle", "k1", "--resend", "--why", "asked again"), "no message of the key")

	// What has ended is sent again only when its spreadsheet is named.
	wantIn(t, s.says(exitError, config, "settle", "k2", "--resend", "--why", "she asked for it", "--spreadsheet", "S7"), "S7")
	s.says(exitOK, config, "settle", "k2", "--resend", "--why", "she asked for it", "--spreadsheet", stageSheet)
	if d, code := s.runJSON(config); code != exitOK || d.Counts.Sent != 1 || d.Rows[0].Key != "k2" {
		t.Errorf("exit %d, %+v", code, d)
	}
	if n := len(s.sink.Messages()); n != 4 {
		t.Errorf("%d messages", n)
	}
}

// A word counts also when the sheet cannot be marked; the next run marks it.
func TestSettleWithoutTheSheet(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config, _ := s.inDoubt(1)
	header := func(text string) {
		s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D1", text) })
	}
	header("renamed")
	wantIn(t, s.says(exitOK, config, "settle", "k1", "--sent", "--why", "seen"), "settled as sent", "the next run marks it", `"status"`)
	if got := s.status(1); got == "sent" {
		t.Error("the sheet was marked all the same")
	}
	header("status")
	if d, code := s.runJSON(config); code != exitOK || d.Outcome != claim.RunNothingDue {
		t.Errorf("exit %d, %+v", code, d)
	}
	s.wantOneEach(1)
}

// A key that waits in two spreadsheets is not settled by itself.
func TestSettleInSeveralSpreadsheets(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	if err := s.emu.Put("S2", stageTab, dueRows(1)); err != nil {
		t.Fatal(err)
	}
	config, _ := s.inDoubt(1)
	s.loseAnswer()
	s.edit(config, "spreadsheet: "+stageSheet, "spreadsheet: S2")
	if d, code := s.runJSON(config); code != exitSome || d.Counts.Unknown != 1 {
		t.Fatalf("exit %d, %+v", code, d)
	}
	wantIn(t, s.says(exitOK, config, "doubts"), "--spreadsheet S1\n", "--spreadsheet S2\n", "2 messages wait")
	wantIn(t, s.says(exitError, config, "settle", "k1", "--sent", "--why", "seen"), "(S1, S2)", "--spreadsheet")
	s.says(exitOK, config, "settle", "k1", "--sent", "--why", "seen", "--spreadsheet", "S1")
	s.wantOneEachIn("S1")
	wantIn(t, s.says(exitOK, config, "doubts"), "1 message waits")
	s.says(exitOK, config, "settle", "k1", "--sent", "--why", "seen")
	s.wantOneEachIn("S2")
}

// wantOneEachIn fails unless the one row of a spreadsheet reads sent.
func (s *stage) wantOneEachIn(spreadsheet string) {
	s.t.Helper()
	if got := s.emu.Grid(spreadsheet, stageTab)[1][3]; got != "sent" {
		s.t.Errorf("the status in %s reads %q", spreadsheet, got)
	}
}

// Through the service: listed, settled under the token's name, marked soon.
func TestServeSettles(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(2))
	config := s.secured("on_doubt: skip")
	s.loseAnswer()
	v := s.serve(config)
	if a := v.must(http.StatusOK, "POST", "/v1/runs", `{"run_id": "4711"}`); a.doc.Counts.Unknown != 1 {
		t.Fatalf("%s", a.body)
	}
	var list api.MessageList
	a := v.must(http.StatusOK, "GET", "/v1/messages?state=unknown", "")
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || len(list.Messages) != 1 || list.Messages[0].Key != "k1" {
		t.Fatalf("%v: %s", err, a.body)
	}
	const body = `{"key": "k1", "outcome": "sent", "why": "it is in the Sent folder"}`
	v.must(http.StatusUnauthorized, "POST", "/v1/messages/settle", body, "Authorization", "")
	v.must(http.StatusOK, "POST", "/v1/messages/settle", body)
	if a := v.must(http.StatusConflict, "POST", "/v1/messages/settle", body); a.code != "message_not_unknown" {
		t.Errorf("settled twice: %s", a.body)
	}
	for until := time.Now().Add(20 * time.Second); s.status(1) != "sent" && time.Now().Before(until); {
		time.Sleep(50 * time.Millisecond)
	}
	s.wantOneEach(2)
	if want := "settled as sent by n8n: it is in the Sent folder"; !slices.Contains(s.events(), want) {
		t.Errorf("the record lacks %q", want)
	}
}

func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"B-1001": "B-1001", "ada@example.com": "ada@example.com", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "100%": "'100%'", "a|b": "'a|b'", "x\x1b[2J": "'x [2J'",
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
	}
}

func TestUser(t *testing.T) {
	nobody := fmt.Sprint("uid-", os.Getuid())
	if os.Getuid() < 0 {
		nobody = "somebody"
	}
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"USER": "ada", "LOGNAME": "bob"}, "ada"},
		{map[string]string{"USER": "", "LOGNAME": "bob"}, "bob"},
		{nil, nobody},
	} {
		if got := newProgram(tt.env).user(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.env, got, tt.want)
		}
	}
}
