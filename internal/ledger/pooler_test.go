//go:build unix

package ledger_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/ledger/ledgertest"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

// The whole suite through PgBouncer in transaction mode, where the next transaction is
// another session's and nothing may be prepared.
func TestPostgresBehindPgBouncer(t *testing.T) {
	pooler := pgtest.Bouncer(t, pgtest.Address(t), "transaction", 3)
	ledgertest.Exercise(t, func(t *testing.T, now func() time.Time) func() ledgertest.Book {
		address := pgtest.With(pooler, "search_path", schemaOf(t, pgtest.Address(t)))
		address = pgtest.With(address, "default_query_exec_mode", "exec")
		return func() ledgertest.Book {
			return openPostgres(t, address, ledger.Options{Now: now, Routes: ledgertest.Routes()})
		}
	})
}

// In session mode a session is one client's, and nothing has to be set; in transaction
// mode the ledger says what has to.
func TestPostgresPoolModes(t *testing.T) {
	for mode, want := range map[string]string{"session": "", "transaction": "default_query_exec_mode=exec"} {
		address := pgtest.Address(t)
		address = pgtest.With(pgtest.Bouncer(t, address, mode, 10), "search_path", schemaOf(t, address))
		err := func() error {
			s, err := ledger.OpenPostgres(t.Context(), address, ledger.Options{})
			if err != nil {
				return err
			}
			defer s.Close()
			errs := make([]error, 20)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() { errs[i] = s.Ping(t.Context()) })
			}
			all.Wait()
			return errors.Join(errs...)
		}()
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s mode: %v, want %q", mode, err, want)
		}
	}
}

func schemaOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("search_path")
}
