package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// busyTimeout is how long a transaction waits for that of another process.
const busyTimeout = 10 * time.Second

// openFile opens the database file at path, and makes it when there is none.
//
// It never opens the file itself: closing any descriptor of it would drop the
// locks that another handle of this process holds on it (POSIX).
func openFile(ctx context.Context, path string) (*sql.DB, error) {
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return nil, errors.New("expected the path of a file; a ledger in memory would forget what was sent")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := create(ctx, abs); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("expected a file, found a folder or device; name a file in it")
	}
	// mode=rw: a file that vanishes while we run is an error, never a new and empty
	// ledger.
	return connect(abs, "rw")
}

// create makes an empty database file that only its owner may read.
func create(ctx context.Context, path string) error {
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist; create it, or name another file", folder)
	}
	db, err := connect(path, "rwc")
	if err != nil {
		return err
	}
	err = errors.Join(db.PingContext(ctx), db.Close())
	if code(err) == sqlite3.SQLITE_CANTOPEN {
		return fmt.Errorf("cannot create the file: the folder %s must be writable by this user: %w", folder, err)
	}
	if err != nil {
		return explainSQLite(err)
	}
	return os.Chmod(path, 0o600)
}

// connect returns a handle with one connection: SQLite lets one writer in at a
// time anyway, and readers that wait a few milliseconds are no loss.
func connect(path, mode string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a volume of Windows
	}
	q := url.Values{
		"mode":          {mode},
		"_busy_timeout": {strconv.FormatInt(busyTimeout.Milliseconds(), 10)},
		// A transaction that writes is one from its start, else two that first read and
		// then write fail each other.
		"_txlock":    {"immediate"},
		"_defensive": {"1"},
		"_dqs":       {"0"},
		"_error_rc":  {"1"},
	}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: q.Encode()}
	c, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(durable{c})
	db.SetMaxOpenConns(1)
	return db, nil
}

// durable connects so that a commit is on disk when it returns. The pragma may
// have to wait for another process, so it runs under the caller's context and not
// as a part of the database's name.
type durable struct{ driver.Connector }

// Connect implements driver.Connector.
func (d durable) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	able, ok := conn.(sqliteConn)
	if !ok {
		err = errors.New("the driver is not the one that this program was written for")
	} else {
		_, err = able.ExecContext(ctx, `PRAGMA synchronous = FULL`, nil)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &keepingConn{sqliteConn: able, kept: map[string]driver.Stmt{}}, nil
}

// useWAL turns the write-ahead log on, which stays on in the file: readers then
// wait for nobody, and a commit is one write to the end of the log.
func useWAL(ctx context.Context, db *sql.DB) error {
	mode, err := journalMode(ctx, db)
	if err != nil {
		return fmt.Errorf("turn the write-ahead log on: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("the write-ahead log cannot be used here (journal mode %s); put the ledger on a local disk", mode)
	}
	return nil
}

// journalMode asks for the write-ahead log until the file is free for that. Changing
// the mode does not wait for its lock as a transaction does: it answers "busy" at
// once when another process opens or closes the file in that moment.
func journalMode(ctx context.Context, db *sql.DB) (mode string, err error) {
	const pause = 50 * time.Millisecond
	for range int(busyTimeout / pause) {
		if err = db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err == nil && mode == "wal" {
			return mode, nil
		}
		err = db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
		if code(err) != sqlite3.SQLITE_BUSY {
			return mode, err
		}
		select {
		case <-ctx.Done():
			return mode, err
		case <-time.After(pause):
		}
	}
	return mode, err
}

// explainSQLite adds to an error of SQLite what it means for the person who set the
// ledger up.
func explainSQLite(err error) error {
	advice := ""
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		advice = "expected a SQLite database, found something else; name another file"
	case sqlite3.SQLITE_CORRUPT:
		advice = "the file is damaged; keep a copy of it and of the files -wal and -shm beside it, and see what sqlite3 .recover saves. " +
			"A restored copy makes the ledger go back in time"
	case sqlite3.SQLITE_READONLY:
		advice = "the file and its folder must be writable by this user; change their owner or mode, or name another file"
	case sqlite3.SQLITE_CANTOPEN:
		advice = "the file cannot be opened, or the files -wal and -shm cannot be made beside it; this user must be able to write the file and its folder"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		advice = fmt.Sprintf("another program has held the file locked for more than %v; end it, or name another file", busyTimeout)
	case sqlite3.SQLITE_FULL:
		advice = "the disk is full; make room"
	case sqlite3.SQLITE_IOERR:
		advice = "the disk failed to read or write; see whether it is full (a start needs room for the files -wal and -shm), then whether it is ill"
	default:
		return err
	}
	return fmt.Errorf("%s: %w", advice, err)
}

// code answers the primary result code of an error of SQLite, and 0 for others.
func code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}
