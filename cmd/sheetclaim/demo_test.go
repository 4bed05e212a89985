package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

// The demo shows what it promises: one message per due row, from one of three runs,
// and one alert.
func TestDemo(t *testing.T) {
	t.Parallel()
	p := newProgram(map[string]string{"SHEETS_EMULATOR_HOST": "127.0.0.1:1"}) // nothing of the machine may leak in
	began := time.Now()
	if code := p.Run(t.Context(), []string{"demo"}); code != exitOK {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the demo took %v", took)
	}
	said := p.out.String()
	for what, want := range map[string]int{
		`(?m)^demo-\d +sent +10 of 10 due rows sent$`:                              1,
		`(?m)^demo-\d +overlapped +`:                                               2,
		`(?m)^\d+ +B-10\d\d +completed +sent +demo-\d +1$`:                         10,
		`(?m)^5 +B-1004 +cancelled +0$`:                                            1, // not to be asked
		`(?m)^7 +B-1006 +completed +sent +earlier +0$`:                             1, // sent long ago
		`(?m)^1 alert caught: \[sheetclaim\] review-requests: runs overlap`:        1,
		`(?m)^3 runs wanted the same rows .* Every due row got exactly one messag`: 1,
	} {
		if got := len(regexp.MustCompile(what).FindAllString(said, -1)); got != want {
			t.Errorf("%d lines like %s, want %d", got, what, want)
		}
	}
	if p.err.Len() > 0 {
		t.Errorf("stderr is not empty:\n%s", p.err.String())
	}
	if t.Failed() {
		t.Log(said)
	}
	dir := regexp.MustCompile(`ledger and configuration in (\S+)`).FindStringSubmatch(said)
	if dir == nil || exists(dir[1]) {
		t.Errorf("the demo leaves its folder behind: %q", dir)
	}
}

// The configuration that init starts people with is in order once its variables are
// set, and config check shows none of them.
func TestConfigCheckOfExample(t *testing.T) {
	t.Parallel()
	s := &stage{t: t, dir: t.TempDir()}
	s.file("sheetclaim.yaml", string(job.Example()))
	s.file("google.json", `{"type": "authorized_user", "client_id": "x", "client_secret": "y", "refresh_token": "z"}`)
	config := filepath.Join(s.dir, "sheetclaim.yaml")
	p := newProgram(map[string]string{"SMTP_PASSWORD": mailPassword, "SHEETCLAIM_TOKEN": apiToken})
	code := p.Run(t.Context(), []string{"--config", config, "config", "check"})
	for _, want := range []string{
		"sheetclaim.yaml is in order", "job review-requests: Visits!A1:H in 1AbCdEf, key Booking, up to 50 rows a run",
		`due 48h after "Visited at"`, "schedule */5 * * * *",
	} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("the output does not say %q", want)
		}
	}
	if code != exitOK || p.err.Len() > 0 {
		t.Errorf("exit %d: %s%s", code, p.out.String(), p.err.String())
	}
	wantNoSecret(t, p.out.String())
	if exists(filepath.Join(s.dir, "sheetclaim.db")) {
		t.Error("config check made a ledger")
	}

	p = newProgram(nil)
	code = p.Run(t.Context(), []string{"--config", config, "config", "check"})
	for _, want := range []string{
		`sheetclaim\.yaml:\d+:\d+: smtp\.password: the environment variable SMTP_PASSWORD is not set`,
		`sheetclaim\.yaml:\d+:\d+: api\.tokens\[0\]\.token: the environment variable SHEETCLAIM_TOKEN is not set`,
	} {
		if !regexp.MustCompile(want).MatchString(p.err.String()) {
			t.Errorf("nothing says %s:\n%s", want, p.err.String())
		}
	}
	if code != exitError || p.out.Len() > 0 {
		t.Errorf("exit %d: %s", code, p.out.String())
	}
}

// The emulator takes a file as a tab, and a run finds it by SHEETS_EMULATOR_HOST.
func TestEmulatorServesARun(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1)) // for its mail server
	s.file("Bookings.csv", "key,email,due,status\nk1,guest1@example.com,2026-01-01,\nk2,guest2@example.com,2026-01-02,\n")
	ready := make(chan string, 1)
	emu := newProgram(nil)
	emu.Ready = func(addrs map[string]string) { ready <- addrs["emulator"] }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- emu.Run(ctx, []string{"emulator", "--listen", "127.0.0.1:0", "--load", "S9=" + filepath.Join(s.dir, "Bookings.csv")})
	}()
	var url string
	select {
	case url = <-ready:
	case code := <-ended:
		t.Fatalf("exit %d: %s", code, emu.err.String())
	}

	config := s.config("one")
	s.edit(config, "google: {endpoint: \""+s.url+"\"}\n", "")
	s.edit(config, "spreadsheet: "+stageSheet, "spreadsheet: S9")
	s.edit(config, stageTab+"!A1:Z", "Bookings!A1:D")
	p := newProgram(map[string]string{"SHEETS_EMULATOR_HOST": strings.TrimPrefix(url, "http://")})
	if code := p.Run(t.Context(), []string{"--config", config, "run"}); code != exitOK || !strings.Contains(p.out.String(), "2 of 2 due rows sent") {
		t.Errorf("exit %d: %s%s", code, p.out.String(), p.err.String())
	}
	const want = "key,email,due,status\nk1,guest1@example.com,2026-01-01,sent\nk2,guest2@example.com,2026-01-02,sent\n"
	if got := get(t, url+"/_emu/sheets/S9/Bookings.csv"); got != want {
		t.Errorf("the tab holds\n%s", got)
	}
	stop()
	if code := <-ended; code != exitOK || !strings.Contains(emu.err.String(), "Use it with SHEETS_EMULATOR_HOST="+strings.TrimPrefix(url, "http://")) {
		t.Errorf("exit %d: %s", code, emu.err.String())
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v", url, resp.Status, err)
	}
	return string(b)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
