package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
)

var _ key.Book = (*Keys)(nil)

// Keys is the key ledger in a ledger. Calls that wait at the same time share one
// transaction, and so one wait for the disk.
type Keys struct {
	ledger *DB
	group  group
}

// Keys answers the ledger's key ledger. Callers that are to share transactions have
// to share it.
func (s *DB) Keys() *Keys { return &Keys{ledger: s} }

// Claim implements key.Book.
func (k *Keys) Claim(ctx context.Context, c key.Claim) (a key.Answer, err error) {
	token := strings.ToLower(rand.Text())
	err = k.together(ctx, keyCall{
		key: c.Key, rank: 1,
		change: func(now time.Time) change { return claimKey(c, token, now) },
		judge: func(ctx context.Context, t *tx, h heldKey, changed bool) (err error) {
			a, err = t.claimedKey(ctx, c, h, changed)
			return err
		},
	})
	return a, err
}

// claiming gives a key to a claim; what follows says what becomes of a key that is there.
const claiming = `INSERT INTO keys AS k (key, state, token, owner, note, takeover, claimed_at, lease_until, request_id)
	VALUES (?, 'claimed', ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO `

// claimKey gives a key to a claim when it may have it. Most keys are new.
func claimKey(c key.Claim, token string, now time.Time) change {
	q := query{
		usual: claiming + `NOTHING`,
		text: claiming + `UPDATE SET state = 'claimed', token = excluded.token, owner = excluded.owner, note = excluded.note,
			takeover = excluded.takeover, claimed_at = excluded.claimed_at, lease_until = excluded.lease_until, ended_at = '',
			claims = k.claims + 1, took_from = CASE WHEN k.state = 'claimed' THEN k.owner ELSE '' END,
			result = '', settled_by = '', why = '', request_id = excluded.request_id
		WHERE k.state = 'released'
			OR k.state = 'claimed' AND k.takeover = 'expired' AND excluded.takeover = 'expired' AND k.lease_until <= excluded.claimed_at
		RETURNING ` + changedColumns,
		args: []any{c.Key, token, c.Owner, c.Note, string(c.Takeover), stamp(now), stamp(now.Add(c.Lease)), c.RequestID},
	}
	return change{q, heldKey{token: token, requestID: c.RequestID, Entry: key.Entry{
		Key: c.Key, State: key.Claimed, Owner: c.Owner, Note: c.Note, Takeover: c.Takeover,
		ClaimedAt: now, LeaseUntil: now.Add(c.Lease), Claims: 1,
	}}}
}

// claimedKey answers a claim.
func (t *tx) claimedKey(ctx context.Context, c key.Claim, h heldKey, won bool) (key.Answer, error) {
	repeated := !won && h.State == key.Claimed && c.RequestID != "" && h.requestID == c.RequestID
	if !won && !repeated {
		return key.Answer{Entry: h.Entry}, nil
	}
	a := key.Answer{Won: true, Token: h.token, TookOver: h.tookFrom != "", Repeated: repeated, Entry: h.Entry}
	if repeated {
		if until := t.now.Add(c.Lease); until.After(a.LeaseUntil) {
			a.LeaseUntil = until
		}
		return a, t.one(ctx, `UPDATE keys SET lease_until = ? WHERE key = ?`, stamp(a.LeaseUntil), h.Key)
	}
	if !a.TookOver {
		return a, nil
	}
	return a, t.keyEvent(ctx, h.Key, h.Owner, "taken over from "+h.tookFrom+", whose lease had ended")
}

// End implements key.Book.
func (k *Keys) End(ctx context.Context, e key.End) error {
	if e.Token == "" {
		return k.together(ctx, settling(e))
	}
	return k.together(ctx, ending(e))
}

// ending ends the claim of a token. The owner of an unknown that nobody settled may
// still say what became of it.
func ending(e key.End) keyCall {
	return keyCall{
		key: e.Key,
		change: func(now time.Time) change {
			const end = `UPDATE keys AS k SET state = ?, ended_at = ?, result = ?, why = ?
				WHERE key = ? AND token = ? AND state IN ('claimed', 'unknown') AND state <> ? `
			q := query{
				text: end + `RETURNING ` + changedColumns,
				args: []any{string(e.State), stamp(now), string(e.Result), e.Why, e.Key, e.Token, string(e.State)},
			}
			if e.State != key.Unknown { // whose alert names the owner
				q.usual = end
			}
			return change{query: q}
		},
		judge: func(ctx context.Context, t *tx, h heldKey, changed bool) error {
			switch {
			case changed && e.State == key.Unknown:
				return t.unknownKey(ctx, e.Key, h.Owner, cmp.Or(e.Why, "its owner cannot tell how it went"))
			case changed:
				return nil
			case h.token != e.Token:
				return key.ErrStale
			case h.State != e.State:
				return key.ErrEnded
			}
			return nil // said before
		},
	}
}

// settling takes a person's word on a key that is unknown.
func settling(e key.End) keyCall {
	return keyCall{
		key: e.Key,
		change: func(now time.Time) change {
			return change{query: query{
				text: `UPDATE keys AS k SET state = ?, ended_at = ?, result = ?, settled_by = ?, why = ?
				WHERE key = ? AND (k.state = 'unknown' OR ` + overdue + `)
				RETURNING ` + changedColumns,
				args: []any{string(e.State), stamp(now), string(e.Result), e.Who, e.Why, e.Key, stamp(now)},
			}}
		},
		judge: func(ctx context.Context, t *tx, _ heldKey, changed bool) error {
			if !changed {
				return key.ErrNotUnknown
			}
			return t.keyEvent(ctx, e.Key, e.Who, "settled as "+string(e.State)+": "+e.Why)
		},
	}
}

// Renew implements key.Book.
func (k *Keys) Renew(ctx context.Context, r key.Renewal) (until time.Time, err error) {
	err = k.together(ctx, keyCall{
		key: r.Key,
		change: func(now time.Time) change {
			return change{query: query{
				text: `UPDATE keys AS k SET lease_until = ?
				WHERE key = ? AND token = ? AND state = 'claimed' AND (takeover = 'expired' OR lease_until > ?)
				RETURNING ` + changedColumns,
				args: []any{stamp(now.Add(r.Lease)), r.Key, r.Token, stamp(now)},
			}, heldKey: heldKey{Entry: key.Entry{LeaseUntil: now.Add(r.Lease)}}}
		},
		judge: func(_ context.Context, _ *tx, h heldKey, changed bool) error {
			until = h.LeaseUntil
			switch {
			case changed:
				return nil
			case h.token != r.Token:
				return key.ErrStale
			}
			return key.ErrEnded
		},
	})
	return until, err
}
