//go:build unix

package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Variable names the server that tests use in place of one of their own: the address
// of a database in which they may make schemas.
const Variable = "SHEETCLAIM_TEST_POSTGRES"

// errMissing says that there is no Postgres to start.
var errMissing = errors.New("no Postgres is installed (initdb, pg_ctl; Debian: apt-get install postgresql) and " + Variable + " is not set")

// server is the one of this test binary.
var server struct {
	once    sync.Once
	address string
	err     error
}

// schemas counts those made by this test binary.
var schemas atomic.Int64

// Address answers the address of an empty ledger: a schema that no other test has and
// that does not exist yet. It is dropped when the test ends.
func Address(t testing.TB) string {
	t.Helper()
	base := database(t)
	schema := fmt.Sprintf("test_%d_%d_%d", os.Getpid(), time.Now().UnixNano()%1e9, schemas.Add(1))
	t.Cleanup(func() {
		if err := exec(base, "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
			t.Errorf("drop the schema of the test: %v", err)
		}
	})
	return With(base, "search_path", schema)
}

// Exec runs a statement at an address.
func Exec(t testing.TB, address, statement string) {
	t.Helper()
	if err := exec(address, statement); err != nil {
		t.Fatal(err)
	}
}

// With answers an address with one parameter set.
func With(address, name, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // it is one of ours, or the variable's, which was tried
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// database answers the database of this test binary; the first call starts a server.
func database(t testing.TB) string {
	t.Helper()
	server.once.Do(func() {
		if server.address = os.Getenv(Variable); server.address != "" {
			server.err = exec(server.address, "SELECT 1")
			return
		}
		own, err := Start()
		if server.err = err; err == nil {
			server.address = own.Address()
		}
	})
	Need(t, server.err)
	return server.address
}

// Need skips a test when Postgres is not installed, and fails it for other errors or
// when CI is set.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errMissing) && os.Getenv("CI") == "":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// exec runs one statement.
func exec(address, statement string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), address, "the address"))
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	return err
}
