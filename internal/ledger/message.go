package ledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// messageColumns are read by scanMessage, in this order.
const messageColumns = `m.job, m.spreadsheet, m.key, m.generation, m.state, m.outcome, m.attempts, m.retry_at,
	m.run_seq, m.run_id, m.claimed_at, m.claim, m.mark, m.a1_range, m.tab_id, m.tab_title, m.row_number, m.before_claim,
	m.status, m.reason, m.message_id, m.reply, m.settled_at, m.from_status, m.wish, m.settled_by`

func scanMessage(row scanner) (claim.Message, error) {
	var m claim.Message
	err := row.Scan(&m.Job, &m.Spreadsheet, &m.Key, &m.Generation, &m.State, &m.Outcome, &m.Attempts, stamped{&m.RetryAt},
		&m.Run.Seq, &m.Run.ID, stamped{&m.ClaimedAt}, &m.Claim, &m.Mark, &m.Range, &m.Tab.ID, &m.Tab.Title, &m.Row, fromJSON{&m.Before},
		&m.Status, &m.Reason, &m.MessageID, &m.Reply, stamped{&m.SettledAt}, &m.From, &m.Wish, &m.SettledBy)
	m.Run.Job = m.Job
	return m, err
}

// message loads one generation of a key; known is false when there is none.
func (t *tx) message(ctx context.Context, k claim.MessageKey) (m claim.Message, known bool, err error) {
	return found(scanMessage(t.QueryRowContext(ctx, `SELECT `+messageColumns+` FROM messages m
		WHERE m.job = ? AND m.spreadsheet = ? AND m.key = ? AND m.generation = ?`, k.Job, k.Spreadsheet, k.Key, k.Generation)))
}

// newest loads the newest generation of a key.
func (t *tx) newest(ctx context.Context, b claim.Book, key string) (m claim.Message, known bool, err error) {
	return found(scanMessage(t.QueryRowContext(ctx, `SELECT `+messageColumns+` FROM messages m
		WHERE m.job = ? AND m.spreadsheet = ? AND m.key = ? ORDER BY m.generation DESC LIMIT 1`, b.Job, b.Spreadsheet, key)))
}

// found turns "no rows" into an answer.
func found[T any](v T, err error) (T, bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return v, false, nil
	}
	return v, err == nil, err
}

// insert adds a generation that was not there.
func (t *tx) insert(ctx context.Context, m claim.Message) error {
	before, err := asJSON(m.Before)
	if err != nil {
		return err
	}
	return t.one(ctx, `INSERT INTO messages (job, spreadsheet, key, generation, state, outcome, attempts, retry_at,
			run_seq, run_id, claimed_at, claim, mark, a1_range, tab_id, tab_title, row_number, before_claim,
			status, reason, message_id, reply, settled_at, from_status, wish, settled_by, changed_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.Job, m.Spreadsheet, m.Key, m.Generation, m.State, m.Outcome, m.Attempts, stamp(m.RetryAt),
		m.Run.Seq, m.Run.ID, stamp(m.ClaimedAt), m.Claim, m.Mark, m.Range, m.Tab.ID, m.Tab.Title, m.Row, before,
		m.Status, m.Reason, m.MessageID, m.Reply, stamp(m.SettledAt), m.From, m.Wish, m.SettledBy, stamp(t.now))
}

// replace puts a message in the place of what it was, but only while the ledger
// still holds it in that state and for that claim. There is no other way to change
// a state.
func (t *tx) replace(ctx context.Context, was, m claim.Message) error {
	before, err := asJSON(m.Before)
	if err != nil {
		return err
	}
	return t.one(ctx, `UPDATE messages SET state = ?, outcome = ?, attempts = ?, retry_at = ?,
			run_seq = ?, run_id = ?, claimed_at = ?, claim = ?, mark = ?, a1_range = ?, tab_id = ?, tab_title = ?, row_number = ?,
			before_claim = ?, status = ?, reason = ?, message_id = ?, reply = ?, settled_at = ?,
			from_status = ?, wish = ?, settled_by = ?, changed_at = ?
		WHERE job = ? AND spreadsheet = ? AND key = ? AND generation = ? AND state = ? AND claim = ?`,
		m.State, m.Outcome, m.Attempts, stamp(m.RetryAt),
		m.Run.Seq, m.Run.ID, stamp(m.ClaimedAt), m.Claim, m.Mark, m.Range, m.Tab.ID, m.Tab.Title, m.Row,
		before, m.Status, m.Reason, m.MessageID, m.Reply, stamp(m.SettledAt), m.From, m.Wish, m.SettledBy, stamp(t.now),
		was.Job, was.Spreadsheet, was.Key, was.Generation, was.State, was.Claim)
}
