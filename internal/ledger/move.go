package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Move implements claim.Ledger. It never moves a claim to claimed: that is Take's,
// which asks more.
func (s *DB) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	var moved []bool
	err := s.write(ctx, "move claims", func(t *tx) error {
		moved = make([]bool, len(ms))
		leased, err := t.leased(ctx, run)
		if err != nil {
			return err
		}
		for i, mv := range ms {
			if mv.Lease && !leased {
				continue
			}
			if moved[i], err = t.move(ctx, run, mv); err != nil {
				return fmt.Errorf("key %q to %s: %w", mv.Key, mv.To, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

// move carries out one move, with everything that is written down with it.
func (t *tx) move(ctx context.Context, run claim.RunRef, mv claim.Move) (bool, error) {
	was, known, err := t.message(ctx, mv.MessageKey)
	if err != nil {
		return false, err
	}
	if !known || was.Claim != mv.Claim || !allowed(was, mv) {
		return false, nil
	}
	m := was
	if mv.Set != nil {
		mv.Set(&m)
	}
	m.MessageKey, m.Claim, m.State = was.MessageKey, was.Claim, mv.To // not Set's to choose
	if err := t.replace(ctx, was, m); err != nil {
		return false, err
	}
	if mv.Attempt != nil {
		if err := t.attempt(ctx, m, *mv.Attempt); err != nil {
			return false, err
		}
	}
	for _, a := range mv.Alerts {
		if err := t.queue(ctx, run, a); err != nil {
			return false, err
		}
	}
	return true, t.event(ctx, Event{MessageKey: m.MessageKey, Run: run.ID, From: was.State, To: m.State, Text: mv.Event})
}

// allowed judges a move by the message as the ledger holds it.
func allowed(m claim.Message, mv claim.Move) bool {
	return mv.To != claim.Claimed &&
		slices.Contains(mv.From, m.State) &&
		claim.CanMove(m.State, mv.To) &&
		(mv.If == nil || mv.If(m))
}

// attempt writes a try down: first without a verdict, then with it. A verdict may
// be replaced by a better one, but never by none.
func (t *tx) attempt(ctx context.Context, m claim.Message, a claim.Attempt) error {
	_, err := t.ExecContext(ctx, `INSERT INTO attempts
			(job, spreadsheet, key, generation, number, claim, verdict, step, reply, message_id, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (job, spreadsheet, key, generation, number, claim) DO UPDATE SET verdict = excluded.verdict, step = excluded.step, reply = excluded.reply,
			message_id = excluded.message_id, at = excluded.at
		WHERE excluded.verdict <> ''`,
		m.Job, m.Spreadsheet, m.Key, m.Generation, a.Number, m.Claim, a.Verdict, a.Step, a.Reply, a.MessageID, stamp(a.At))
	if err != nil {
		return fmt.Errorf("write attempt %d: %w", a.Number, err)
	}
	return nil
}

// event appends to the record of events, at the transaction's time.
func (t *tx) event(ctx context.Context, e Event) error {
	err := t.one(ctx, `INSERT INTO events (at, job, spreadsheet, key, generation, run_id, from_state, to_state, text)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		stamp(t.now), e.Job, e.Spreadsheet, e.Key, e.Generation, e.Run, e.From, e.To, e.Text)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
