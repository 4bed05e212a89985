//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/api"
)

// postKey sends a request on keys to a service and answers the status.
func postKey(t *testing.T, address, action, body string, into any) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, address+"/v1/keys/"+action, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// onceProcess runs sheetclaim once on a ledger, with the command as a line of the shell.
func onceProcess(ledger, key, line string, flags ...string) *exec.Cmd {
	args := append([]string{"once", key}, flags...)
	cmd := exec.Command("sheetclaim", append(args, "--", "sh", "-c", line)...)
	cmd.Env = append(os.Environ(), "SHEETCLAIM_LEDGER="+ledger)
	return cmd
}

// bookings counts the lines that commands left in a file.
func bookings(t *testing.T, file string) int { return strings.Count(fileText(t, file), "\n") }

// The bookings of the guide, over HTTP: the same request twenty times at once, one
// event sent three times more, and a call that dies half-way.
func TestOriginsBookingsOverHTTP(t *testing.T) {
	t.Parallel()
	address := serveKeys(t, "sqlite:"+filepath.Join(t.TempDir(), "keys.db"))
	var mu sync.Mutex
	var winners []api.ClaimedKey
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			var got api.ClaimedKey
			postKey(t, address, "claim", `{"key": "slot:2026-12-24T10:00"}`, &got)
			if got.Won {
				mu.Lock()
				winners = append(winners, got)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(winners) != 1 {
		t.Fatalf("twenty at once: %d won", len(winners))
	}
	var ended api.EndedKey
	postKey(t, address, "done", fmt.Sprintf(`{"key": "slot:2026-12-24T10:00", "token": %q, "result": {"booking": 7}}`, winners[0].Token), &ended)
	for range 3 {
		var got api.ClaimedKey
		postKey(t, address, "claim", `{"key": "slot:2026-12-24T10:00"}`, &got)
		if got.Won || got.State != "done" || string(got.Result) != `{"booking":7}` {
			t.Errorf("sent again: %+v", got)
		}
	}
	var dead, next api.ClaimedKey
	postKey(t, address, "claim", `{"key": "slot:2026-12-24T11:00", "lease": "200ms"}`, &dead)
	for !next.Won { // a lease must end by itself
		time.Sleep(20 * time.Millisecond)
		postKey(t, address, "claim", `{"key": "slot:2026-12-24T11:00"}`, &next)
	}
	if !next.Takeover {
		t.Errorf("the retry: %+v", next)
	}
	var late struct{ Code string }
	if status := postKey(t, address, "done", fmt.Sprintf(`{"key": "slot:2026-12-24T11:00", "token": %q}`, dead.Token), &late); status != http.StatusConflict || late.Code != "token_stale" {
		t.Errorf("the dead call came back and was answered %d %s", status, late.Code)
	}
	if status := postKey(t, address, "done", fmt.Sprintf(`{"key": "slot:2026-12-24T11:00", "token": %q}`, next.Token), &ended); status != http.StatusOK {
		t.Errorf("the retry's end was answered %d", status)
	}
}

// The same from the command line.
func TestOriginsBookingsByCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ledger, file := "sqlite:"+filepath.Join(dir, "keys.db"), filepath.Join(dir, "bookings")
	book := "echo booked >> " + file
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _ = onceProcess(ledger, "slot:10", book).Run() }) // 0 or 75
	}
	all.Wait()
	if n := bookings(t, file); n != 1 {
		t.Fatalf("twenty at once made %d bookings", n)
	}
	for range 3 {
		if err := onceProcess(ledger, "slot:10", book).Run(); err != nil {
			t.Errorf("sent again: %v", err)
		}
	}
	if n := bookings(t, file); n != 1 {
		t.Fatalf("sent again, it made %d bookings", n)
	}

	// Terminated half-way: the command is told, the slot is free at once.
	halfWay := onceProcess(ledger, "slot:11", "touch "+dir+"/halfway; sleep 60 & wait; "+book)
	startAndAwait(t, halfWay, filepath.Join(dir, "halfway"))
	if err := halfWay.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := halfWay.Wait(); err == nil {
		t.Error("the command that was interrupted ended well")
	}
	if err := onceProcess(ledger, "slot:11", book).Run(); err != nil {
		t.Errorf("the retry: %v", err)
	}
	if n := bookings(t, file); n != 2 {
		t.Errorf("interrupted half-way and tried again: %d bookings, want 2", n)
	}

	// Killed half-way: nobody knows how far it came, and a person decides.
	killed := onceProcess(ledger, "slot:12", "touch "+dir+"/killed; exec sleep 60", "--lease", "300ms")
	startAndAwait(t, killed, filepath.Join(dir, "killed"))
	killTree(t, killed)
	time.Sleep(400 * time.Millisecond)
	var said bytes.Buffer
	retry := onceProcess(ledger, "slot:12", book)
	retry.Stderr = &said
	if _ = retry.Run(); retry.ProcessState.ExitCode() != exitBusy || !strings.Contains(said.String(), "nobody knows") {
		t.Errorf("the retry ended with %d: %s", retry.ProcessState.ExitCode(), said.String())
	}
	// With takeover asked for, the next one tries again by itself.
	killed = onceProcess(ledger, "slot:13", "touch "+dir+"/killed2; exec sleep 60", "--lease", "300ms", "--takeover", "expired")
	startAndAwait(t, killed, filepath.Join(dir, "killed2"))
	killTree(t, killed)
	time.Sleep(400 * time.Millisecond)
	if err := onceProcess(ledger, "slot:13", book, "--takeover", "expired").Run(); err != nil {
		t.Errorf("the retry: %v", err)
	}
	if n := bookings(t, file); n != 3 {
		t.Errorf("in the end there are %d bookings, want 3", n)
	}
}

// startAndAwait starts a process and waits until it has made a file.
func startAndAwait(t *testing.T, cmd *exec.Cmd, file string) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the process never came so far")
}

// killTree kills a process and what it started, like a machine that loses its power.
func killTree(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // that it was killed is no news
}
