package ledger

import (
	"context"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Strays implements claim.Ledger.
func (s *DB) Strays(ctx context.Context, b claim.Book, found []claim.Stray) ([]claim.Stray, time.Duration, error) {
	var known []claim.Stray
	var slowest time.Duration
	err := s.write(ctx, "look up claims found in the sheet", func(t *tx) error {
		// A row that carries no claim any more starts anew with its next one.
		keys := make([]string, len(found))
		for i, f := range found {
			keys[i] = f.Key
		}
		still, err := t.engine.array(keys)
		if err != nil {
			return err
		}
		if _, err := t.change(ctx, `DELETE FROM sightings WHERE job = ? AND spreadsheet = ?
			AND NOT (`+t.engine.oneOf(`key`)+`)`, b.Job, b.Spreadsheet, still); err != nil {
			return err
		}
		known = make([]claim.Stray, len(found))
		for i, f := range found {
			var err error
			if known[i], err = t.stray(ctx, b, f); err != nil {
				return err
			}
		}
		slowest, err = t.slowestRun(ctx, b.Job)
		return err
	})
	return known, slowest, err
}

// stray answers what is known of one text, and remembers since when a foreign one
// has been there.
func (t *tx) stray(ctx context.Context, b claim.Book, f claim.Stray) (claim.Stray, error) {
	own, err := t.scan(ctx, []any{&f.Alive}, `SELECT r.seq IS NOT NULL AND r.state = 'running' AND r.lease_until > ?
		FROM batches b LEFT JOIN runs r ON r.seq = b.run_seq WHERE b.job = ? AND b.mark = ?
		ORDER BY b.count DESC LIMIT 1`, stamp(t.now), b.Job, f.Mark)
	f.Own = own
	if err != nil || own {
		return f, err
	}
	known, err := t.scan(ctx, []any{new(int)}, `SELECT 1 FROM sightings WHERE job = ? AND spreadsheet = ? AND key = ? AND text = ?`,
		b.Job, b.Spreadsheet, f.Key, f.Text)
	if err != nil {
		return f, err
	}
	if !known {
		e := Event{MessageKey: claim.MessageKey{Book: b, Key: f.Key}, Text: foreignSeen + f.Text}
		if err := t.event(ctx, e); err != nil {
			return f, err
		}
	}
	// Another text in the row is another claim.
	err = t.QueryRowContext(ctx, `INSERT INTO sightings (job, spreadsheet, key, text, since) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (job, spreadsheet, key) DO UPDATE SET text = excluded.text,
			since = CASE WHEN sightings.text = excluded.text THEN sightings.since ELSE excluded.since END
		RETURNING since`, b.Job, b.Spreadsheet, f.Key, f.Text, stamp(t.now)).Scan(stamped{&f.Since})
	return f, err
}

// slowestRun is how long the slowest run of a job took, of those that claimed.
func (t *tx) slowestRun(ctx context.Context, job string) (time.Duration, error) {
	runs, err := list(ctx, t, func(row scanner) (time.Duration, error) {
		var began, ended time.Time
		err := row.Scan(stamped{&began}, stamped{&ended})
		return ended.Sub(began), err
	}, `SELECT started_at, ended_at FROM runs WHERE job = ? AND state = 'finished' AND pins`, job)
	var slowest time.Duration
	for _, d := range runs {
		slowest = max(slowest, d)
	}
	return slowest, err
}
