package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// keptRun is a run with what only the ledger needs.
type keptRun struct {
	claim.RunRecord
	pins    bool
	endedAt time.Time
}

const runColumns = `seq, job, id, params, instance, state, lease_until, ended_at, pins, document`

// scanRun reads the runColumns of one row.
func (t *tx) scanRun(row scanner) (keptRun, error) {
	var r keptRun
	var state claim.RunState
	var leaseUntil time.Time
	err := row.Scan(&r.Seq, &r.Job, &r.ID, &r.Params, &r.Instance, &state, stamped{&leaseUntil}, stamped{&r.endedAt},
		&r.pins, fromJSON{&r.Document})
	r.Document.State = state
	r.Alive = state == claim.RunRunning && leaseUntil.After(t.now)
	return r, err
}

func (t *tx) newestRun(ctx context.Context, job, id string) (r keptRun, known bool, err error) {
	return found(t.scanRun(t.QueryRowContext(ctx, `SELECT `+runColumns+` FROM runs
		WHERE job = ? AND id = ? ORDER BY seq DESC LIMIT 1`, job, id)))
}

// Begin implements claim.Runs. A run that is not finished but has lost its lease
// is answered with Alive false: the caller settles its claims, finishes it and
// begins again. Leases are judged by the ledger's clock, memory by now.
func (s *DB) Begin(ctx context.Context, r claim.RunRequest, now time.Time) (claim.RunRecord, bool, error) {
	var rec claim.RunRecord
	var created bool
	err := s.write(ctx, "begin run "+r.ID, func(t *tx) error {
		if r.Job == "" || r.ID == "" || r.Lease <= 0 {
			return errors.New("a run needs a job, an id and a lease")
		}
		last, known, err := t.newestRun(ctx, r.Job, r.ID)
		if err != nil {
			return err
		}
		running := last.Document.State == claim.RunRunning
		if known && (running || (last.pins || r.Once) && now.Before(last.endedAt.Add(r.Memory))) {
			rec, created = last.RunRecord, false
			return nil
		}
		rec, err = t.insertRun(ctx, r, now)
		created = true
		return err
	})
	if err != nil {
		return claim.RunRecord{}, false, err
	}
	return rec, created, nil
}

func (t *tx) insertRun(ctx context.Context, r claim.RunRequest, now time.Time) (claim.RunRecord, error) {
	rec := claim.RunRecord{
		RunRef: claim.RunRef{Job: r.Job, ID: r.ID},
		Params: r.Params, Instance: r.Instance, Alive: true,
		Document: claim.Document{
			Job: r.Job, RunID: r.ID, State: claim.RunRunning, StartedAt: now.UTC(),
			Rows: []claim.RowReport{}, Doubts: []claim.Doubt{},
		},
	}
	document, err := asJSON(rec.Document)
	if err != nil {
		return rec, err
	}
	err = t.QueryRowContext(ctx, `INSERT INTO runs (job, id, params, instance, state, lease_until, started_at, document)
		VALUES (?, ?, ?, ?, 'running', ?, ?, ?) RETURNING seq`,
		r.Job, r.ID, r.Params, r.Instance, stamp(t.now.Add(r.Lease)), stamp(now), document).Scan(&rec.Seq)
	return rec, err
}

// Renew implements claim.Ledger. A lease that has ended stays ended, since
// somebody may have settled the run's claims.
func (s *DB) Renew(ctx context.Context, run claim.RunRef, lease time.Duration) (bool, error) {
	var renewed bool
	err := s.write(ctx, "renew the lease of run "+run.ID, func(t *tx) error {
		n, err := t.change(ctx, `UPDATE runs SET lease_until = CASE WHEN lease_until > ?1 THEN lease_until ELSE ?1 END
			WHERE seq = ?2 AND job = ?3 AND id = ?4 AND state = 'running' AND lease_until > ?5`,
			stamp(t.now.Add(lease)), run.Seq, run.Job, run.ID, stamp(t.now))
		renewed = n == 1
		return err
	})
	return renewed && err == nil, err
}

// Save implements claim.Runs. A finished run keeps its last document.
func (s *DB) Save(ctx context.Context, run claim.RunRef, d claim.Document) error {
	document, err := asJSON(d)
	if err != nil {
		return err
	}
	return s.write(ctx, "save run "+run.ID, func(t *tx) error {
		return t.changeRunning(ctx, run, `document = ?`, document)
	})
}

// Finish implements claim.Runs. Only the first end counts.
func (s *DB) Finish(ctx context.Context, run claim.RunRef, d claim.Document, pins bool) error {
	document, err := asJSON(d)
	if err != nil {
		return err
	}
	return s.write(ctx, "finish run "+run.ID, func(t *tx) error {
		return t.changeRunning(ctx, run, `state = 'finished', document = ?, ended_at = ?, pins = ?`, document, stamp(t.now), pins)
	})
}

// changeRunning changes a run that is not finished. For a finished one it does
// nothing; a run that was never begun is an error.
func (t *tx) changeRunning(ctx context.Context, run claim.RunRef, set string, args ...any) error {
	n, err := t.change(ctx, `UPDATE runs SET `+set+` WHERE seq = ? AND job = ? AND id = ? AND state = 'running'`,
		append(args, run.Seq, run.Job, run.ID)...)
	if err != nil || n == 1 {
		return err
	}
	var one int
	known, err := t.scan(ctx, []any{&one}, `SELECT 1 FROM runs WHERE seq = ? AND job = ? AND id = ?`, run.Seq, run.Job, run.ID)
	if err == nil && !known {
		err = claim.ErrNoRun
	}
	return err
}

// Find implements claim.Runs.
func (s *DB) Find(ctx context.Context, job, id string) (claim.RunRecord, error) {
	var rec claim.RunRecord
	err := s.read(ctx, "find run "+id, func(t *tx) error {
		r, known, err := t.newestRun(ctx, job, id)
		if err == nil && !known {
			err = claim.ErrNoRun
		}
		rec = r.RunRecord
		return err
	})
	return rec, err
}

// Recent implements claim.Runs.
func (s *DB) Recent(ctx context.Context, job string, limit int) ([]claim.RunRecord, error) {
	return s.runs(ctx, "list runs", `WHERE ?1 IN ('', job) ORDER BY seq DESC LIMIT ?2`, func(*tx) []any { return []any{job, limit} })
}

// Abandoned implements claim.Runs; job "" means all jobs.
func (s *DB) Abandoned(ctx context.Context, job string) ([]claim.RunRecord, error) {
	return s.runs(ctx, "list abandoned runs",
		`WHERE ?1 IN ('', job) AND state = 'running' AND lease_until <= ?2 ORDER BY seq`, func(t *tx) []any { return []any{job, stamp(t.now)} })
}

// runs lists runs by a condition and its parameters.
func (s *DB) runs(ctx context.Context, doing, where string, args func(*tx) []any) ([]claim.RunRecord, error) {
	var recs []claim.RunRecord
	err := s.read(ctx, doing, func(t *tx) error {
		recs = nil
		kept, err := list(ctx, t, t.scanRun, `SELECT `+runColumns+` FROM runs `+where, args(t)...)
		for _, r := range kept {
			recs = append(recs, r.RunRecord)
		}
		return err
	})
	return recs, err
}

// Ran implements claim.Ledger.
func (s *DB) Ran(ctx context.Context, job string) (bool, error) {
	var ran bool
	err := s.read(ctx, "see whether the job ever ran", func(t *tx) error {
		return t.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM messages WHERE job = ?)`, job).Scan(&ran)
	})
	return ran, err
}

// Paused implements claim.Ledger.
func (s *DB) Paused(ctx context.Context, job string) (time.Time, error) {
	var until time.Time
	err := s.read(ctx, "see whether the job is paused", func(t *tx) error {
		until = time.Time{}
		_, err := t.scan(ctx, []any{stamped{&until}}, `SELECT until FROM pauses WHERE job = ? AND until > ?`, job, stamp(t.now))
		return err
	})
	return until, err
}

// Pause implements claim.Ledger. A zero time ends a pause.
func (s *DB) Pause(ctx context.Context, job string, until time.Time) error {
	return s.write(ctx, "pause the job", func(t *tx) error {
		return t.one(ctx, `INSERT INTO pauses (job, until) VALUES (?, ?)
			ON CONFLICT (job) DO UPDATE SET until = excluded.until`, job, stamp(until))
	})
}
