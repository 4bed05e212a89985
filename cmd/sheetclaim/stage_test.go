package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// stage is what the whole program plays on in tests: the emulator and the sink on
// ports, and a folder.
type stage struct {
	t    *testing.T
	emu  *sheetsemu.Emulator
	url  string
	sink *smtpsink.Sink
	smtp string
	dir  string
}

const stageSheet, stageTab = "S1", "Visits"

func newStage(t *testing.T, rows [][]any) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), emu: sheetsemu.New(sheetsemu.Options{Quota: -1})}
	if err := s.emu.Put(stageSheet, stageTab, rows); err != nil {
		t.Fatal(err)
	}
	server, err := s.emu.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = server.URL
	if s.sink, err = smtpsink.New(smtpsink.Options{UTF8: true}); err != nil {
		t.Fatal(err)
	}
	addr, err := s.sink.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.smtp = addr.String()
	t.Cleanup(func() {
		s.sink.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// config writes a configuration whose ledger is the file of that name, and answers
// its path. more are further lines of the job.
func (s *stage) config(ledger string, more ...string) string {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.smtp)
	if err != nil {
		s.t.Fatal(err)
	}
	job := append([]string{
		"spreadsheet: " + stageSheet, "range: " + stageTab + "!A1:Z", "columns: {key: key, email: email, status: status, due: due}",
		"wait: 2s", `message: {subject: "About {{key}}", text: "Hello {{key}}"}`,
	}, more...)
	text := fmt.Sprintf("ledger: sqlite:%s.db\ngoogle: {endpoint: %q}\nsmtp: {host: 127.0.0.1, port: %s, tls: none, from: 'Acme <hello@acme.test>'}\napi: {listen: '127.0.0.1:0'}\njobs:\n  test:\n    %s\n",
		ledger, s.url, port, strings.Join(job, "\n    "))
	path := filepath.Join(s.dir, ledger+".yaml")
	if _, err := os.Stat(path); err == nil {
		return path // another process may be reading it
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// dueRows is a header and n due rows.
func dueRows(n int) [][]any {
	rows := [][]any{{"key", "email", "due", "status"}}
	for i := 1; i <= n; i++ {
		rows = append(rows, []any{fmt.Sprintf("k%d", i), fmt.Sprintf("guest%d@example.com", i), "2026-01-01", ""})
	}
	return rows
}

// wantOneEach fails unless each of n due rows got one message and reads sent.
func (s *stage) wantOneEach(n int) {
	s.t.Helper()
	got := map[string]int{}
	for _, m := range s.sink.Messages() {
		got[strings.Join(m.To, ",")]++
	}
	for i := 1; i <= n; i++ {
		if to := fmt.Sprintf("guest%d@example.com", i); got[to] != 1 {
			s.t.Errorf("%s got %d messages", to, got[to])
		}
	}
	if len(s.sink.Messages()) != n {
		s.t.Errorf("%d messages in all, want %d", len(s.sink.Messages()), n)
	}
	for _, row := range s.emu.Grid(stageSheet, stageTab)[1 : n+1] {
		if row[3] != "sent" {
			s.t.Errorf("the status of %s reads %q", row[0], row[3])
		}
	}
}

// program is a Main whose output is kept.
type program struct {
	*Main
	out, err bytes.Buffer
}

func newProgram(env map[string]string) *program {
	p := &program{}
	p.Main = &Main{
		Stdin: strings.NewReader(""), Stdout: &p.out, Stderr: &p.err, Now: time.Now,
		Env:  func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Exit: func(code int) { panic(fmt.Sprintf("exit %d", code)) },
	}
	return p
}

// runJSON runs "run --json" and answers document and exit status.
func (s *stage) runJSON(config string, args ...string) (claim.Document, int) {
	s.t.Helper()
	p := newProgram(nil)
	code := p.Run(context.Background(), append([]string{"--config", config, "run", "--json"}, args...))
	var d claim.Document
	if err := json.Unmarshal(p.out.Bytes(), &d); err != nil {
		s.t.Fatalf("exit %d, stdout is not one document: %v\n%s\n%s", code, err, p.out.String(), p.err.String())
	}
	return d, code
}
