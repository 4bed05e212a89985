//go:build unix

package ledger_test

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

// TestPostgresAwayInAGroup: calls that share a transaction share the wait for a server
// that went away in the middle of it.
func TestPostgresAwayInAGroup(t *testing.T) {
	const calls, patience = 12, 2 * time.Second
	address := pgtest.Address(t)
	proxy := pgtest.NewProxy(t, address)
	s := openPostgres(t, proxy.Address(), ledger.Options{})
	defer s.Close()
	s.SetPatience(patience)
	keys := s.Keys()
	var claims sync.WaitGroup
	held := holdGroup(t, address, calls, func(n int) {
		claims.Go(func() {
			_, err := keys.Claim(t.Context(), key.Claim{Key: fmt.Sprint(n), Lease: time.Minute, Takeover: key.TakeExpired})
			if (err == nil) != (n == 0) {
				t.Errorf("claim %d: %v", n, err)
			}
		})
	})
	began := time.Now()
	proxy.Close()
	claims.Wait()
	if took := time.Since(began); took > calls/2*patience {
		t.Errorf("%d callers waited for %v", calls-1, took)
	}
	_ = held.Rollback()
}

// TestPostgresGroup: many callers share a few round trips, and each has its own claim
// also when the answer to the commit is lost, carried out or not.
func TestPostgresGroup(t *testing.T) {
	const calls = 64
	for _, cut := range []string{"", "reached", "not reached"} {
		address := pgtest.Address(t)
		proxy := pgtest.NewProxy(t, address)
		s := openPostgres(t, proxy.Address(), ledger.Options{})
		keys := s.Keys()
		var claims sync.WaitGroup
		before := 0
		held := holdGroup(t, address, calls, func(n int) {
			claims.Go(func() {
				name := fmt.Sprint(n % (calls / 2)) // two claims of each
				a, err := keys.Claim(t.Context(), key.Claim{Key: name, Owner: fmt.Sprint(n), Lease: time.Minute, Takeover: key.TakeExpired})
				if err != nil || a.Claims != 1 || a.Won != (a.Owner == fmt.Sprint(n)) {
					t.Errorf("commit %q: claim %d: %+v, %v", cut, n, a, err)
				}
				if err := keys.End(t.Context(), key.End{Key: name, Token: a.Token, State: key.Done}); (err == nil) != a.Won {
					t.Errorf("commit %q: end of claim %d: %v", cut, n, err)
				}
			})
			before = proxy.Sends()
		})
		if cut != "" {
			proxy.CutAtCommit(cut == "reached")
		}
		if err := held.Rollback(); err != nil {
			t.Fatal(err)
		}
		claims.Wait()
		if n := proxy.Sends() - before; n > calls {
			t.Errorf("commit %q: the group took %d round trips, for %d claims and as many ends", cut, n, calls)
		}
		if (proxy.Cuts() > 0) != (cut != "") {
			t.Errorf("commit %q: cut %d times", cut, proxy.Cuts())
		}
		s.Close()
	}
}

// holdGroup lets claim 0 go first, alone, and the others wait for it, so that they share
// a transaction. It answers what that transaction waits for.
func holdGroup(t *testing.T, address string, calls int, claim func(n int)) (held *sql.Tx) {
	t.Helper()
	waiting := func(n int) { // statements that wait for a lock
		db, err := sql.Open("pgx", address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for have := -1; have < n && !t.Failed(); time.Sleep(5 * time.Millisecond) {
			if err := db.QueryRow(`SELECT count(*) FROM pg_locks WHERE NOT granted`).Scan(&have); err != nil {
				t.Error(err)
			}
		}
	}
	first := lockKeys(t, address)
	claim(0)
	waiting(1)
	second := make(chan *sql.Tx)
	go func() { second <- lockKeys(t, address) }() // holds the lock after claim 0
	waiting(2)
	for n := 1; n < calls; n++ {
		claim(n)
	}
	time.Sleep(100 * time.Millisecond) // all of them wait for claim 0
	if err := first.Rollback(); err != nil {
		t.Fatal(err)
	}
	held = <-second
	waiting(1) // the others, in one transaction
	return held
}

// lockKeys keeps everybody out of the table of keys.
func lockKeys(t *testing.T, address string) *sql.Tx {
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { db.Close() })
	tx, err := db.Begin()
	if err == nil {
		_, err = tx.Exec(`LOCK TABLE keys IN ACCESS EXCLUSIVE MODE`)
	}
	if err != nil {
		t.Error(err)
	}
	return tx
}
