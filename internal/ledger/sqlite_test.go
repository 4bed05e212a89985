package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/ledger/ledgertest"
)

func TestSQLite(t *testing.T) {
	ledgertest.Exercise(t, func(t *testing.T, now func() time.Time) func() ledgertest.Book {
		path := newPath(t)
		return func() ledgertest.Book {
			return open(t, path, ledger.Options{Now: now, Routes: ledgertest.Routes()})
		}
	})
}

func newPath(t *testing.T) string { return filepath.Join(t.TempDir(), "sheetclaim.db") }

// open opens a ledger; what opens it closes it.
func open(t *testing.T, path string, opts ledger.Options) *ledger.DB {
	t.Helper()
	s, err := ledger.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// raw opens the file of a ledger without the ledger.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func begin(ctx context.Context, t *testing.T, s *ledger.DB, id string) claim.RunRef {
	t.Helper()
	rec, _, err := s.Begin(ctx, claim.RunRequest{Job: "reviews", ID: id, Lease: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return rec.RunRef
}

func take(run claim.RunRef, key string) claim.Take {
	return claim.Take{
		MessageKey: claim.MessageKey{Book: claim.Book{Job: "reviews", Spreadsheet: "S1"}, Key: key, Generation: 1},
		Claim:      "sending " + run.ID + "/" + key, Mark: "m",
	}
}

// TestTwoHandles: two ledgers on one file, as two instances have them, give each
// key once and agree on what they are.
func TestTwoHandles(t *testing.T) {
	path := newPath(t)
	handles := make([]*ledger.DB, 4)
	var opened sync.WaitGroup
	for i := range handles { // all at once: one of them makes the schema
		opened.Go(func() {
			s, err := ledger.Open(t.Context(), path, ledger.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			handles[i] = s
		})
	}
	opened.Wait()
	if t.Failed() {
		t.FailNow()
	}
	const keys = 25
	var won [keys]atomic.Int32
	var working sync.WaitGroup
	for i, s := range handles {
		run := begin(t.Context(), t, s, fmt.Sprint(i))
		working.Go(func() {
			for k := range keys {
				got, err := s.Take(t.Context(), run, []claim.Take{take(run, fmt.Sprint(k))})
				if err != nil {
					t.Error(err)
				} else if got[0] {
					won[k].Add(1)
				}
			}
		})
	}
	working.Wait()
	for k := range won {
		if n := won[k].Load(); n != 1 {
			t.Errorf("key %d was given %d times", k, n)
		}
	}
	first, _ := handles[0].ID(t.Context())
	for _, s := range handles {
		if id, _ := s.ID(t.Context()); id != first || id == "" {
			t.Errorf("ids %q and %q of one ledger", id, first)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSynctest: hours pass in a bubble, with several instances on one file.
func TestSynctest(t *testing.T) {
	path := newPath(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		var won atomic.Int32
		var working sync.WaitGroup
		for i := range 8 {
			working.Go(func() {
				s := open(t, path, ledger.Options{})
				defer s.Close()
				run := begin(ctx, t, s, fmt.Sprint(i))
				time.Sleep(50 * time.Minute)
				if ok, err := s.Renew(ctx, run, time.Hour); err != nil || !ok {
					t.Errorf("renew: %v, %v", ok, err)
				}
				time.Sleep(50 * time.Minute)
				got, err := s.Take(ctx, run, []claim.Take{take(run, "B-1")})
				if err != nil {
					t.Error(err)
				} else if got[0] {
					won.Add(1)
				}
				time.Sleep(2 * time.Hour)
				if ok, err := s.Renew(ctx, run, time.Hour); err != nil || ok {
					t.Errorf("renew after the lease: %v, %v", ok, err)
				}
			})
		}
		working.Wait()
		if n := won.Load(); n != 1 {
			t.Errorf("%d winners", n)
		}
	})
}

// TestNothingIsRewritten: not even somebody with the file in hand changes history
// by mistake.
func TestNothingIsRewritten(t *testing.T) {
	path := newPath(t)
	s := open(t, path, ledger.Options{})
	run := begin(t.Context(), t, s, "1")
	k := take(run, "B-1")
	if _, err := s.Take(t.Context(), run, []claim.Take{k}); err != nil {
		t.Fatal(err)
	}
	moved, err := s.Move(t.Context(), run, []claim.Move{{
		MessageKey: k.MessageKey, Claim: k.Claim, From: []claim.State{claim.Claimed}, To: claim.Confirmed,
		Attempt: &claim.Attempt{Number: 1},
	}})
	if err != nil || !moved[0] {
		t.Fatal(moved, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	db := raw(t, path)
	for _, statement := range []string{
		`UPDATE events SET text = 'nothing happened'`,
		`DELETE FROM events`,
		`DELETE FROM attempts`,
		`DELETE FROM messages`,
		`UPDATE messages SET state = 'lost'`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s was let through", statement)
		}
	}
	var events int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM events WHERE text LIKE 'taken%' OR to_state = 'confirmed'`).Scan(&events); err != nil {
		t.Fatal(err)
	}
	if events != 2 {
		t.Errorf("%d events, want 2", events)
	}
}

// TestReadable: the file reads without this program.
func TestReadable(t *testing.T) {
	path := newPath(t)
	at := time.Date(2026, 11, 30, 10, 0, 0, 5e6, time.FixedZone("CET", 3600))
	s := open(t, path, ledger.Options{Now: func() time.Time { return at }, NewID: func() string { return "ledger-1" }})
	run := begin(t.Context(), t, s, "1")
	if _, err := s.Take(t.Context(), run, []claim.Take{take(run, "B-1")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	s.Close()

	want := "ledger-1|2026-11-30T09:00:00.005000000Z|2026-11-30T10:00:00.005000000Z|running|claimed|2026-11-30T09:00:00.005000000Z"
	var got string
	err := raw(t, path).QueryRowContext(t.Context(), `SELECT ledger || '|' || ping_at || '|' || lease_until || '|' || runs.state
		|| '|' || messages.state || '|' || changed_at FROM meta, runs, messages`).Scan(&got)
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// TestCancelled: a context that ends changes nothing, and the ledger goes on.
func TestCancelled(t *testing.T) {
	s := open(t, newPath(t), ledger.Options{})
	defer s.Close()
	run := begin(t.Context(), t, s, "1")
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		k := take(run, fmt.Sprint(i))
		if _, err := s.Take(ctx, run, []claim.Take{k}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Move(ctx, run, []claim.Move{{
			MessageKey: k.MessageKey, Claim: k.Claim, From: []claim.State{claim.Claimed}, To: claim.Confirmed,
			Set: func(*claim.Message) { cancel() },
		}})
		if err == nil {
			t.Error("moved for a context that had ended")
		}
	}
	ms, err := s.Messages(t.Context(), "reviews")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if m.State != claim.Claimed {
			t.Errorf("key %s is %s", m.Key, m.State)
		}
	}
}

func TestOpenURL(t *testing.T) {
	path := newPath(t)
	for _, name := range []string{"sqlite:" + path, "sqlite://" + path} {
		s, err := ledger.OpenURL(t.Context(), name, ledger.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.Close()
	}
	for name, want := range map[string]string{
		"mysql://ann:s3cret@db/x": `"mysql" is no kind of ledger`,
		"sheetclaim.db":           "write sqlite:sheetclaim.db",
		"sqlite:":                 "expected the path of a file",
		"sqlite::memory:":         "would forget",
		"":                        "found no scheme",
	} {
		_, err := ledger.OpenURL(t.Context(), name, ledger.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}
