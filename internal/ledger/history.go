package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// foreignSeen begins the event that a claim of another tool was found in the sheet.
const foreignSeen = "claimed by another tool: "

// History answers how the runs of a job lay in time since a moment, and which rows
// other tools claimed.
func (s *DB) History(ctx context.Context, job string, since time.Time) (claim.History, error) {
	h := claim.History{Since: since.UTC()}
	err := s.read(ctx, "look at past runs", func(t *tx) (err error) {
		h.Until = t.now
		if h.Runs, err = list(ctx, t, scanSpan, `SELECT id, state, started_at, ended_at, lease_until, pins FROM runs
			WHERE job = ? AND started_at >= ? ORDER BY started_at, seq`, job, stamp(since)); err != nil {
			return err
		}
		seen, err := list(ctx, t, scanForeign, `SELECT at, key FROM events
			WHERE job = ? AND at >= ? AND to_state = '' AND text LIKE ? ORDER BY number`, job, stamp(since), foreignSeen+"%")
		if err != nil {
			return err
		}
		over, err := list(ctx, t, scanOverwritten, `SELECT at, rows FROM alerts
			WHERE job = ? AND kind = ? AND cause = ? AND at >= ? ORDER BY number`,
			job, claim.AlertDoubt, claim.ClaimOverwritten, stamp(since))
		h.Foreign = slices.Concat(slices.Concat(over, seen)...)
		slices.SortStableFunc(h.Foreign, func(a, b claim.ForeignClaim) int { return a.At.Compare(b.At) })
		return err
	})
	return h, err
}

func scanSpan(row scanner) (claim.Span, error) {
	var r claim.Span
	var state claim.RunState
	var ended, lease time.Time
	err := row.Scan(&r.Run, &state, stamped{&r.Began}, stamped{&ended}, stamped{&lease}, &r.Claimed)
	if r.Ended = state == claim.RunFinished; r.Ended {
		r.Until = ended
	} else {
		r.Until = lease
	}
	return r, err
}

func scanForeign(row scanner) ([]claim.ForeignClaim, error) {
	f := make([]claim.ForeignClaim, 1)
	err := row.Scan(stamped{&f[0].At}, &f[0].Key)
	return f, err
}

// scanOverwritten reads the rows of an alert whose claims another tool overwrote. An
// alert that ended a run names the doubts of all its rows.
func scanOverwritten(row scanner) ([]claim.ForeignClaim, error) {
	var at time.Time
	var rows []claim.AlertRow
	if err := row.Scan(stamped{&at}, fromJSON{&rows}); err != nil {
		return nil, err
	}
	var fs []claim.ForeignClaim
	for _, r := range rows {
		if strings.HasPrefix(r.Detail, string(claim.ClaimOverwritten)) {
			fs = append(fs, claim.ForeignClaim{At: at, Key: r.Key})
		}
	}
	return fs, nil
}
