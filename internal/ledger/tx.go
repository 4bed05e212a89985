package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

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
	*sql.Tx
	now    time.Time
	routes []string // on which an alert is due
}

// write runs f in a transaction that holds the write lock from its start.
func (s *SQLite) write(ctx context.Context, doing string, f func(t *tx) error) error {
	if err := s.inPlace(); err != nil {
		return fmt.Errorf("ledger: %s: %w", doing, err)
	}
	return s.transact(ctx, doing, nil, f)
}

// read runs f in a transaction that sees one state of the ledger.
func (s *SQLite) read(ctx context.Context, doing string, f func(t *tx) error) error {
	return s.transact(ctx, doing, &sql.TxOptions{ReadOnly: true}, f)
}

func (s *SQLite) transact(ctx context.Context, doing string, opts *sql.TxOptions, f func(t *tx) error) error {
	t, err := s.db.BeginTx(ctx, opts)
	if err != nil {
		return fmt.Errorf("ledger: %s: %w", doing, err)
	}
	defer t.Rollback() // after Commit it does nothing
	if err := f(&tx{Tx: t, now: s.now().UTC(), routes: s.routes}); err != nil {
		return fmt.Errorf("ledger: %s: %w", doing, err)
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("ledger: %s: %w", doing, err)
	}
	return nil
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
