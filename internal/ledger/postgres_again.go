package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// patience is how long a transaction is tried again, so that a server that starts
	// anew, or a network that fails for moments, ends no run and makes no doubt. It is
	// longer than the server keeps a transaction whose client is silent, so that the
	// fate of a lost commit is known within it.
	patience = 20 * time.Second
	// tryWithin is how long one try may take, or a server that never answers would be
	// waited for without end.
	tryWithin = 20 * time.Second
	// The pause between two tries grows from the shortest to the longest.
	shortestPause, longestPause = 2 * time.Millisecond, 500 * time.Millisecond
)

// attempt tries a transaction until it is carried out, fails for a reason that stays,
// or patience ends. What was begun and not committed the server undoes, so it may be
// tried again. What may have been committed is not, before its fate is known.
func (e *postgresEngine) attempt(ctx context.Context, once func(context.Context) error) error {
	limit := time.Now().Add(e.patience)
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := try(ctx, once)
		if err == nil || ctx.Err() != nil {
			return err
		}
		var open *commitError
		switch {
		case errors.As(err, &open) && sqlState(err) == "":
			done, unclear := e.fate(ctx, open, limit)
			if unclear != nil {
				return fmt.Errorf("the answer to the commit was lost, and whether it was carried out cannot be told: %w", errors.Join(err, unclear))
			}
			if done {
				return nil
			}
		case !passing(err):
			return err
		}
		if time.Now().After(limit) || rest(ctx, pause) != nil {
			return err
		}
	}
}

func try(ctx context.Context, once func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	return once(ctx)
}

// fate answers whether a transaction whose commit got no answer was carried out. A
// server that crashed gives numbers out again that it had not yet written down: so
// "committed" may be said of another transaction, and the token decides.
func (e *postgresEngine) fate(ctx context.Context, open *commitError, limit time.Time) (committed bool, err error) {
	if open.number == "" {
		return false, nil // it only read
	}
	const askedTooEarly = "22023" // a number that the server has not given out since it crashed
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		var status sql.NullString // NULL: so old that nobody remembers
		err = try(ctx, func(ctx context.Context) error {
			err := e.db.QueryRowContext(ctx, `SELECT pg_xact_status($1::text::xid8)`, open.number).Scan(&status)
			if err != nil || status.String != "committed" {
				return err
			}
			// A statement of its own, since one sees nothing that was committed after its begin.
			return e.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+e.schema+`.connections WHERE token = $1)`, open.token).Scan(&committed)
		})
		switch {
		case err == nil && (status.String == "committed" || status.String == "aborted"):
			return committed, nil
		case sqlState(err) == askedTooEarly:
			return false, nil
		case err != nil && !passing(err):
			return false, err
		case time.Now().After(limit), rest(ctx, pause) != nil:
			return false, errors.Join(err, fmt.Errorf("transaction %s was still under way", open.number))
		}
	}
}

// rest waits for a pause that varies, or transactions that failed each other would do
// so again.
func rest(ctx context.Context, pause time.Duration) error {
	t := time.NewTimer(pause/2 + rand.N(pause)) //nolint:gosec // nobody gains by guessing it
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// passing reports whether a transaction may go well when it is tried again.
func passing(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01", // another transaction was faster
		"55P03", // or holds a lock
		"25P03": // this one stood still
		return true
	}
	return away(err)
}

// away reports whether an error is that of a server that cannot be reached now.
func away(err error) bool {
	switch code := sqlState(err); code {
	case "":
		return disconnected(err)
	case "57P01", "57P02", "57P03", // the server stops, or starts
		"53300": // all its connections are in use
		return true
	default:
		return code[:2] == "08" // the connection
	}
}

// disconnected reports whether an error is the network's or the connection's.
func disconnected(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	for _, known := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone, pgconn.ErrConnClosed, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &network) || errors.As(err, &connect) || pgconn.SafeToRetry(err)
}

// sqlState answers the code of an error that the server sent (appendix A of its
// manual), and "" for others.
func sqlState(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}
