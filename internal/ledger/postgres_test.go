//go:build unix

package ledger_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
	"github.com/sheetclaim/sheetclaim/internal/ledger/ledgertest"
	"github.com/sheetclaim/sheetclaim/internal/pgtest"
)

func TestPostgres(t *testing.T) {
	ledgertest.Exercise(t, func(t *testing.T, now func() time.Time) func() ledgertest.Book {
		address := pgtest.Address(t)
		return func() ledgertest.Book {
			return openPostgres(t, address, ledger.Options{Now: now, Routes: ledgertest.Routes()})
		}
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

// TestPostgresRestart: a server that is killed and starts again under a ledger in use
// costs time and nothing else. What was answered is there, and what a transaction
// that was cut off has done is known.
func TestPostgresRestart(t *testing.T) {
	server, err := pgtest.Start()
	pgtest.Need(t, err)
	s := openPostgres(t, server.Address(), ledger.Options{})
	defer s.Close()
	run := begin(t.Context(), t, s, "1")
	const keys = 400
	var taking sync.WaitGroup
	var done atomic.Int32
	for part := range 4 {
		taking.Go(func() {
			for i := part; i < keys; i += 4 {
				got, err := s.Take(t.Context(), run, []claim.Take{take(run, fmt.Sprint(i))})
				if err != nil || !got[0] { // a take that was made twice would be refused
					t.Errorf("key %d: %v, %v", i, got, err)
				}
				done.Add(1)
			}
		})
	}
	for n := range int32(3) {
		for done.Load() < (n+1)*keys/5 && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
		if err := errors.Join(server.Down(), server.Up()); err != nil {
			t.Error(err)
		}
	}
	taking.Wait()
	ms, err := s.Messages(t.Context(), "reviews")
	if err != nil || len(ms) != keys {
		t.Errorf("%d keys, %v, want %d", len(ms), err, keys)
	}
}

// TestPostgresAway: a server that does not come back is an error in the end, in words
// that help.
func TestPostgresAway(t *testing.T) {
	server, err := pgtest.Start()
	pgtest.Need(t, err)
	s := openPostgres(t, server.Address(), ledger.Options{})
	defer s.Close()
	s.SetPatience(time.Second)
	if err := server.Down(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "the server cannot be reached; is it up") {
		t.Errorf("got %v", err)
	}
	if err := server.Up(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPostgresLostCommit: the answer to a commit is lost, the connection with it. A
// commit that was carried out counts, and one that was not is made again.
func TestPostgresLostCommit(t *testing.T) {
	for _, reached := range []bool{true, false} {
		address := pgtest.Address(t)
		proxy := pgtest.NewProxy(t, address)
		s := openPostgres(t, proxy.Address(), ledger.Options{})
		run := begin(t.Context(), t, s, "1")
		proxy.CutAtCommit(reached)
		got, err := s.Take(t.Context(), run, []claim.Take{take(run, "B-1")})
		if err != nil || !got[0] {
			t.Errorf("commit reached the server: %v; got %v, %v", reached, got, err)
		}
		if n := proxy.Cuts(); n != 1 {
			t.Errorf("the connection was cut %d times at a commit, want once", n)
		}
		s.Close()
	}
}
