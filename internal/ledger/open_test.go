package ledger_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// TestOpenFaults: what is wrong with a file is said in words that help.
func TestOpenFaults(t *testing.T) {
	sqlite := func(statements string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if _, err := raw(t, path).ExecContext(t.Context(), statements); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(content []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name string
		file string // below the test's folder
		make func(t *testing.T, path string)
		want string
	}{
		{"no folder", "missing/sheetclaim.db", nil, "missing does not exist; create it"},
		{"a folder", "sheetclaim.db", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "expected a file, found a folder"},
		{"a text", "sheetclaim.db", write([]byte("key,email,status\nB-1,ada@example.com,\n")), "expected a SQLite database"},
		{"a long text", "sheetclaim.db", write(bytes.Repeat([]byte("key,email,status\n"), 1000)), "expected a SQLite database"},
		{"another program's", "sheetclaim.db", sqlite(`CREATE TABLE songs (title TEXT)`), "database of another program"},
		{"a newer schema", "sheetclaim.db", func(t *testing.T, path string) {
			open(t, path, ledger.Options{}).Close()
			sqlite(`PRAGMA user_version = 1000`)(t, path)
		}, "found 1000: a newer sheetclaim"},
		{"damaged", "sheetclaim.db", func(t *testing.T, path string) {
			open(t, path, ledger.Options{}).Close()
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 100; i < len(content); i++ {
				content[i] ^= 0xa5
			}
			write(content)(t, path)
		}, "the file is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.file)
			if tt.make != nil {
				tt.make(t, path)
			}
			s, err := ledger.Open(t.Context(), path, ledger.Options{})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v\nwant %q and the path in it", err, tt.want)
			}
		})
	}
}

// TestLocked: a file that another program never lets go of is an error in the end, at
// the first write, since opening needs none. In the bubble the wait costs nothing.
func TestLocked(t *testing.T) {
	path := newPath(t)
	open(t, path, ledger.Options{}).Close()
	synctest.Test(t, func(t *testing.T) {
		holder := raw(t, path+"?_txlock=exclusive")
		held, err := holder.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Rollback()
		began := time.Now()
		s, err := ledger.Open(t.Context(), path, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = s.Ping(t.Context())
		if err == nil || !strings.Contains(err.Error(), "held the file locked") {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(began); waited < 9*time.Second || waited > 11*time.Second {
			t.Errorf("waited %v, want about 10s", waited)
		}
	})
}

// TestOddPaths: characters that mean something in a URL mean nothing in a path.
func TestOddPaths(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a b.db", "a?mode=memory.db", "a#b.db", "100%.db", "äöü.db", "%41.db"} {
		path := filepath.Join(folder, name)
		open(t, path, ledger.Options{}).Close()
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	t.Chdir(folder)
	open(t, "relative.db", ledger.Options{}).Close()
	if info, err := os.Stat(filepath.Join(folder, "relative.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("relative.db: %v, %v; want a file that only its owner reads", info, err)
	}
}

// TestVanished: a ledger whose file is gone does not begin a new, empty one when
// it connects again.
func TestVanished(t *testing.T) {
	path := newPath(t)
	s := open(t, path, ledger.Options{})
	defer s.Close()
	s.DropConnection() // without it the file would be in use
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("a ledger without a file could be written")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made again")
	}
}

// TestDurable: every connection writes each commit through to the disk.
func TestDurable(t *testing.T) {
	s := open(t, newPath(t), ledger.Options{})
	defer s.Close()
	for range 2 {
		if level, err := s.Synchronous(t.Context()); err != nil || level != 2 {
			t.Errorf("synchronous is %d, %v, want 2 (FULL)", level, err)
		}
		s.DropConnection()
	}
}

// TestReopen: what was written is there, and opening twice changes nothing.
func TestReopen(t *testing.T) {
	path := newPath(t)
	s := open(t, path, ledger.Options{})
	id, _ := s.ID(t.Context())
	run := begin(t.Context(), t, s, "1")
	s.Close()
	s = open(t, path, ledger.Options{})
	defer s.Close()
	again, _ := s.ID(t.Context())
	if again != id {
		t.Errorf("id %q, then %q", id, again)
	}
	rec, err := s.Find(t.Context(), "reviews", "1")
	if err != nil || rec.RunRef != run {
		t.Errorf("got %+v, %v, want %+v", rec, err, run)
	}
}
