package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

// terminal opens a pseudo-terminal: what a person holds, and what a program gets.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = person.Close(), program.Close() })
	return person, program
}

// A person at a terminal is asked; the columns are guessed from the sheet.
func TestInitAsksOnATerminal(t *testing.T) {
	t.Parallel()
	s := newStage(t, [][]any{{"Guest", "E-mail", "Booking no", "Visit status", "Visited at", "Review status"}})
	host, port, err := net.SplitHostPort(s.smtp)
	if err != nil {
		t.Fatal(err)
	}
	person, program := terminal(t)
	path := filepath.Join(s.dir, "asked.yaml")
	env := map[string]string{"SHEETS_EMULATOR_HOST": strings.TrimPrefix(s.url, "http://"), "SMTP_PASSWORD": "x"}
	p := newProgram(env)
	p.Stdin = program
	answers := []string{
		"my sheet", "https://docs.google.com/spreadsheets/d/" + stageSheet + "/edit#gid=0", // a wrong answer is asked again
		"Visits!A1:F", "", "", "e-mail", "nonsense", "", "-", // the columns, with guesses, a header in another case, and one that is not there
		"Acme <hello@acme.test>", host, port, "-", "ops@acme.test", "Your visit, {{Guest}}",
	}
	go func() { _, _ = io.WriteString(person, strings.Join(answers, "\n")+"\n") }()
	ended := make(chan int, 1)
	go func() { ended <- p.Run(t.Context(), []string{"--config", path, "init"}) }()
	select {
	case code := <-ended:
		if code != exitOK {
			t.Fatalf("exit %d: %s%s", code, p.out.String(), p.err.String())
		}
	case <-time.After(time.Minute):
		t.Fatal("init waits for more answers")
	}
	if said := p.out.String(); !strings.Contains(said, "expected an address such as") || !strings.Contains(said, `[Booking no]`) || !strings.Contains(said, "expected one of the columns") {
		t.Errorf("said %s", said)
	}
	if said := p.out.String(); strings.Contains(said, "compare the names under columns") {
		t.Errorf("the sheet was read, and yet said %s", said)
	}
	cfg, err := job.Load(path, p.Env)
	if err != nil {
		t.Fatal(err)
	}
	got := cfg.Jobs["mail"]
	want := job.ColumnNames{Key: job.Names{"Booking no"}, Email: "E-mail", Status: "Review status"}
	if fmt.Sprint(got.Columns) != fmt.Sprint(want) || got.Spreadsheet != stageSheet || got.Message.Subject != "Your visit, {{Guest}}" || cfg.SMTP.Username != "" {
		t.Errorf("%+v", got)
	}
	if code := p.Run(t.Context(), []string{"--config", path, "config", "check"}); code != exitOK {
		t.Errorf("config check: %s", p.err.String())
	}
	if code := p.Run(t.Context(), []string{"--config", path, "run", "--dry-run"}); code != exitOK {
		t.Errorf("run --dry-run: %s", p.err.String())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Answers that end early leave nothing behind.
func TestInitWithoutAllAnswers(t *testing.T) {
	t.Parallel()
	person, program := terminal(t)
	path := filepath.Join(t.TempDir(), "asked.yaml")
	p := newProgram(nil)
	p.Stdin = program
	go func() { _, _ = io.WriteString(person, "1AbC\n\x04") }() // end of file
	if code := p.Run(t.Context(), []string{"--config", path, "init"}); code != exitError || !strings.Contains(p.err.String(), "nothing was written") {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written")
	}
}
