package ledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// engine is what SQLite and Postgres do differently. Statements are written once,
// in the dialect that both speak: ? and ?1 for parameters, truth values without a
// comparison, ON CONFLICT with its columns named, CASE for the greater of two.
type engine interface {
	// bind puts the engine's own placeholders into a statement.
	bind(query string) string
	// oneOf is the condition that a column has one of the values of one parameter, made
	// by array.
	oneOf(column string) string
	array(values any) (any, error)
	// attempt carries out one transaction, again where the engine knows that this is
	// safe and helps.
	attempt(ctx context.Context, once func(context.Context) error) error
	// options are those of a transaction.
	options(m mode) *sql.TxOptions
	// started is called first in a transaction, with the lock in hand if there is one.
	// It answers the database's time, zero when this machine's counts.
	started(ctx context.Context, t *tx, m mode) (time.Time, error)
	// ask runs queries one after the other and gives scan the answer of each, which may
	// have no row, or nil when the usual statement did it. Postgres gets them all at once.
	ask(ctx context.Context, t *tx, qs []query, scan func(i int, row scanner) error) error
	// explain adds to an error what it means for the person who set the ledger up.
	explain(err error) error
	// version answers the number of migrations applied, and setVersion notes one more.
	version(ctx context.Context, t *tx) (int, error)
	setVersion(ctx context.Context, t *tx, n int) error
	// unhurried lifts the limits of time from a transaction that copies everything.
	unhurried(ctx context.Context, t *tx) error
	// tables describes the tables of the ledger's memory, for a copy; cast is the
	// parameter of a column whose value is a text or a number written as one; imported is
	// called when all rows are in.
	tables(ctx context.Context, t *tx) ([]table, error)
	cast(c column) string
	imported(ctx context.Context, t *tx, tables []table) error
	close()
}

// placeholders rewrites ? and ?1 as prefix with a number, for engines that count.
// Our statements hold no question mark in a text.
func placeholders(query, prefix string) string {
	var b strings.Builder
	next := 0
	for {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(prefix)
		if after == "" || after[0] < '0' || after[0] > '9' {
			next++
			b.WriteString(strconv.Itoa(next))
		}
		query = after
	}
}

// migrations are applied in the order of their names, each once; the number of
// those applied is the schema's version. A file that was ever released is not edited
// any more.
//
//go:embed migrations
var migrations embed.FS

// migrationNames lists the migrations of an engine in their order.
func migrationNames(folder string) ([]string, error) {
	return fs.Glob(migrations, "migrations/"+folder+"/*.sql")
}

// migrate brings the schema to the newest version.
func (t *tx) migrate(ctx context.Context, folder string) error {
	names, err := migrationNames(folder)
	if err != nil {
		return err
	}
	from, err := t.engine.version(ctx, t)
	if err != nil {
		return err
	}
	if from > len(names) {
		return fmt.Errorf("expected schema version %d or older, found %d: a newer sheetclaim has used this ledger; run that version or a later one",
			len(names), from)
	}
	for i, name := range names[from:] {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := t.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
		if err := t.engine.setVersion(ctx, t, from+i+1); err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
	}
	return nil
}
