package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// copyFormat is the version of the lines that Export writes.
const copyFormat = 1

// copyHeader is the first line of a copy.
type copyHeader struct {
	Format   int    `json:"sheetclaim_ledger"`
	Schema   int    `json:"schema"` // the number of migrations behind the rows
	Ledger   string `json:"ledger"`
	Exported string `json:"exported_at"`
}

// copyRow is a line for one row.
type copyRow struct {
	Table string         `json:"table"`
	Row   map[string]any `json:"row"` // texts and whole numbers; a truth value is 0 or 1
}

// copyEnd is the last line: without it a copy was cut off.
type copyEnd struct {
	End  bool  `json:"end"`
	Rows int64 `json:"rows"`
}

// ErrRunning says that a ledger is in use.
var ErrRunning = errors.New("a run is under way in this ledger")

// Export writes all that the ledger knows as lines of JSON, from one state of it. While
// a run lives it answers ErrRunning, unless live is true: what happens after that state
// is not in the copy.
func (s *DB) Export(ctx context.Context, w io.Writer, live bool) (rows int64, err error) {
	out := bufio.NewWriter(w)
	err = s.once(ctx, reading, func(t *tx) (err error) {
		rows, err = s.export(ctx, t, json.NewEncoder(out), live)
		return err
	})
	if err != nil {
		return rows, fmt.Errorf("ledger: export: %w", s.engine.explain(err))
	}
	return rows, out.Flush()
}

func (s *DB) export(ctx context.Context, t *tx, out *json.Encoder, live bool) (rows int64, err error) {
	var run claim.RunRef
	busy, err := t.scan(ctx, []any{&run.Job, &run.ID},
		`SELECT job, id FROM runs WHERE state = 'running' AND lease_until > ? ORDER BY seq LIMIT 1`, stamp(t.now))
	if err != nil {
		return 0, err
	}
	if busy && !live {
		return 0, fmt.Errorf("%w: %s of job %s", ErrRunning, run.ID, run.Job)
	}
	schema, err := s.engine.version(ctx, t)
	if err != nil {
		return 0, err
	}
	if err := s.engine.unhurried(ctx, t); err != nil {
		return 0, err
	}
	if err := out.Encode(copyHeader{copyFormat, schema, s.id, stamp(t.now)}); err != nil {
		return 0, err
	}
	tables, err := s.engine.tables(ctx, t)
	if err != nil {
		return 0, err
	}
	for _, table := range tables {
		n, err := table.export(ctx, t, out)
		if err != nil {
			return rows, fmt.Errorf("table %s: %w", table.name, err)
		}
		rows += n
	}
	return rows, out.Encode(copyEnd{true, rows})
}

// table is one table of the ledger's memory, as its engine describes it.
type table struct {
	name    string
	columns []column
}

// column is one column. kind is the engine's type, in lower case; counts is true when
// the engine gives its numbers out and has to be told which are taken.
type column struct {
	name, kind string
	counts     bool
}

// export writes every row of a table.
func (b table) export(ctx context.Context, t *tx, out *json.Encoder) (n int64, err error) {
	names := make([]string, len(b.columns))
	for i, c := range b.columns {
		names[i] = c.name
	}
	order := "1, 2, 3, 4"[:3*min(4, len(names))-2]
	// The names are the schema's own.
	rows, err := t.QueryContext(ctx, `SELECT `+strings.Join(names, ", ")+` FROM `+b.name+` ORDER BY `+order)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range into {
		into[i] = &values[i]
	}
	for ; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return n, err
		}
		row := make(map[string]any, len(names))
		for i, v := range values {
			switch v := v.(type) {
			case bool:
				row[names[i]] = 0
				if v {
					row[names[i]] = 1
				}
			case []byte:
				row[names[i]] = string(v)
			default:
				row[names[i]] = v
			}
		}
		if err := out.Encode(copyRow{b.name, row}); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

// Import fills an empty ledger with what Export wrote. It takes everything along, the
// ledger's id and its count too, and leaves a ledger that is not empty alone.
func (s *DB) Import(ctx context.Context, r io.Reader) (rows int64, err error) {
	var id string
	// Not tried again: r cannot be read twice.
	err = s.once(ctx, alone, func(t *tx) (err error) {
		rows, id, err = s.load(ctx, t, json.NewDecoder(bufio.NewReader(r)))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ledger: import: nothing was imported: %w", s.engine.explain(err))
	}
	s.id = id
	return rows, nil
}

func (s *DB) load(ctx context.Context, t *tx, in *json.Decoder) (rows int64, id string, err error) {
	in.UseNumber()
	schema, err := s.engine.version(ctx, t)
	if err != nil {
		return 0, "", err
	}
	var h copyHeader
	if err := in.Decode(&h); err != nil || h.Format == 0 {
		return 0, "", errors.New("expected a file that sheetclaim ledger export wrote, found something else")
	}
	if h.Format != copyFormat || h.Schema != schema {
		return 0, "", fmt.Errorf("expected format %d and schema %d, found %d and %d: export and import with the same version of sheetclaim",
			copyFormat, schema, h.Format, h.Schema)
	}
	tables, err := s.engine.tables(ctx, t)
	if err == nil {
		err = s.engine.unhurried(ctx, t)
	}
	if err != nil {
		return 0, "", err
	}
	if err := t.mustBeEmpty(ctx, tables); err != nil {
		return 0, "", err
	}
	if _, err := t.ExecContext(ctx, `DELETE FROM meta`); err != nil {
		return 0, "", err
	}
	if rows, err = t.insertAll(ctx, tables, in); err != nil {
		return 0, "", err
	}
	return rows, h.Ledger, s.engine.imported(ctx, t, tables)
}

// mustBeEmpty makes sure that nothing is mixed: two memories of one job would each
// hold messages that the other does not.
func (t *tx) mustBeEmpty(ctx context.Context, tables []table) error {
	for _, b := range tables {
		query := `SELECT EXISTS (SELECT 1 FROM ` + b.name + `)`
		if b.name == "meta" {
			query = `SELECT count > 0 FROM meta`
		}
		var used bool
		if err := t.QueryRowContext(ctx, query).Scan(&used); err != nil {
			return err
		}
		if used {
			return fmt.Errorf("expected an empty ledger, found one that has been used (table %s); name a new one", b.name)
		}
	}
	return nil
}

// insertAll reads lines until the end that counts them.
func (t *tx) insertAll(ctx context.Context, tables []table, in *json.Decoder) (rows int64, err error) {
	for {
		var line struct {
			copyRow
			copyEnd
		}
		switch err := in.Decode(&line); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return rows, errors.New("the file was cut off: its last line is missing; export again")
		case err != nil:
			return rows, fmt.Errorf("line %d: %w", rows+2, err)
		case line.End && line.Rows != rows:
			return rows, fmt.Errorf("the file was cut or changed: expected %d rows, found %d; export again", line.Rows, rows)
		case line.End:
			return rows, nil
		}
		i := slices.IndexFunc(tables, func(b table) bool { return b.name == line.Table })
		if i < 0 {
			return rows, fmt.Errorf("line %d: there is no table %q", rows+2, line.Table)
		}
		if err := tables[i].insert(ctx, t, line.Row); err != nil {
			return rows, fmt.Errorf("line %d, table %s: %w", rows+2, line.Table, err)
		}
		rows++
	}
}

// insert puts one row into its table.
func (b table) insert(ctx context.Context, t *tx, row map[string]any) error {
	if len(row) != len(b.columns) {
		return fmt.Errorf("expected %d columns, found %d", len(b.columns), len(row))
	}
	var names, marks []string
	var args []any
	for _, c := range b.columns {
		v, ok := row[c.name]
		if !ok {
			return fmt.Errorf("column %s is missing", c.name)
		}
		if n, ok := v.(json.Number); ok {
			v = n.String() // an engine casts it to what the column holds
		}
		names, marks, args = append(names, c.name), append(marks, t.engine.cast(c)), append(args, v)
	}
	return t.one(ctx, `INSERT INTO `+b.name+` (`+strings.Join(names, ", ")+`) VALUES (`+strings.Join(marks, ", ")+`)`, args...)
}

// scanTables reads rows of table, column, type and whether it counts.
func (t *tx) scanTables(ctx context.Context, query string, args ...any) ([]table, error) {
	rows, err := t.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []table
	for rows.Next() {
		var name string
		var c column
		if err := rows.Scan(&name, &c.name, &c.kind, &c.counts); err != nil {
			return nil, err
		}
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, table{name: name})
		}
		last := &all[len(all)-1]
		last.columns = append(last.columns, c)
	}
	return all, rows.Err()
}
