package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

var (
	_ claim.Ledger = (*DB)(nil)
	_ claim.Runs   = (*DB)(nil)
	_ claim.Outbox = (*DB)(nil)

	_ claim.Callbacks = (*DB)(nil)
)

// Options are a ledger's settings. The zero value works.
type Options struct {
	// Now is the ledger's clock, which judges leases. When nil it is that of the machine
	// for SQLite, and that of the server for Postgres, which all instances share.
	Now func() time.Time
	// NewID names a new ledger; random when nil.
	NewID func() string
	// Routes are the ways on which alerts go out ("email", "webhook"). An alert is due
	// on every route that is set when it is queued.
	Routes []string
}

// DB is a ledger in a database: one SQLite file, or Postgres. It may be used by many
// goroutines, the file by many processes of one machine, and Postgres by many
// machines.
type DB struct {
	db     *sql.DB
	engine engine
	now    func() time.Time // nil: the server's clock
	routes []string
	id     string
}

// OpenURL opens the ledger that a configuration names: sqlite:<path> or
// postgres://<address>. The value may hold a password, so errors repeat nothing of
// it but its scheme, host, user and database.
func OpenURL(ctx context.Context, name string, opts Options) (*DB, error) {
	scheme, path, found := strings.Cut(name, ":")
	switch {
	case found && scheme == "sqlite":
		return Open(ctx, strings.TrimPrefix(path, "//"), opts)
	case found && (scheme == "postgres" || scheme == "postgresql"):
		return OpenPostgres(ctx, name, opts)
	case found:
		return nil, fmt.Errorf("open ledger: %q is no kind of ledger; write sqlite:<path> or postgres://<user>:<password>@<host>/<database>", scheme)
	}
	return nil, fmt.Errorf("open ledger: expected sqlite:<path> or postgres://…, found no scheme; write sqlite:%s", name)
}

// newDB makes a ledger whose schema is not there yet.
func newDB(db *sql.DB, e engine, opts Options) *DB {
	return &DB{db: db, engine: e, now: opts.Now, routes: slices.Clone(opts.Routes)}
}

// identify gives a new ledger its id, and reads the id of an old one.
func (t *tx) identify(ctx context.Context, newID func() string) (id string, err error) {
	if newID == nil {
		newID = func() string { return strings.ToLower(rand.Text()) }
	}
	_, err = t.ExecContext(ctx, `INSERT INTO meta (only_row, ledger, count, made_at) VALUES (1, ?, 0, ?)
		ON CONFLICT DO NOTHING`, newID(), stamp(t.now))
	if err != nil {
		return "", err
	}
	return id, t.QueryRowContext(ctx, `SELECT ledger FROM meta`).Scan(&id)
}

// Close closes the ledger.
func (s *DB) Close() error {
	err := s.db.Close()
	s.engine.close()
	return err
}

// ID answers the ledger's own id, as it stands in the fence.
func (s *DB) ID(context.Context) (string, error) { return s.id, nil }

// Schema answers the version of the ledger's schema: how many migrations made it.
func (s *DB) Schema(ctx context.Context) (n int, err error) {
	err = s.read(ctx, "read the schema's version", func(t *tx) (err error) {
		n, err = s.engine.version(ctx, t)
		return err
	})
	return n, err
}

// Ping proves that the ledger can be written, by writing.
func (s *DB) Ping(ctx context.Context) error {
	return s.write(ctx, "ping", func(t *tx) error {
		return t.one(ctx, `UPDATE meta SET ping_at = ?`, stamp(t.now))
	})
}
