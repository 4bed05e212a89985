//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/pgtest"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// A ledger moves from SQLite to Postgres and back with what it knows: a row whose status
// somebody cleared is not sent again.
func TestLedgerMoves(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	file, server, back := s.config("one"), s.onPostgres("two", pgtest.Address(t)), s.config("three")
	if d, _ := s.runJSON(file); d.Counts.Sent != 3 {
		t.Fatalf("%+v", d)
	}
	copied := filepath.Join(s.dir, "copy.jsonl")
	s.says(exitOK, file, "ledger", "export", copied)
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: want a file that only its owner reads", info, err)
	}
	wantIn(t, s.says(exitError, file, "ledger", "export", copied), "exists already", "name another")
	s.says(exitOK, server, "ledger", "import", copied)
	first, second := s.says(exitOK, file, "ledger", "migrate"), s.says(exitOK, server, "ledger", "migrate")
	if first != second {
		t.Errorf("two ledgers: %s%s", first, second)
	}
	wantIn(t, s.says(exitError, server, "ledger", "import", copied), "nothing was imported", "expected an empty ledger")

	s.emu.Edit(stageSheet, func(b *sheetsemu.Book) { b.Tab(stageTab).Set("D2", "") })
	s.runJSON(server)
	again := filepath.Join(s.dir, "again.jsonl")
	s.says(exitOK, server, "ledger", "export", again)
	s.says(exitOK, back, "ledger", "import", again)
	s.runJSON(back)
	if n := len(s.sink.Messages()); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
	if status := s.status(1); status != "" {
		t.Errorf("the cleared status reads %q", status)
	}
}
