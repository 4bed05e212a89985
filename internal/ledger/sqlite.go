package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// applicationID marks the file as ours (PRAGMA application_id).
const applicationID = 1936221233

// sqliteEngine is the engine of a ledger in one file.
type sqliteEngine struct {
	path string
	file os.FileInfo // the file that was opened; nil: it is being opened
}

// Open opens the ledger in the file at path, and makes it when there is none. Its
// errors are for people.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	db, err := openFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	e := &sqliteEngine{}
	s := newDB(db, e, opts)
	if err := s.prepareFile(ctx, opts.NewID); err != nil {
		db.Close()
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	if e.path, err = filepath.Abs(path); err == nil {
		e.file, err = os.Stat(e.path)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	return s, nil
}

// prepareFile brings the schema up to date and reads the ledger's id.
func (s *DB) prepareFile(ctx context.Context, newID func() string) error {
	if s.upToDate(ctx) {
		return nil
	}
	if err := s.read(ctx, "look whose file it is", func(t *tx) error { return t.checkOwner(ctx) }); err != nil {
		return err
	}
	if err := useWAL(ctx, s.db); err != nil {
		return explainSQLite(err)
	}
	return s.write(ctx, "prepare the schema", func(t *tx) (err error) {
		if err = t.migrate(ctx, "sqlite"); err != nil {
			return err
		}
		s.id, err = t.identify(ctx, newID)
		return err
	})
}

// upToDate reads the id of a ledger that needs no preparation, as nearly every one
// does: a command that lives for milliseconds need not wait for the write lock.
func (s *DB) upToDate(ctx context.Context) bool {
	newest, err := migrationNames("sqlite")
	if err != nil {
		return false
	}
	var id, version int
	var mode string
	err = s.db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode)
	if err != nil || mode != "wal" {
		return false
	}
	err = s.db.QueryRowContext(ctx, `SELECT a.application_id, v.user_version, m.ledger
		FROM pragma_application_id a, pragma_user_version v, meta m`).Scan(&id, &version, &s.id)
	return err == nil && id == applicationID && version == len(newest)
}

// checkOwner makes sure that the file is a ledger or empty, before anything is
// written to it. It needs one state of the file: another process may be making the
// schema at this moment.
func (t *tx) checkOwner(ctx context.Context) error {
	var id, tables int
	if err := t.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return err
	}
	if err := t.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return err
	}
	if tables > 0 && id != applicationID {
		return errors.New("expected a ledger of sheetclaim, found the SQLite database of another program; name another file")
	}
	return nil
}

func (e *sqliteEngine) bind(query string) string { return query }

// One bound JSON array, since a statement takes a limited number of parameters.
func (e *sqliteEngine) oneOf(column string) string {
	return column + ` IN (SELECT value FROM json_each(?))`
}
func (e *sqliteEngine) array(values any) (any, error) { return asJSON(values) }

// attempt needs no second try: a transaction waits for the lock, and then is alone.
func (e *sqliteEngine) attempt(ctx context.Context, once func(context.Context) error) error {
	return once(ctx)
}

// options: _txlock=immediate makes a transaction that writes hold the write lock from
// its start.
func (e *sqliteEngine) options(m mode) *sql.TxOptions { return &sql.TxOptions{ReadOnly: m == reading} }

// started makes sure that the file that was opened is still the ledger's. What is
// written to a file that was removed or replaced is forgotten at the next start.
func (e *sqliteEngine) started(_ context.Context, _ *tx, m mode) (time.Time, error) {
	if m == reading || e.file == nil {
		return time.Time{}, nil
	}
	info, err := os.Stat(e.path)
	if err != nil || !os.SameFile(info, e.file) {
		err = fmt.Errorf("the file %s was removed or replaced while in use; stop sheetclaim, put the file back, start again", e.path)
	}
	return time.Time{}, err
}

func (e *sqliteEngine) ask(ctx context.Context, t *tx, qs []query, scan func(i int, row scanner) error) error {
	return t.conn.Raw(func(c any) error {
		for i, q := range qs {
			row, err := c.(*keepingConn).ask(ctx, q)
			if err == nil {
				err = scan(i, row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *sqliteEngine) explain(err error) error { return explainSQLite(err) }

func (e *sqliteEngine) version(ctx context.Context, t *tx) (n int, err error) {
	err = t.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&n)
	return n, err
}

func (e *sqliteEngine) setVersion(ctx context.Context, t *tx, n int) error {
	// A pragma takes no bound parameter; this is a number of our own.
	_, err := t.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, n))
	return err
}

func (e *sqliteEngine) close() {}

func (e *sqliteEngine) unhurried(context.Context, *tx) error { return nil }

func (e *sqliteEngine) tables(ctx context.Context, t *tx) ([]table, error) {
	return t.scanTables(ctx, `SELECT s.name, c.name, lower(c.type), FALSE FROM sqlite_schema s JOIN pragma_table_info(s.name) c
		WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%' ORDER BY s.name, c.cid`)
}

func (e *sqliteEngine) cast(c column) string {
	if c.kind == "integer" {
		return "CAST(? AS INTEGER)"
	}
	return "?"
}

// imported: SQLite has seen by itself which numbers are taken.
func (e *sqliteEngine) imported(context.Context, *tx, []table) error { return nil }
