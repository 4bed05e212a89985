package ledger

import (
	"context"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Event is one entry of the record of events. Where it is about no message, the
// message key holds the job alone.
type Event struct {
	claim.MessageKey
	At       time.Time
	Run      string
	From, To claim.State
	Text     string
}

// Held implements claim.Ledger.
func (s *DB) Held(ctx context.Context, run claim.RunRef) ([]claim.Message, error) {
	var ms []claim.Message
	err := s.read(ctx, "list a run's messages", func(t *tx) (err error) {
		ms, err = list(ctx, t, scanMessage, `SELECT `+messageColumns+` FROM messages m
			WHERE m.job = ? AND m.run_seq = ? ORDER BY m.row_number, m.key`, run.Job, run.Seq)
		return err
	})
	return ms, err
}

// Messages answers every message of a job, as it is now.
func (s *DB) Messages(ctx context.Context, job string) ([]claim.Message, error) {
	var ms []claim.Message
	err := s.read(ctx, "list messages", func(t *tx) (err error) {
		ms, err = list(ctx, t, scanMessage, `SELECT `+messageColumns+` FROM messages m
			WHERE m.job = ? ORDER BY m.spreadsheet, m.key, m.generation`, job)
		return err
	})
	return ms, err
}

// Attempts answers every try to hand a message over, oldest first.
func (s *DB) Attempts(ctx context.Context, k claim.MessageKey) ([]claim.Attempt, error) {
	var as []claim.Attempt
	err := s.read(ctx, "list attempts", func(t *tx) (err error) {
		as, err = list(ctx, t, scanAttempt, `SELECT number, verdict, step, reply, message_id, at FROM attempts
			WHERE job = ? AND spreadsheet = ? AND key = ? AND generation = ? ORDER BY seq`,
			k.Job, k.Spreadsheet, k.Key, k.Generation)
		return err
	})
	return as, err
}

func scanAttempt(row scanner) (claim.Attempt, error) {
	var a claim.Attempt
	err := row.Scan(&a.Number, &a.Verdict, &a.Step, &a.Reply, &a.MessageID, stamped{&a.At})
	return a, err
}

// Events answers what happened to the messages of a job, oldest first.
func (s *DB) Events(ctx context.Context, job string) ([]Event, error) {
	var es []Event
	err := s.read(ctx, "list events", func(t *tx) (err error) {
		es, err = list(ctx, t, scanEvent, `SELECT at, job, spreadsheet, key, generation, run_id, from_state, to_state, text
			FROM events WHERE job = ? ORDER BY number`, job)
		return err
	})
	return es, err
}

func scanEvent(row scanner) (Event, error) {
	var e Event
	err := row.Scan(stamped{&e.At}, &e.Job, &e.Spreadsheet, &e.Key, &e.Generation, &e.Run, &e.From, &e.To, &e.Text)
	return e, err
}

// Alerts answers every alert, delivered or not, oldest first. Tries is the
// greatest number of failed deliveries on any route.
func (s *DB) Alerts(ctx context.Context) ([]claim.QueuedAlert, error) {
	var as []claim.QueuedAlert
	err := s.read(ctx, "list alerts", func(t *tx) (err error) {
		as, err = list(ctx, t, scanAlert, `SELECT `+alertColumns+`,
			(SELECT coalesce(max(tries), 0) FROM deliveries WHERE alert = a.number)
			FROM alerts a ORDER BY a.number`)
		return err
	})
	return as, err
}

// AlertsOf answers the alerts of a run since a moment, oldest first, and how they fare
// on each route. The moment tells runs of one name apart.
func (s *DB) AlertsOf(ctx context.Context, job, run string, since time.Time) ([]claim.KeptAlert, error) {
	var kept []claim.KeptAlert
	err := s.read(ctx, "list a run's alerts", func(t *tx) error {
		kept = nil
		as, err := list(ctx, t, scanAlert, `SELECT `+alertColumns+`, 0
			FROM alerts a WHERE a.job = ? AND a.run_id = ? AND a.at >= ? ORDER BY a.number`, job, run, stamp(since))
		for _, a := range as {
			ds, err := list(ctx, t, scanDelivery, `SELECT route, delivered_at, tries, problem, next_try
				FROM deliveries WHERE alert = ? ORDER BY route`, a.Number)
			if err != nil {
				return err
			}
			for _, d := range ds {
				a.Tries = max(a.Tries, d.Tries)
			}
			kept = append(kept, claim.KeptAlert{QueuedAlert: a, Deliveries: ds})
		}
		return err
	})
	return kept, err
}

func scanDelivery(row scanner) (claim.Delivery, error) {
	var d claim.Delivery
	err := row.Scan(&d.Route, stamped{&d.At}, &d.Tries, &d.Problem, stamped{&d.Next})
	return d, err
}

// Answers answers what people said of the messages of a job that waited for them,
// newest first. Key "" means all keys.
func (s *DB) Answers(ctx context.Context, job, key string, limit int) ([]claim.Answer, error) {
	var as []claim.Answer
	err := s.read(ctx, "list what people settled", func(t *tx) (err error) {
		as, err = list(ctx, t, scanAnswer, `SELECT at, job, spreadsheet, key, generation, text FROM events
			WHERE job = ?1 AND text LIKE 'settled as %' AND ?2 IN ('', key) ORDER BY number DESC LIMIT ?3`, job, key, limit)
		return err
	})
	return as, err
}

func scanAnswer(row scanner) (claim.Answer, error) {
	var a claim.Answer
	err := row.Scan(stamped{&a.At}, &a.Job, &a.Spreadsheet, &a.Key, &a.Generation, &a.Text)
	return a, err
}
