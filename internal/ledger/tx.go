package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// ErrLeaseEnded says that a run may not go on, because its lease has ended.
var ErrLeaseEnded = errors.New("the lease of the run has ended")

// errNotOne says that a statement that must change one row changed none or
// several.
var errNotOne = errors.New("expected to change one row")

// tx is one transaction. Everything in it happens at one time, read when the
// transaction had its lock: a wait for the lock must not make a lease look longer.
type tx struct {
	conn   *sql.Conn // that the transaction has
	sql    *sql.Tx
	engine engine
	token  string // of a writer in Postgres: what it leaves behind if it is carried out
	number string // and the server's number for it
	now    time.Time
	routes []string // on which an alert is due
}

// query is a statement that answers at most one row.
type query struct {
	text string
	args []any
	// usual does the same in the usual case, without an answer, and else changes nothing;
	// "": there is none. SQLite tries it first, since RETURNING takes it half as long again
	// as the change.
	usual string
}

// write runs f in a transaction that is alone, as far as it can tell, and on disk
// when write returns. Where the engine has to begin again it calls f again, so f
// leaves nothing behind that a second call would not replace.
func (s *DB) write(ctx context.Context, doing string, f func(t *tx) error) error {
	return s.transact(ctx, doing, alone, f)
}

// writeRows is write for an f whose writes each depend on nothing but the row that they
// change. It can be refused by others that change that row, and by nobody else.
func (s *DB) writeRows(ctx context.Context, doing string, f func(t *tx) error) error {
	return s.transact(ctx, doing, byRow, f)
}

// read runs f in a transaction that sees one state of the ledger. f may be called
// again, too.
func (s *DB) read(ctx context.Context, doing string, f func(t *tx) error) error {
	return s.transact(ctx, doing, reading, f)
}

func (s *DB) transact(ctx context.Context, doing string, m mode, f func(t *tx) error) error {
	err := s.engine.attempt(ctx, func(ctx context.Context) error { return s.once(ctx, m, f) })
	if err != nil {
		return fmt.Errorf("ledger: %s: %w", doing, s.engine.explain(err))
	}
	return nil
}

// mode is how a transaction stands to others. Each sees one state of the ledger.
type mode int

const (
	reading mode = iota // and writes nothing
	alone               // nothing that it has read changes before it is carried out
	byRow               // no row that it changes does
)

// once makes one try of a transaction.
func (s *DB) once(ctx context.Context, m mode, f func(t *tx) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back to the pool; what went wrong has been said
	begun, err := conn.BeginTx(ctx, s.engine.options(m))
	if err != nil {
		return err
	}
	defer begun.Rollback() // after Commit it does nothing
	t := &tx{conn: conn, sql: begun, engine: s.engine, routes: s.routes}
	if t.now, err = s.engine.started(ctx, t, m); err != nil {
		return err
	}
	if s.now != nil {
		t.now = s.now()
	}
	t.now = t.now.UTC().Round(0) // as it reads when it comes back from the database
	if err := f(t); err != nil {
		return err
	}
	if err := begun.Commit(); err != nil {
		return &commitError{err: err, token: t.token, number: t.number}
	}
	return nil
}

// commitError says that a commit got no good answer; it may have been carried out.
type commitError struct {
	err           error
	token, number string // as in tx
}

func (e *commitError) Error() string { return e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// ExecContext runs a statement.
func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.sql.ExecContext(ctx, t.engine.bind(query), storable(args)...)
}

// QueryContext runs a query.
func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.sql.QueryContext(ctx, t.engine.bind(query), storable(args)...)
}

// QueryRowContext runs a query for one row.
func (t *tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.sql.QueryRowContext(ctx, t.engine.bind(query), storable(args)...)
}

// storable makes every text one that each engine can keep: UTF-8 without NUL. A
// mail server's reply may be neither, and must not make its outcome unrecordable.
func storable(args []any) []any {
	for i, a := range args {
		if text, ok := a.(string); ok && (strings.ContainsRune(text, 0) || !utf8.ValidString(text)) {
			args[i] = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
		}
	}
	return args
}

// change runs a statement and answers how many rows it changed.
func (t *tx) change(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// one runs a statement that must change exactly one row.
func (t *tx) one(ctx context.Context, query string, args ...any) error {
	n, err := t.change(ctx, query, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("%w, changed %d", errNotOne, n)
	}
	return err
}

// scan reads the first row of an answer; known is false when there is none.
func (t *tx) scan(ctx context.Context, dest []any, query string, args ...any) (known bool, err error) {
	_, known, err = found(dest, t.QueryRowContext(ctx, query, args...).Scan(dest...))
	return known, err
}

// leased reports whether a run goes on and its lease has not ended.
func (t *tx) leased(ctx context.Context, run claim.RunRef) (bool, error) {
	var ok bool
	err := t.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs
		WHERE seq = ? AND job = ? AND id = ? AND state = 'running' AND lease_until > ?)`,
		run.Seq, run.Job, run.ID, stamp(t.now)).Scan(&ok)
	return ok, err
}

// scanner is what *sql.Row and *sql.Rows have in common.
type scanner interface{ Scan(dest ...any) error }

// list runs a query and scans every row of its answer.
func list[T any](ctx context.Context, t *tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// timeLayout has a fixed width and one zone, so that the order of the texts is the
// order of the times.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// stamp is a time as it is kept; "" when it is zero, which is before every other.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// stamped scans what stamp wrote.
type stamped struct{ to *time.Time }

func (s stamped) Scan(v any) error {
	text, _ := v.(string)
	if text == "" {
		*s.to = time.Time{}
		return nil
	}
	t, err := time.Parse(timeLayout, text)
	*s.to = t
	return err
}

// asJSON is a value as JSON text.
func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// fromJSON scans what asJSON wrote.
type fromJSON struct{ to any }

func (j fromJSON) Scan(v any) error {
	text, _ := v.(string)
	return json.Unmarshal([]byte(text), j.to)
}

// int63 is a number of the fence as the database can keep it. The fence counts
// from 1, so a greater one was written by something else.
func int63(n uint64) (int64, error) {
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("the number %d is too great to have been counted; delete that entry of the fence", n)
	}
	return int64(n), nil
}
