package ledger

import (
	"context"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Standing counts what is open in the ledger.
func (s *DB) Standing(ctx context.Context) (claim.Standing, error) {
	st := claim.Standing{Jobs: map[string]claim.JobStanding{}, Alerts: map[string]int{}}
	for _, route := range s.routes {
		st.Alerts[route] = 0
	}
	err := s.read(ctx, "count what is open", func(t *tx) error {
		// Each partial index holds only what is open, so this does not grow with the past.
		err := t.tally(ctx, func(job string, wishes, all int) {
			j := st.Jobs[job]
			j.Resend, j.Unknown = wishes, all-wishes
			st.Jobs[job] = j
		}, `SELECT m.job, sum(CASE WHEN m.wish THEN 1 ELSE 0 END), count(*) FROM messages m WHERE `+waits+` GROUP BY m.job`)
		if err != nil {
			return err
		}
		err = t.tally(ctx, func(job string, alive, all int) {
			j := st.Jobs[job]
			j.Open, j.Stuck = all, all-alive
			st.Jobs[job] = j
		}, `SELECT m.job, count(r.seq), count(*) FROM messages m
			LEFT JOIN runs r ON r.seq = m.run_seq AND r.state = 'running' AND r.lease_until > ?
			WHERE m.state NOT IN ('verified', 'returned') GROUP BY m.job`, stamp(t.now))
		if err != nil {
			return err
		}
		return t.tally(ctx, func(route string, _, n int) { st.Alerts[route] = n },
			`SELECT route, 0, count(*) FROM deliveries WHERE delivered_at = '' GROUP BY route`)
	})
	return st, err
}

// tally runs a query that answers a name and two counts, and tells each row.
func (t *tx) tally(ctx context.Context, tell func(name string, part, all int), query string, args ...any) error {
	type row struct {
		name      string
		part, all int
	}
	scan := func(s scanner) (r row, err error) {
		err = s.Scan(&r.name, &r.part, &r.all)
		return r, err
	}
	rows, err := list(ctx, t, scan, query, args...)
	for _, r := range rows {
		tell(r.name, r.part, r.all)
	}
	return err
}
