package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// sqliteConn is what a connection of the driver can do.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// keepingConn is a connection that keeps the statements of ask, of which there are few:
// to parse and plan one takes longer than to carry it out.
type keepingConn struct {
	sqliteConn

	kept map[string]driver.Stmt
}

// ask carries out a query, without what database/sql does around each: that is as much
// work again. Its answer is nil when the usual statement did it, and never else.
func (c *keepingConn) ask(ctx context.Context, q query) (scanner, error) {
	args := make([]driver.NamedValue, len(q.args))
	for i, arg := range storable(q.args) {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	if q.usual != "" {
		n, err := c.change(ctx, q.usual, args)
		if err != nil || n > 0 {
			return nil, err
		}
	}
	s, err := c.prepared(ctx, q.text)
	if err != nil {
		return nil, err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	row := valuesRow{values: make([]driver.Value, len(rows.Columns()))}
	if err = rows.Next(row.values); errors.Is(err, io.EOF) {
		row.missing, err = true, nil
	}
	return row, errors.Join(err, rows.Close())
}

// change carries out a statement without an answer, and says how many rows it changed.
func (c *keepingConn) change(ctx context.Context, text string, args []driver.NamedValue) (int64, error) {
	s, err := c.prepared(ctx, text)
	if err != nil {
		return 0, err
	}
	changed, err := s.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return 0, err
	}
	return changed.RowsAffected()
}

// prepared is a statement, ready to be carried out.
func (c *keepingConn) prepared(ctx context.Context, text string) (driver.Stmt, error) {
	if s := c.kept[text]; s != nil {
		return s, nil
	}
	s, err := c.PrepareContext(ctx, text)
	if err == nil {
		c.kept[text] = s
	}
	return s, err
}

// Close implements driver.Conn.
func (c *keepingConn) Close() error {
	var errs []error
	for _, s := range c.kept {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// valuesRow is a row as the driver gives it.
type valuesRow struct {
	values  []driver.Value
	missing bool // there is none
}

// Scan implements scanner for texts, whole numbers and what scans itself.
func (r valuesRow) Scan(dest ...any) error {
	if r.missing {
		return sql.ErrNoRows
	}
	for i, to := range dest {
		if s, ok := to.(sql.Scanner); ok {
			if err := s.Scan(r.values[i]); err != nil {
				return err
			}
			continue
		}
		from, to := reflect.ValueOf(r.values[i]), reflect.ValueOf(to).Elem()
		if !from.CanConvert(to.Type()) || from.Kind() == reflect.Int64 && to.Kind() == reflect.String {
			return fmt.Errorf("column %d is a %T, not a %s", i+1, r.values[i], to.Type())
		}
		to.Set(from.Convert(to.Type()))
	}
	return nil
}
