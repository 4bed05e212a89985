package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

var (
	_ claim.Ledger = (*SQLite)(nil)
	_ claim.Runs   = (*SQLite)(nil)
	_ claim.Outbox = (*SQLite)(nil)
)

// Options are a ledger's settings. The zero value works.
type Options struct {
	// Now is the ledger's clock, which judges leases; time.Now when nil.
	Now func() time.Time
	// NewID names a new ledger; random when nil.
	NewID func() string
	// Routes are the ways on which alerts go out ("email", "webhook"). An alert is due
	// on every route that is set when it is queued.
	Routes []string
}

// SQLite is a ledger in one file. It may be used by many goroutines, and the file
// by many processes of one machine.
type SQLite struct {
	db     *sql.DB
	now    func() time.Time
	routes []string
	id     string
	path   string
	file   os.FileInfo // the file that was opened
}

// OpenURL opens the ledger that a configuration names: sqlite:<path>. The value
// may hold a password, so errors repeat nothing of it but its scheme.
func OpenURL(ctx context.Context, name string, opts Options) (*SQLite, error) {
	scheme, path, found := strings.Cut(name, ":")
	switch {
	case found && scheme == "sqlite":
		return Open(ctx, strings.TrimPrefix(path, "//"), opts)
	case scheme == "postgres", scheme == "postgresql":
		return nil, fmt.Errorf("open ledger: this version keeps its ledger in SQLite only; write sqlite:<path> instead of %s:…", scheme)
	case found:
		return nil, fmt.Errorf("open ledger: %q is no kind of ledger; write sqlite:<path>", scheme)
	}
	return nil, fmt.Errorf("open ledger: expected sqlite:<path>, found no scheme; write sqlite:%s", name)
}

// Open opens the ledger in the file at path, and makes it when there is none. Its
// errors are for people.
func Open(ctx context.Context, path string, opts Options) (*SQLite, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.NewID == nil {
		opts.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	db, err := openFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	s := &SQLite{db: db, now: opts.Now, routes: slices.Clone(opts.Routes)}
	if err := s.prepare(ctx, opts.NewID); err != nil {
		db.Close()
		return nil, fmt.Errorf("open ledger %s: %w", path, explain(err))
	}
	if s.path, err = filepath.Abs(path); err == nil {
		s.file, err = os.Stat(s.path)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	return s, nil
}

// inPlace makes sure that the file that was opened is still the ledger's. What is
// written to a file that was removed or replaced is forgotten at the next start.
func (s *SQLite) inPlace() error {
	if s.file == nil {
		return nil // it is being opened
	}
	info, err := os.Stat(s.path)
	if err != nil || !os.SameFile(info, s.file) {
		return fmt.Errorf("the file %s was removed or replaced while in use; stop sheetclaim, put the file back, start again", s.path)
	}
	return nil
}

// prepare brings the schema up to date and reads the ledger's id.
func (s *SQLite) prepare(ctx context.Context, newID func() string) error {
	err := s.read(ctx, "look whose file it is", func(t *tx) error { return t.checkOwner(ctx) })
	if err != nil {
		return err
	}
	if err := useWAL(ctx, s.db); err != nil {
		return err
	}
	return s.write(ctx, "prepare the schema", func(t *tx) error {
		if err := t.migrate(ctx); err != nil {
			return err
		}
		_, err := t.ExecContext(ctx, `INSERT INTO meta (only_row, ledger, count, made_at) VALUES (1, ?, 0, ?)
			ON CONFLICT DO NOTHING`, newID(), stamp(t.now))
		if err != nil {
			return err
		}
		return t.QueryRowContext(ctx, `SELECT ledger FROM meta`).Scan(&s.id)
	})
}

// Close closes the ledger.
func (s *SQLite) Close() error { return s.db.Close() }

// ID answers the ledger's own id, as it stands in the fence.
func (s *SQLite) ID(context.Context) (string, error) { return s.id, nil }

// Ping proves that the ledger can be written, by writing.
func (s *SQLite) Ping(ctx context.Context) error {
	return s.write(ctx, "ping", func(t *tx) error {
		return t.one(ctx, `UPDATE meta SET ping_at = ?`, stamp(t.now))
	})
}
