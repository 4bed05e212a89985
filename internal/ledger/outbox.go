package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Report implements claim.Ledger.
func (s *DB) Report(ctx context.Context, run claim.RunRef, rs []claim.Report) error {
	return s.write(ctx, "report", func(t *tx) error {
		for _, r := range rs {
			news, err := t.isNews(ctx, run, r)
			if err != nil {
				return err
			}
			if !news || r.Once != "" && r.Text == "" { // there is nothing to report any more
				continue
			}
			if err := t.queue(ctx, run, r.Alert); err != nil {
				return err
			}
			e := Event{Run: run.ID, Text: fmt.Sprintf("reported %s: %s", r.Alert.Kind, cmp.Or(r.Text, r.Alert.Seen))}
			e.Job = cmp.Or(r.Alert.Job, run.Job)
			if len(r.Alert.Rows) == 1 {
				e.Key = r.Alert.Rows[0].Key
			}
			if err := t.event(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// isNews reports whether a report says something that its name did not say last
// time, and remembers it.
func (t *tx) isNews(ctx context.Context, run claim.RunRef, r claim.Report) (bool, error) {
	if r.Once == "" {
		return true, nil
	}
	n, err := t.change(ctx, `INSERT INTO reports (job, name, text, at) VALUES (?, ?, ?, ?)
		ON CONFLICT (job, name) DO UPDATE SET text = excluded.text, at = excluded.at WHERE reports.text <> excluded.text`,
		cmp.Or(r.Alert.Job, run.Job), r.Once, r.Text, stamp(t.now))
	return n == 1, err
}

// queue writes an alert down, due on every route.
func (t *tx) queue(ctx context.Context, run claim.RunRef, a claim.Alert) error {
	rows, err := asJSON(a.Rows)
	if err != nil {
		return err
	}
	var number int64
	err = t.QueryRowContext(ctx, `INSERT INTO alerts (at, kind, job, run_id, cause, rows, seen, done, todo)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`,
		stamp(t.now), a.Kind, cmp.Or(a.Job, run.Job), cmp.Or(a.Run, run.ID), a.Cause, rows, a.Seen, a.Done, a.Todo).Scan(&number)
	if err != nil {
		return fmt.Errorf("queue alert: %w", err)
	}
	for _, route := range t.routes {
		if err := t.one(ctx, `INSERT INTO deliveries (alert, route) VALUES (?, ?)`, number, route); err != nil {
			return fmt.Errorf("queue alert on %s: %w", route, err)
		}
	}
	return nil
}

const alertColumns = `a.number, a.at, a.kind, a.job, a.run_id, a.cause, a.rows, a.seen, a.done, a.todo`

// scanAlert reads the alertColumns and the tries of one row.
func scanAlert(row scanner) (claim.QueuedAlert, error) {
	var a claim.QueuedAlert
	err := row.Scan(&a.Number, stamped{&a.At}, &a.Kind, &a.Job, &a.Run, &a.Cause, fromJSON{&a.Rows}, &a.Seen, &a.Done, &a.Todo,
		&a.Tries)
	return a, err
}

// Queued implements claim.Outbox.
func (s *DB) Queued(ctx context.Context, route string, now time.Time) ([]claim.QueuedAlert, error) {
	var as []claim.QueuedAlert
	err := s.read(ctx, "list alerts for "+route, func(t *tx) (err error) {
		as, err = list(ctx, t, scanAlert, `SELECT `+alertColumns+`, d.tries
			FROM deliveries d JOIN alerts a ON a.number = d.alert
			WHERE d.route = ?1 AND d.delivered_at = '' AND d.next_try <= ?2 AND d.reserved_until <= ?2
			ORDER BY a.number`, route, stamp(now))
		return err
	})
	return as, err
}

// LastDelivered implements claim.Outbox.
func (s *DB) LastDelivered(ctx context.Context, route, job string, kind claim.AlertKind, cause string) (time.Time, error) {
	var last time.Time
	err := s.read(ctx, "find the last alert on "+route, func(t *tx) error {
		return t.QueryRowContext(ctx, `SELECT coalesce(max(d.delivered_at), '')
			FROM alerts a JOIN deliveries d ON d.alert = a.number
			WHERE d.route = ? AND a.job = ? AND a.kind = ? AND a.cause = ?`, route, job, kind, cause).Scan(stamped{&last})
	})
	return last, err
}

// errTaken ends a reservation that did not get all it wanted.
var errTaken = errors.New("another delivery has some of these alerts")

// Reserve implements claim.Outbox.
func (s *DB) Reserve(ctx context.Context, route string, numbers []int64, by string, d time.Duration) (bool, error) {
	err := s.write(ctx, "reserve alerts on "+route, func(t *tx) error {
		n, err := t.deliveries(ctx, route, numbers, `reserved_by = ?, reserved_until = ?`, `reserved_until <= ?`,
			by, stamp(t.now.Add(d)), stamp(t.now))
		if err == nil && n != int64(len(numbers)) {
			err = errTaken
		}
		return err
	})
	if errors.Is(err, errTaken) {
		return false, nil
	}
	return err == nil, err
}

// Delivered implements claim.Outbox.
func (s *DB) Delivered(ctx context.Context, route string, numbers []int64, now time.Time) error {
	return s.write(ctx, "write down a delivery on "+route, func(t *tx) error {
		_, err := t.deliveries(ctx, route, numbers, `delivered_at = ?`, `TRUE`, stamp(now))
		return err
	})
}

// Undelivered implements claim.Outbox.
func (s *DB) Undelivered(ctx context.Context, route string, numbers []int64, by, why string, next time.Time) error {
	return s.write(ctx, "write down a failed delivery on "+route, func(t *tx) error {
		_, err := t.deliveries(ctx, route, numbers, `tries = tries + 1, problem = ?, next_try = ?, reserved_until = ''`, `reserved_by = ?`,
			why, stamp(next), by)
		return err
	})
}

// deliveries changes deliveries that are still due and meet a condition; one that went
// out stays so. args are those of set and then of the condition.
func (t *tx) deliveries(ctx context.Context, route string, numbers []int64, set, condition string, args ...any) (int64, error) {
	wanted, err := t.engine.array(numbers)
	if err != nil {
		return 0, err
	}
	return t.change(ctx, `UPDATE deliveries SET `+set+` WHERE `+condition+`
		AND route = ? AND delivered_at = '' AND `+t.engine.oneOf(`alert`), append(args, route, wanted)...)
}
