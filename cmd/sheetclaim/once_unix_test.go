//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// A signal that comes when the command has ended does not keep once from writing that
// down: the key would look as if nobody knew, or be given to the next.
func TestOnceIsNotKilledBeforeItHasWrittenItDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "keys.db")
	var out bytes.Buffer
	once := exec.Command("sheetclaim", "once", "--ledger", "sqlite:"+path, "k", "--", "sh", "-c", "touch started; while ! test -e go; do sleep 0.02; done; touch ended")
	once.Dir, once.Stderr = dir, &out
	if err := once.Start(); err != nil {
		t.Fatal(err)
	}
	appears(t, filepath.Join(dir, "started"))
	db, err := sql.Open("sqlite", path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	busy, err := db.Begin() // somebody else writes, so that once has to wait
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	appears(t, filepath.Join(dir, "ended"))
	time.Sleep(300 * time.Millisecond) // the shell ends, and once notices
	if err := once.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := busy.Rollback(); err != nil {
		t.Error(err)
	}
	if err := once.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	l, err := ledger.Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if e, _, err := l.Keys().Find(t.Context(), "k"); err != nil || e.State != key.Done {
		t.Errorf("the key is %q, %v", e.State, err)
	}
}

// A stop that was asked for while the key was being claimed comes before the command.
func TestOnceStoppedBeforeItsCommand(t *testing.T) {
	t.Parallel()
	l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "keys.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	keys := l.Keys()
	a, err := keys.Claim(t.Context(), key.Claim{Key: "k", Lease: time.Minute, Takeover: key.TakeNever})
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	m := NewMain()
	m.ignore = func() {}
	ran := filepath.Join(t.TempDir(), "ran")
	if err := (&onceCmd{}).carryOut(stopped, m, keys, claimed{Answer: a, lease: time.Minute}, []string{"touch", ran}); err == nil {
		t.Error("once said that it went well")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command ran after the stop")
	}
	if e, _, err := keys.Find(t.Context(), "k"); err != nil || e.State != key.Released {
		t.Errorf("the key is %q, %v", e.State, err)
	}
}

// appears waits for a file.
func appears(t *testing.T, path string) {
	t.Helper()
	for range 3000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not appear", path)
}
