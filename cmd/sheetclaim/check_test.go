package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/check"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
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
	c.want("fence", check.OK, "1 claim in it, none by another ledger")
	c.want("overlaps", check.OK, "one starts every 5m: runs have room")
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
		c.want("status column", check.Fail, `contains formulas ("status", row 3)`, "map a column of its own")
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
