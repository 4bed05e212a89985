package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// preview runs the command and answers its output and exit status.
func (s *stage) preview(change func(*program), args ...string) (out, errs string, code int) {
	s.t.Helper()
	p := newProgram(nil)
	if change != nil {
		change(p)
	}
	config := s.config("one")
	code = p.Run(context.Background(), append([]string{"--config", config, "preview"}, args...))
	return p.out.String(), p.err.String(), code
}

// previewStage has a due row with hostile cells, one with a fault, and one that is not
// due yet, and a job that writes both parts.
func previewStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, [][]any{
		{"key", "email", "due", "status", "name"},
		{"k1", "guest1@example.com", "2026-01-01", "", "Ada \x1b[31m\"><script>alert(1)</script>"},
		{"k2", "nobody", "2026-01-01", "", "Bob"},
		{"k3", "guest3@example.com", "2126-01-01", "", "Cy"},
	})
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).HideRow(2, true) })
	config := s.config("one")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	message := `message: {subject: "About {{key}}", text: "Dear {{name}}", html: "<p title='{{name}}'>Dear {{name}}</p>"}`
	was := `message: {subject: "About {{key}}", text: "Hello {{key}}"}`
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), was, message, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPreviewForPeople(t *testing.T) {
	t.Parallel()
	s := previewStage(t)
	out, errs, code := s.preview(nil)
	for _, want := range []string{
		"1 of 2 due rows would be sent now", "guest1@example.com", "row is hidden", "| Dear Ada", "an HTML part of",
		"nobody", "no @", "mend the row",
	} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit %d, %q is missing:\n%s%s", code, want, out, errs)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("a cell steers the terminal")
	}
	out, _, code = s.preview(nil, "--row", "k3")
	if code != exitOK || !strings.Contains(out, "would not be sent now: it is not due before 2126-01-01") || !strings.Contains(out, "Dear Cy") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	s.untouched()
}

// untouched fails when anything was written or mailed.
func (s *stage) untouched() {
	s.t.Helper()
	for _, c := range s.emu.Log() {
		if c.Write {
			s.t.Errorf("something was written: %s", c.Body)
		}
	}
	if n := len(s.sink.Messages()); n != 0 {
		s.t.Errorf("%d messages", n)
	}
}

func TestPreviewJSON(t *testing.T) {
	t.Parallel()
	s := previewStage(t)
	out, errs, code := s.preview(nil, "test", "--json", "--limit", "1")
	var v claim.Preview
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	if v.Counts.WouldSend != 1 || v.Counts.Later != 1 || len(v.Rows) != 1 || !strings.HasPrefix(v.Rows[0].Message.Text, "Dear Ada") {
		t.Errorf("%+v", v)
	}
}

func TestPreviewPage(t *testing.T) {
	s := previewStage(t)
	t.Setenv("TMPDIR", s.dir) // where the page is written
	var opened string
	out, errs, code := s.preview(func(p *program) {
		p.Browse = func(_ context.Context, path string) error { opened = path; return nil }
	}, "--open")
	if code != exitOK || opened == "" || !strings.Contains(out, opened) {
		t.Fatalf("exit %d, opened %q:\n%s%s", code, opened, out, errs)
	}
	info, err := os.Stat(opened)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the page: %v", info.Mode())
	}
	page, err := os.ReadFile(opened)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default-src 'none'", "<iframe sandbox srcdoc=\"", "guest1@example.com", "The row is hidden", "nobody"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page), "<script") {
		t.Errorf("a cell became a script:\n%s", page)
	}
	// Without a browser there is the path, with and without --json.
	for _, args := range [][]string{{"--open"}, {"--open", "--json"}} {
		out, errs, code = s.preview(func(p *program) {
			p.Browse = func(context.Context, string) error { return errors.New("there is no display") }
		}, args...)
		if code != exitOK || !strings.Contains(out+errs, s.dir+string(filepath.Separator)+"sheetclaim-preview-") || !strings.Contains(out+errs, "there is no display") {
			t.Errorf("exit %d:\n%s%s", code, out, errs)
		}
	}
}

func TestPreviewToMe(t *testing.T) {
	t.Parallel()
	s := previewStage(t)
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--to", "me@house.test"}, exitError, "say whose with --row KEY"},
		{[]string{"--to", "me@house.test", "--row", "k9"}, exitError, `no row of the tab "Visits" has the key "k9"`},
		{[]string{"--to", "me@house.test", "--row", "k2"}, exitSome, "no @"},
		{[]string{"--limit", "0"}, exitError, "--limit must be at least 1"},
	} {
		if _, errs, code := s.preview(nil, tc.args...); code != tc.code || !strings.Contains(errs, tc.want) {
			t.Errorf("%v: exit %d: %s", tc.args, code, errs)
		}
	}
	s.untouched()
	out, errs, code := s.preview(nil, "--to", "me@house.test", "--row", "k3")
	if code != exitOK || !strings.Contains(out, "sent to me@house.test as a test") {
		t.Errorf("exit %d:\n%s%s", code, out, errs)
	}
	if all := s.sink.Messages(); len(all) != 1 || all[0].To[0] != "me@house.test" {
		t.Errorf("%d messages", len(all))
	}
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "550 5.1.1 no such user"})
	if _, errs, code := s.preview(nil, "--to", "me@house.test", "--row", "k3"); code != exitError || !strings.Contains(errs, "550 5.1.1") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestPreviewOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	v := s.serve(s.config("one"))
	path := "/v1/jobs/test/preview"
	var p claim.Preview
	if err := json.Unmarshal([]byte(v.must(200, "POST", path, `{"limit": 2}`).body), &p); err != nil {
		t.Fatal(err)
	}
	if p.Counts.WouldSend != 2 || p.Counts.Later != 1 || p.Rows[0].Message.Text != "Hello k1" || p.APICalls != (claim.APICalls{Reads: 1}) {
		t.Errorf("%+v", p)
	}
	if a := v.must(404, "POST", path, `{"row": "k9"}`); a.code != "row_unknown" {
		t.Errorf("%s", a.body)
	}
	s.untouched()
	v.must(200, "POST", path, `{"row": "k2", "to": "me@house.test"}`)
	if all := s.sink.Messages(); len(all) != 1 || all[0].To[0] != "me@house.test" {
		t.Errorf("%d messages", len(all))
	}
	if a := v.must(200, "GET", "/v1/runs", ""); strings.Contains(a.body, "run_id") {
		t.Errorf("a preview is kept as a run: %s", a.body)
	}
	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D1", "state") })
	if a := v.must(502, "POST", path, ""); a.code != "sheet_unavailable" || !strings.Contains(a.body, "state") {
		t.Errorf("%s", a.body)
	}
}
