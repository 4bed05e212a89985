package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// OpenBatch implements claim.Ledger. Without a lease it answers ErrLeaseEnded.
func (s *DB) OpenBatch(ctx context.Context, run claim.RunRef, b claim.OpenBatch) (string, uint64, error) {
	var count int64
	err := s.write(ctx, "open batch "+b.Mark, func(t *tx) error {
		leased, err := t.leased(ctx, run)
		if err != nil {
			return err
		}
		if !leased {
			return ErrLeaseEnded
		}
		err = t.QueryRowContext(ctx, `UPDATE meta SET count = count + 1 RETURNING count`).Scan(&count)
		if err != nil {
			return err
		}
		for _, k := range b.Claims {
			if err := t.keepBefore(ctx, run, b, k); err != nil {
				return fmt.Errorf("key %q: %w", k.Key, err)
			}
		}
		return t.insertBatch(ctx, run, b, count)
	})
	if err != nil {
		return "", 0, err
	}
	return s.id, uint64(count), nil
}

// keepBefore writes down what stood in a claimed row. A claim that the run no
// longer holds for this batch must not be written to the sheet.
func (t *tx) keepBefore(ctx context.Context, run claim.RunRef, b claim.OpenBatch, k claim.MessageKey) error {
	before, err := asJSON(b.Before[k.Key])
	if err != nil {
		return err
	}
	return t.one(ctx, `UPDATE messages SET before_claim = ?, changed_at = ?
		WHERE job = ? AND spreadsheet = ? AND key = ? AND generation = ?
			AND state = 'claimed' AND run_seq = ? AND mark = ?`,
		before, stamp(t.now), k.Job, k.Spreadsheet, k.Key, k.Generation, run.Seq, b.Mark)
}

func (t *tx) insertBatch(ctx context.Context, run claim.RunRef, b claim.OpenBatch, count int64) error {
	n, err := int63(b.N)
	if err != nil {
		return err
	}
	var texts [3]string
	for i, v := range []any{b.Claims, b.Before, b.Seen} {
		if texts[i], err = asJSON(v); err != nil {
			return err
		}
	}
	return t.one(ctx, `INSERT INTO batches (count, mark, job, run_seq, run_id, spreadsheet, a1_range, tab_id, tab_title,
			n, claims, before_rows, seen_rows, opened_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		count, b.Mark, run.Job, run.Seq, run.ID, b.Target.Spreadsheet, b.Target.Range, b.Tab.ID, b.Tab.Title,
		n, texts[0], texts[1], texts[2], stamp(t.now))
}

// CloseBatch implements claim.Ledger. The same answer may come twice, as when a
// later run finds out what the run itself learns a little later.
func (s *DB) CloseBatch(ctx context.Context, mark string, applied bool) error {
	answer := "refused"
	if applied {
		answer = "applied"
	}
	return s.write(ctx, "close batch "+mark, func(t *tx) error {
		n, err := t.change(ctx, `UPDATE batches SET answer = ?, answered_at = ? WHERE mark = ? AND answer = ''`,
			answer, stamp(t.now), mark)
		if err != nil || n == 1 {
			return err
		}
		var kept string
		known, err := t.scan(ctx, []any{&kept}, `SELECT answer FROM batches WHERE mark = ? ORDER BY count DESC LIMIT 1`, mark)
		switch {
		case err != nil:
			return err
		case !known:
			return fmt.Errorf("no batch with mark %q was opened", mark)
		case kept != answer:
			return fmt.Errorf("batch was closed as %s before and cannot be %s", kept, answer)
		}
		return nil
	})
}

// Orphans implements claim.Ledger. A run that has finished but could not mark all
// its rows leaves orphans too. An answered batch comes with its claims that have
// not ended, since what it saw may have to be put back.
func (s *DB) Orphans(ctx context.Context, job string) ([]claim.Message, []claim.OpenBatch, error) {
	const runless = ` (r.seq IS NULL OR r.state <> 'running' OR r.lease_until <= ?2) `
	var ms []claim.Message
	var bs []claim.OpenBatch
	err := s.read(ctx, "find orphans", func(t *tx) (err error) {
		ms, err = list(ctx, t, scanMessage, `SELECT `+messageColumns+` FROM messages m LEFT JOIN runs r ON r.seq = m.run_seq
			WHERE ?1 IN ('', m.job) AND m.state NOT IN ('verified', 'returned') AND`+runless+`
			ORDER BY m.spreadsheet, m.tab_id, m.row_number, m.key`, job, stamp(t.now))
		if err != nil {
			return err
		}
		var wentBack time.Time
		if _, err := t.scan(ctx, []any{stamped{&wentBack}}, `SELECT went_back_at FROM meta`); err != nil {
			return err
		}
		for i, m := range ms {
			ms[i].Rewound = m.ClaimedAt.Before(wentBack)
		}
		bs, err = list(ctx, t, s.scanBatch, `SELECT b.mark, b.job, b.run_seq, b.run_id, b.spreadsheet, b.a1_range,
				b.tab_id, b.tab_title, b.n, b.claims, b.before_rows, b.seen_rows, b.count, b.answer <> '', b.answer = 'applied'
			FROM batches b LEFT JOIN runs r ON r.seq = b.run_seq
			WHERE ?1 IN ('', b.job) AND`+runless+`AND (b.answer = '' OR b.mark IN (
				SELECT mark FROM messages WHERE ?1 IN ('', job) AND state NOT IN ('verified', 'returned')))
			ORDER BY b.count`, job, stamp(t.now))
		return err
	})
	return ms, bs, err
}

func (s *DB) scanBatch(row scanner) (claim.OpenBatch, error) {
	b := claim.OpenBatch{Ledger: s.id}
	err := row.Scan(&b.Mark, &b.Run.Job, &b.Run.Seq, &b.Run.ID, &b.Target.Spreadsheet, &b.Target.Range,
		&b.Tab.ID, &b.Tab.Title, &b.N, fromJSON{&b.Claims}, fromJSON{&b.Before}, fromJSON{&b.Seen}, &b.LedgerCount, &b.Answered, &b.Applied)
	return b, err
}

// Rewound implements claim.Ledger. Another ledger's count says nothing of this one.
func (s *DB) Rewound(ctx context.Context, ledger string, seen uint64) (bool, error) {
	if ledger != s.id {
		return false, nil
	}
	want, err := int63(seen)
	if err != nil {
		return false, err
	}
	var rewound bool
	err = s.write(ctx, "compare the count with the fence", func(t *tx) error {
		n, err := t.change(ctx, `UPDATE meta SET count = ?, went_back_at = ? WHERE count < ?`, want, stamp(t.now), want)
		rewound = n == 1
		return err
	})
	return rewound && err == nil, err
}

// FenceBefore implements claim.Ledger. Only a batch that was seen applied proves
// that its number was used up by then.
func (s *DB) FenceBefore(ctx context.Context, spreadsheet string, tab int64, at time.Time) (uint64, error) {
	var n uint64
	err := s.read(ctx, "find an old fence number", func(t *tx) error {
		_, err := t.scan(ctx, []any{&n}, `SELECT coalesce(max(n), 0) FROM batches
			WHERE spreadsheet = ? AND tab_id = ? AND answer = 'applied' AND answered_at < ?`, spreadsheet, tab, stamp(at))
		return err
	})
	return n, err
}
