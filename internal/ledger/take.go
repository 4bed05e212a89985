package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Lookup implements claim.Ledger.
func (s *DB) Lookup(ctx context.Context, b claim.Book, keys []string) (map[string]claim.Message, error) {
	wanted, err := s.engine.array(keys)
	if err != nil {
		return nil, err
	}
	var newest map[string]claim.Message
	err = s.read(ctx, "look keys up", func(t *tx) error {
		ms, err := list(ctx, t, scanMessage, `SELECT `+messageColumns+` FROM messages m
			WHERE m.job = ? AND m.spreadsheet = ? AND `+s.engine.oneOf(`m.key`)+`
			ORDER BY m.key, m.generation`, b.Job, b.Spreadsheet, wanted)
		newest = make(map[string]claim.Message, len(ms))
		for _, m := range ms {
			newest[m.Key] = m // generations ascend, the last one stays
		}
		return err
	})
	return newest, err
}

// waits is the condition of a message m that waits for a person, or that a person
// wants sent again.
const waits = `(m.wish OR m.outcome = 'unknown' AND m.settled_by = '')
	AND NOT EXISTS (SELECT 1 FROM messages later WHERE later.job = m.job AND later.spreadsheet = m.spreadsheet
		AND later.key = m.key AND later.generation > m.generation AND later.state <> 'returned')`

// Waiting implements claim.Ledger. A generation that came after settles what the one
// before left open, and uses up the wish for it once it is under way.
func (s *DB) Waiting(ctx context.Context, b claim.Book) ([]claim.Message, error) {
	var ms []claim.Message
	err := s.read(ctx, "find what waits for a person", func(t *tx) (err error) {
		ms, err = list(ctx, t, scanMessage, `SELECT `+messageColumns+` FROM messages m
			WHERE m.job = ?1 AND ?2 IN ('', m.spreadsheet) AND `+waits+`
			ORDER BY m.settled_at, m.spreadsheet, m.key`, b.Job, b.Spreadsheet)
		return err
	})
	return ms, err
}

// Take implements claim.Ledger.
func (s *DB) Take(ctx context.Context, run claim.RunRef, takes []claim.Take) ([]bool, error) {
	var taken []bool
	err := s.write(ctx, "take keys", func(t *tx) error {
		taken = make([]bool, len(takes))
		leased, err := t.leased(ctx, run)
		if err != nil || !leased {
			return err
		}
		for _, i := range byKey(takes) {
			if taken[i], err = t.take(ctx, run, takes[i]); err != nil {
				return fmt.Errorf("key %q: %w", takes[i].Key, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// byKey is the order in which keys are taken: one order for all, or two runs would
// wait for each other until the database finds out.
func byKey(takes []claim.Take) []int {
	order := make([]int, len(takes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(takes[a].Key, takes[b].Key) })
	return order
}

// take gives one key to a run, if it is free.
func (t *tx) take(ctx context.Context, run claim.RunRef, want claim.Take) (bool, error) {
	if want.Key == "" || want.Claim == "" || want.Mark == "" {
		return false, errors.New("a take needs a key, a claim text and a mark")
	}
	was, known, err := t.newest(ctx, want.Book, want.Key)
	if err != nil {
		return false, err
	}
	m := claim.Message{
		MessageKey: want.MessageKey, State: claim.Claimed, Attempts: want.Attempts, Run: run, ClaimedAt: t.now,
		Claim: want.Claim, Mark: want.Mark, Range: want.Range, Tab: want.Tab, Row: want.Row,
	}
	switch {
	case !known && want.Generation == 1,
		known && want.Generation == was.Generation+1 && was.State.Ended():
		was.State = "" // for the event: a generation begins from nothing
		err = t.insert(ctx, m)
	case known && want.Generation == was.Generation && again(was):
		// What the last claim left (status, reason, reply) goes; its attempts stay, in
		// number and in their own table.
		m.Attempts = max(was.Attempts, want.Attempts)
		err = t.replace(ctx, was, m)
	default:
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, t.event(ctx, Event{
		MessageKey: m.MessageKey, Run: run.ID, From: was.State, To: m.State,
		Text: fmt.Sprintf("taken for row %d with %q", m.Row, m.Claim),
	})
}

// again reports whether a message may be claimed again in its own generation.
func again(m claim.Message) bool {
	return m.State == claim.Returned || m.State == claim.Verified && m.Outcome == claim.Failed
}
