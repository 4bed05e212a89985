package ledger

import (
	"context"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// AskCallback implements claim.Callbacks.
func (s *DB) AskCallback(ctx context.Context, run claim.RunRef, url string) error {
	return s.write(ctx, "keep a callback", func(t *tx) error {
		_, err := t.change(ctx, `INSERT INTO callbacks (run_seq, url, asked_at) VALUES (?, ?, ?)
			ON CONFLICT (run_seq, url) DO NOTHING`, run.Seq, url, stamp(t.now))
		return err
	})
}

// DueCallbacks implements claim.Callbacks.
func (s *DB) DueCallbacks(ctx context.Context, now time.Time, limit int) ([]claim.Callback, error) {
	var cs []claim.Callback
	err := s.read(ctx, "list callbacks", func(t *tx) (err error) {
		cs, err = list(ctx, t, scanCallback, `SELECT r.job, r.id, r.seq, r.document, c.url, c.tries, c.first_try
			FROM callbacks c JOIN runs r ON r.seq = c.run_seq
			WHERE c.ended_at = '' AND c.next_try <= ? AND r.state = 'finished' ORDER BY c.next_try, c.run_seq LIMIT ?`, stamp(now), limit)
		return err
	})
	return cs, err
}

func scanCallback(row scanner) (claim.Callback, error) {
	var c claim.Callback
	err := row.Scan(&c.Run.Job, &c.Run.ID, &c.Run.Seq, fromJSON{&c.Document}, &c.URL, &c.Tries, stamped{&c.First})
	c.Document.State = claim.RunFinished
	return c, err
}

// ReserveCallback implements claim.Callbacks. Of several that saw the same number of
// tries only one can make it one more.
func (s *DB) ReserveCallback(ctx context.Context, c claim.Callback, now, until time.Time) (bool, error) {
	var mine bool
	err := s.write(ctx, "reserve a callback", func(t *tx) error {
		n, err := t.change(ctx, `UPDATE callbacks SET tries = tries + 1, next_try = ?,
			first_try = CASE WHEN first_try = '' THEN ? ELSE first_try END
			WHERE run_seq = ? AND url = ? AND ended_at = '' AND tries = ?`, stamp(until), stamp(now), c.Run.Seq, c.URL, c.Tries)
		mine = n == 1
		return err
	})
	return mine && err == nil, err
}

// RetryCallback implements claim.Callbacks.
func (s *DB) RetryCallback(ctx context.Context, c claim.Callback, why string, next time.Time) error {
	return s.changeCallback(ctx, c, `problem = ?, next_try = ?`, why, stamp(next))
}

// EndCallback implements claim.Callbacks.
func (s *DB) EndCallback(ctx context.Context, c claim.Callback, why string, now time.Time) error {
	return s.changeCallback(ctx, c, `problem = ?, ended_at = ?`, why, stamp(now))
}

// changeCallback changes a wish that is open; one that has ended stays so.
func (s *DB) changeCallback(ctx context.Context, c claim.Callback, set string, args ...any) error {
	return s.write(ctx, "write down a callback", func(t *tx) error {
		_, err := t.change(ctx, `UPDATE callbacks SET `+set+` WHERE run_seq = ? AND url = ? AND ended_at = ''`,
			append(args, c.Run.Seq, c.URL)...)
		return err
	})
}
