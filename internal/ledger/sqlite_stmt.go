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

// ask carries out a statement that answers at most one row, without what database/sql
// does around each: that is as much work again.
func (c *keepingConn) ask(ctx context.Context, q query) (valuesRow, error) {
	s := c.kept[q.text]
	if s == nil {
		var err error
		if s, err = c.PrepareContext(ctx, q.text); err != nil {
			return nil, err
		}
		c.kept[q.text] = s
	}
	args := make([]driver.NamedValue, len(q.args))
	for i, arg := range storable(q.args) {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	row := make(valuesRow, len(rows.Columns()))
	if err = rows.Next(row); errors.Is(err, io.EOF) {
		row, err = nil, nil
	}
	return row, errors.Join(err, rows.Close())
}

// Close implements driver.Conn.
func (c *keepingConn) Close() error {
	var errs []error
	for _, s := range c.kept {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// valuesRow is a row as the driver gives it; nil: there is none.
type valuesRow []driver.Value

// Scan implements scanner for texts, whole numbers and what scans itself.
func (r valuesRow) Scan(dest ...any) error {
	if r == nil {
		return sql.ErrNoRows
	}
	for i, to := range dest {
		if s, ok := to.(sql.Scanner); ok {
			if err := s.Scan(r[i]); err != nil {
				return err
			}
			continue
		}
		from, to := reflect.ValueOf(r[i]), reflect.ValueOf(to).Elem()
		if !from.CanConvert(to.Type()) || from.Kind() == reflect.Int64 && to.Kind() == reflect.String {
			return fmt.Errorf("column %d is a %T, not a %s", i+1, r[i], to.Type())
		}
		to.Set(from.Convert(to.Type()))
	}
	return nil
}
