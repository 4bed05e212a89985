package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/key"
)

// keyColumns are read by scanKey, in this order.
const keyColumns = `key, state, owner, note, takeover, claimed_at, lease_until, ended_at, claims, result, settled_by, why, token, took_from, request_id`

// heldKey is a key with what nobody is told of its last claim.
type heldKey struct {
	key.Entry
	token     string
	tookFrom  string // whose claim the last one took over
	requestID string // of the request that won it
}

func scanKey(row scanner) (heldKey, error) {
	var h heldKey
	var result string
	err := row.Scan(&h.Key, &h.State, &h.Owner, &h.Note, &h.Takeover, stamped{&h.ClaimedAt}, stamped{&h.LeaseUntil}, stamped{&h.EndedAt},
		&h.Claims, &result, &h.SettledBy, &h.Why, &h.token, &h.tookFrom, &h.requestID)
	if result != "" {
		h.Result = json.RawMessage(result)
	}
	return h, err
}

// changedColumns are read by scanChanged, in this order: what a caller cannot know of
// the key that it has changed.
const changedColumns = `owner, claims, took_from`

// scanChanged reports whether a key was changed, and reads what is not known of it.
func (h *heldKey) scanChanged(row scanner) (changed bool, err error) {
	if row == nil {
		return true, nil
	}
	_, changed, err = found(h, row.Scan(&h.Owner, &h.Claims, &h.tookFrom))
	return changed, err
}

// keyNamed reads one key.
func keyNamed(name string) query {
	return query{text: `SELECT ` + keyColumns + ` FROM keys k WHERE k.key = ?`, args: []any{name}}
}

// Find implements key.Book.
func (k *Keys) Find(ctx context.Context, name string) (e key.Entry, events []key.Event, err error) {
	err = k.ledger.read(ctx, "find a key", func(t *tx) error {
		q := keyNamed(name)
		h, known, err := found(scanKey(t.QueryRowContext(ctx, q.text, q.args...)))
		switch {
		case err != nil:
			return err
		case !known:
			return key.ErrNoKey
		}
		e = h.At(t.now)
		events, err = list(ctx, t, scanKeyEvent, `SELECT at, who, text FROM key_events WHERE key = ? ORDER BY number`, name)
		return err
	})
	return e, events, err
}

func scanKeyEvent(row scanner) (key.Event, error) {
	var e key.Event
	err := row.Scan(stamped{&e.At}, &e.Who, &e.Text)
	return e, err
}

// List implements key.Book.
func (k *Keys) List(ctx context.Context, f key.Filter) ([]key.Entry, error) {
	where, args := `k.key > ?`, []any{f.After}
	if f.Prefix != "" {
		// Keys that begin with a text are those between it and the same text with the last
		// character of Unicode behind it.
		where += ` AND k.key >= ? AND k.key < ?`
		args = append(args, f.Prefix, f.Prefix+"\U0010FFFF")
	}
	var entries []key.Entry
	err := k.ledger.read(ctx, "list keys", func(t *tx) error {
		where, args := t.inState(f.State, where, args)
		held, err := list(ctx, t, scanKey, fmt.Sprintf(`SELECT %s FROM keys k WHERE %s ORDER BY k.key LIMIT ?`, keyColumns, where),
			append(args, f.Limit)...)
		entries = make([]key.Entry, len(held))
		for i, h := range held {
			entries[i] = h.At(t.now)
		}
		return err
	})
	return entries, err
}

// overdue is the condition that a key is unknown although that is not written down
// yet; its parameter is the time.
const overdue = `k.state = 'claimed' AND k.takeover = 'never' AND k.lease_until <= ?`

// inState adds the condition that a key is in a state now.
func (t *tx) inState(s key.State, where string, args []any) (string, []any) {
	switch s {
	case "":
	case key.Claimed:
		return where + ` AND k.state = 'claimed' AND NOT (` + overdue + `)`, append(args, stamp(t.now))
	case key.Unknown:
		return where + ` AND (k.state = 'unknown' OR ` + overdue + `)`, append(args, stamp(t.now))
	case key.Done, key.Released:
		return where + ` AND k.state = ?`, append(args, string(s))
	}
	return where, args
}

// keyEvent writes down what happened to a key.
func (t *tx) keyEvent(ctx context.Context, name, who, text string) error {
	return t.one(ctx, `INSERT INTO key_events (at, key, who, text) VALUES (?, ?, ?, ?)`, stamp(t.now), name, who, text)
}

// KeyLedger stands where the alerts of jobs name their job.
const KeyLedger = "key ledger"

// unknownKey writes down that a key became unknown, and alerts.
func (t *tx) unknownKey(ctx context.Context, name, owner, why string) error {
	if err := t.keyEvent(ctx, name, owner, "unknown: "+why); err != nil {
		return err
	}
	return t.queue(ctx, claim.RunRef{Job: KeyLedger}, claim.Alert{
		Kind: claim.AlertUnknown, Cause: "key", Rows: []claim.AlertRow{{Key: name, Detail: "claimed by " + owner}},
		Seen: why, Done: "nobody gets this key until it is settled",
		Todo: "find out whether it was carried out, then: sheetclaim key done KEY --why TEXT, or sheetclaim key release KEY --why TEXT",
	})
}

// Expire writes down which claims without takeover became unknown, with an alert for
// each, and answers how many. They are unknown from the moment their lease ended.
func (k *Keys) Expire(ctx context.Context) (int, error) {
	n := 0
	err := k.ledger.write(ctx, "find keys that became unknown", func(t *tx) error {
		late, err := list(ctx, t, scanKey, `SELECT `+keyColumns+` FROM keys k WHERE `+overdue+` ORDER BY k.lease_until LIMIT 1000`, stamp(t.now))
		if err != nil {
			return err
		}
		n = len(late)
		for _, h := range late {
			if err := t.expireKey(ctx, h.Entry); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

func (t *tx) expireKey(ctx context.Context, e key.Entry) error {
	if err := t.one(ctx, `UPDATE keys SET state = 'unknown', ended_at = lease_until WHERE key = ? AND state = 'claimed'`, e.Key); err != nil {
		return err
	}
	return t.unknownKey(ctx, e.Key, e.Owner, "the lease ended at "+e.LeaseUntil.UTC().Format(time.RFC3339)+" and nobody said how it went")
}

// pruneMost is how many keys one transaction forgets, so that claims get their turn.
const pruneMost = 2000

// Prune implements key.Book.
func (k *Keys) Prune(ctx context.Context, p key.Prune) (int64, error) {
	var cutoff string
	var old, ended int64
	// To count many keys takes longer than a try of a transaction may.
	err := k.ledger.once(ctx, reading, func(t *tx) error {
		if err := t.engine.unhurried(ctx, t); err != nil {
			return err
		}
		cutoff = stamp(t.now.AddDate(0, 0, -p.Days))
		const count = `SELECT count(*) FROM keys k WHERE k.state IN ('done', 'released')`
		if err := t.QueryRowContext(ctx, count).Scan(&ended); err != nil {
			return err
		}
		return t.QueryRowContext(ctx, count+` AND k.ended_at < ?`, cutoff).Scan(&old)
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("ledger: count old keys: %w", k.ledger.engine.explain(err))
	case p.Count || old == 0:
		return old, nil
	case !p.Force && old*100 >= ended*key.Greedy:
		return 0, &key.GreedyError{Old: old, Ended: ended}
	}
	var gone int64
	for {
		n, err := k.pruneSome(ctx, cutoff)
		gone += n
		if err != nil || n < pruneMost {
			return gone, err
		}
	}
}

// pruneSome forgets the oldest keys that ended before a time.
func (k *Keys) pruneSome(ctx context.Context, cutoff string) (n int64, err error) {
	const oldest = `SELECT key FROM keys WHERE state IN ('done', 'released') AND ended_at < ? ORDER BY ended_at, key LIMIT ?`
	err = k.ledger.write(ctx, "prune keys", func(t *tx) error {
		if _, err := t.change(ctx, `DELETE FROM key_events WHERE key IN (`+oldest+`)`, cutoff, pruneMost); err != nil {
			return err
		}
		n, err = t.change(ctx, `DELETE FROM keys WHERE key IN (`+oldest+`)`, cutoff, pruneMost)
		return err
	})
	return n, err
}
