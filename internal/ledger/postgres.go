package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// oldestPostgres is the first version that can tell what became of a transaction by
	// its number (pg_xact_status of an xid8), as server_version_num writes it.
	oldestPostgres = 13_00_00
	// connectWithin is how long a connection may take; connect_timeout in the address
	// is another.
	connectWithin = 10 * time.Second
	// usualSchema holds the tables, unless the address names another by search_path.
	usualSchema = "sheetclaim"
	// connectionName is what a connection calls itself in the table connections.
	connectionName = "sheetclaim"
)

// settings are those of every transaction. A commit is on disk when it is answered; no
// statement waits for ever; a process that stands still in the middle of a transaction
// does not hold up the others for long. They are set in each transaction anew, since
// behind a pooler the next one may be another session's.
const settings = `concat(set_config('synchronous_commit', 'on', true), set_config('statement_timeout', '15s', true),
	set_config('lock_timeout', '10s', true), set_config('idle_in_transaction_session_timeout', '10s', true),
	set_config('timezone', 'UTC', true), set_config('search_path', '%s', true))`

// postgresEngine is the engine of a ledger that several machines share.
type postgresEngine struct {
	pool     *pgxpool.Pool
	db       *sql.DB
	schema   string
	patience time.Duration // how long a transaction is tried again; 0: once
}

// OpenPostgres opens the ledger in a Postgres database and makes its tables when
// there are none. Its errors are for people, and hold no password.
func OpenPostgres(ctx context.Context, address string, opts Options) (*DB, error) {
	cfg, schema, err := parseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	c := cfg.ConnConfig
	e := &postgresEngine{schema: schema}
	named := fmt.Sprintf("postgres://%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
	if e.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", named, err)
	}
	e.db = stdlib.OpenDBFromPool(e.pool)
	s := newDB(e.db, e, opts)
	if err := s.prepareServer(ctx, e, opts.NewID); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", named, e.explain(err)), s.Close())
	}
	e.patience = patience // from now on a server that went away is expected back
	return s, nil
}

// isPlain reports whether the name of a schema can be written without quotes, and is
// not longer than the 63 bytes that Postgres keeps of it.
func isPlain(name string) bool {
	const letters, longest = "abcdefghijklmnopqrstuvwxyz_", 63
	return name != "" && len(name) <= longest && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"0123456789") == ""
}

// parseAddress reads the address and adds what every connection needs.
func parseAddress(address string) (*pgxpool.Config, string, error) {
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, "", explainAddress(address, err)
	}
	c := &cfg.ConnConfig.Config
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectWithin)
	if c.ValidateConnect == nil { // no target_session_attrs in the address
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	schema := cmp.Or(c.RuntimeParams["search_path"], usualSchema)
	if !isPlain(schema) {
		return nil, "", fmt.Errorf("search_path in the address names the one schema that holds the ledger: "+
			"expected lower-case letters, digits and _, found %q", schema)
	}
	delete(c.RuntimeParams, "search_path") // a pooler would refuse it
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		c.PgConn().CustomData()[connectionName] = rand.Text()
		return nil
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "sheetclaim"
	}
	return cfg, schema, nil
}

// prepareServer makes sure that the server is one that keeps the promise, brings the
// schema up to date and reads the ledger's id.
func (s *DB) prepareServer(ctx context.Context, e *postgresEngine, newID func() string) error {
	var version int
	var name string
	err := s.db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version')`).Scan(&version, &name)
	if err != nil {
		return err
	}
	if version < oldestPostgres {
		return fmt.Errorf("expected PostgreSQL %d or later, found %s; move the ledger to a newer server", oldestPostgres/10000, name)
	}
	// Under the lock below statements see what others have committed meanwhile.
	begun, err := e.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer begun.Rollback()
	t := &tx{sql: begun, engine: s.engine, now: time.Now().UTC()}
	if _, err := t.ExecContext(ctx, `SELECT `+e.settings()); err != nil {
		return err
	}
	if err := t.migrate(ctx, "postgres"); err != nil {
		return err
	}
	if s.id, err = t.identify(ctx, newID); err != nil {
		return err
	}
	if _, err := t.ExecContext(ctx, `DELETE FROM connections WHERE used_at < now() - interval '1 day'`); err != nil {
		return err
	}
	return begun.Commit()
}

func (e *postgresEngine) bind(query string) string { return placeholders(query, "$") }

func (e *postgresEngine) oneOf(column string) string    { return column + ` = ANY(?)` }
func (e *postgresEngine) array(values any) (any, error) { return values, nil }

// options: a writer is serializable, so that what it read is still so when it
// commits, or it is a repeatable read, in which the rows are that it changes. The server
// refuses the one of two for which that is not so, and attempt begins it again.
func (e *postgresEngine) options(m mode) *sql.TxOptions {
	if m == alone {
		return &sql.TxOptions{Isolation: sql.LevelSerializable}
	}
	return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: m == reading}
}

// settings are an expression that makes them. The schema's name is a plain one, see
// parseAddress.
func (e *postgresEngine) settings() string { return fmt.Sprintf(settings, e.schema) }

// started makes the settings, and reads the time when the transaction's view of the
// ledger is taken; now() would be that of its begin. A writer leaves a token in the row of
// its connection, by which its fate can be told.
func (e *postgresEngine) started(ctx context.Context, t *tx, m mode) (now time.Time, err error) {
	var made string
	if m == reading {
		err = t.QueryRowContext(ctx, `SELECT clock_timestamp(), `+e.settings()).Scan(&now, &made)
		return now, err
	}
	var name any
	err = t.conn.Raw(func(driver any) error {
		name = driver.(*stdlib.Conn).Conn().PgConn().CustomData()[connectionName]
		return nil
	})
	if err != nil {
		return now, err
	}
	t.token = rand.Text()
	err = t.QueryRowContext(ctx, `INSERT INTO `+e.schema+`.connections (name, token) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET token = excluded.token, used_at = now()
		RETURNING clock_timestamp(), pg_current_xact_id()::text, `+e.settings(), name, t.token).Scan(&now, &t.number, &made)
	return now, err
}

// ask sends all queries before it reads the first answer.
func (e *postgresEngine) ask(ctx context.Context, t *tx, qs []query, scan func(i int, row scanner) error) error {
	if len(qs) == 0 {
		return nil
	}
	var batch pgx.Batch
	for _, q := range qs {
		batch.Queue(e.bind(q.text), storable(q.args)...)
	}
	return t.conn.Raw(func(driver any) (err error) {
		answers := driver.(*stdlib.Conn).Conn().SendBatch(ctx, &batch)
		defer func() { err = cmp.Or(err, answers.Close()) }()
		for i := range qs {
			if err := scan(i, answers.QueryRow()); err != nil {
				return err
			}
		}
		return nil
	})
}

// version answers the number of migrations applied. When some are missing it takes
// the lock under which one instance at a time applies them, and looks again.
func (e *postgresEngine) version(ctx context.Context, t *tx) (n int, err error) {
	newest, err := migrationNames("postgres")
	if err != nil {
		return 0, err
	}
	if n, err = e.applied(ctx, t); err != nil || n >= len(newest) {
		return n, err
	}
	if _, err := t.ExecContext(ctx, `SET LOCAL statement_timeout = '10min'; SET LOCAL lock_timeout = '10min'`); err != nil {
		return 0, err
	}
	if _, err := t.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext(?))`, "sheetclaim ledger "+e.schema); err != nil {
		return 0, err
	}
	if n, err = e.applied(ctx, t); err != nil || n > 0 {
		return n, err
	}
	// The name is a plain one, see parseAddress.
	_, err = t.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+e.schema+`; CREATE TABLE IF NOT EXISTS migrations (
		version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`)
	return 0, err
}

// applied answers the number of migrations applied; 0 also when there is no table.
func (e *postgresEngine) applied(ctx context.Context, t *tx) (n int, err error) {
	var there bool
	// Not to_regclass: it may answer from what was cached before the lock was had.
	err = t.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'migrations')`, e.schema).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = t.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM migrations`).Scan(&n)
	return n, err
}

func (e *postgresEngine) setVersion(ctx context.Context, t *tx, n int) error {
	return t.one(ctx, `INSERT INTO migrations (version) VALUES (?)`, n)
}

func (e *postgresEngine) close() { e.pool.Close() }
