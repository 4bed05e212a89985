package ledger

import (
	"context"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Running implements claim.Ledger.
func (s *DB) Running(ctx context.Context, job string) ([]claim.RunRecord, error) {
	return s.runs(ctx, "list running runs", `WHERE job = ? AND state = 'running' AND lease_until > ? ORDER BY seq DESC`,
		func(t *tx) []any { return []any{job, stamp(t.now)} })
}

// LastTicks implements claim.Ledger.
func (s *DB) LastTicks(ctx context.Context, job, upTo string, limit int) ([]claim.RunRecord, error) {
	return s.runs(ctx, "list ticks", `WHERE job = ? AND id >= ? AND id <= ? ORDER BY id DESC, seq DESC LIMIT ?`,
		func(*tx) []any { return []any{job, claim.TickPrefix, upTo, limit} })
}

// MissedTicks implements claim.Ledger.
func (s *DB) MissedTicks(ctx context.Context, job string, d claim.Downtime) error {
	return s.write(ctx, "write down a downtime", func(t *tx) error {
		_, err := t.change(ctx, `INSERT INTO downtimes (job, began, ended) VALUES (?, ?, ?)
			ON CONFLICT (job, began) DO UPDATE SET ended = excluded.ended WHERE downtimes.ended < excluded.ended`,
			job, stamp(d.Began), stamp(d.Ended))
		return err
	})
}

// Downtimes implements claim.Ledger.
func (s *DB) Downtimes(ctx context.Context, job string) ([]claim.Downtime, error) {
	var ds []claim.Downtime
	err := s.read(ctx, "list downtimes", func(t *tx) (err error) {
		ds, err = list(ctx, t, scanDowntime, `SELECT began, ended FROM downtimes WHERE job = ? ORDER BY began`, job)
		return err
	})
	return ds, err
}

func scanDowntime(row scanner) (claim.Downtime, error) {
	var d claim.Downtime
	err := row.Scan(stamped{&d.Began}, stamped{&d.Ended})
	return d, err
}
