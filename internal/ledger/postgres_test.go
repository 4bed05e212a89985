//go:build unix

package ledger_test

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/ledger/ledgertest"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

func TestPostgres(t *testing.T) {
	ledgertest.Exercise(t, func(t *testing.T, now func() time.Time) ledgertest.Book {
		return openPostgres(t, pgtest.Address(t), ledger.Options{Now: now, Routes: ledgertest.Routes()})
	})
}

// openPostgres opens a ledger; what opens it closes it.
func openPostgres(t *testing.T, address string, opts ledger.Options) *ledger.DB {
	t.Helper()
	s, err := ledger.OpenPostgres(t.Context(), address, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPostgresFaults: what is wrong with an address or a server is said in words that
// help, and without the password.
func TestPostgresFaults(t *testing.T) {
	base := pgtest.Address(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	another := func(change func(u *url.URL)) string {
		c := *u
		c.User = url.UserPassword("ann", "s3cret")
		change(&c)
		return c.String()
	}
	for name, want := range map[string]string{
		another(func(u *url.URL) { u.Host = closed.Addr().String() }):                                   "the server cannot be reached",
		another(func(u *url.URL) { u.User = url.UserPassword("nosuch", "s3cret") }):                     "refused the user or the password",
		another(func(u *url.URL) { u.User = url.UserPassword("tests", "s3cret"); u.Path = "/missing" }): "no database of that name",
		"postgres://ann:s3 cret%@db/x":             "written as %40",
		"postgres://ann:s3cret@db/x?sslmode=maybe": "sslmode",
		"postgres://ann:s3cret@db:port/x":          "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE",
		pgtest.With(base, "search_path", "a,b"):    "names the one schema",
	} {
		_, err := ledger.OpenURL(t.Context(), name, ledger.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3") {
			t.Errorf("%v\nwant %q and no password", err, want)
		}
	}
}

// TestPostgresTooNew: a ledger that a later version has migrated is not touched.
func TestPostgresTooNew(t *testing.T) {
	address := pgtest.Address(t)
	openPostgres(t, address, ledger.Options{}).Close()
	pgtest.Exec(t, address, `INSERT INTO migrations (version) VALUES (1000)`)
	_, err := ledger.OpenPostgres(t.Context(), address, ledger.Options{})
	if err == nil || !strings.Contains(err.Error(), "found 1000: a newer sheetclaim") {
		t.Errorf("got %v", err)
	}
}

// TestPostgresOpenedAtOnce: of many instances that start together on an empty database
// one makes the tables, and all are the same ledger.
func TestPostgresOpenedAtOnce(t *testing.T) {
	address := pgtest.Address(t)
	ids := make([]string, 8)
	var opened sync.WaitGroup
	for i := range ids {
		opened.Go(func() {
			s, err := ledger.OpenPostgres(t.Context(), address, ledger.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			ids[i], _ = s.ID(t.Context())
		})
	}
	opened.Wait()
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != 1 || ids[0] == "" {
		t.Errorf("ids %q of one ledger", ids)
	}
}
