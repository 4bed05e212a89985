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
	err = k.together(ctx, func(ctx context.Context, t *tx) (err error) {
		a, err = t.claimKey(ctx, c, token)
		return err
	})
	return a, err
}

// claimKey is one statement when the key is free, as it mostly is.
func (t *tx) claimKey(ctx context.Context, c key.Claim, token string) (key.Answer, error) {
	until := t.now.Add(c.Lease)
	var claims int
	var from string
	won, err := t.scan(ctx, []any{&claims, &from}, `INSERT INTO keys AS k (key, state, token, owner, note, takeover, claimed_at, lease_until)
		VALUES (?, 'claimed', ?, ?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET state = 'claimed', token = excluded.token, owner = excluded.owner, note = excluded.note,
			takeover = excluded.takeover, claimed_at = excluded.claimed_at, lease_until = excluded.lease_until, ended_at = '',
			claims = k.claims + 1, took_from = CASE WHEN k.state = 'claimed' THEN k.owner ELSE '' END,
			result = '', settled_by = '', why = ''
		WHERE k.state = 'released'
			OR k.state = 'claimed' AND k.takeover = 'expired' AND excluded.takeover = 'expired' AND k.lease_until <= excluded.claimed_at
		RETURNING claims, took_from`,
		c.Key, token, c.Owner, c.Note, string(c.Takeover), stamp(t.now), stamp(until))
	if err != nil {
		return key.Answer{}, err
	}
	if !won {
		h, err := t.keyNow(ctx, c.Key)
		return key.Answer{Entry: h.Entry}, err
	}
	a := key.Answer{Won: true, Token: token, TookOver: from != "", Entry: key.Entry{
		Key: c.Key, State: key.Claimed, Owner: c.Owner, Note: c.Note, Takeover: c.Takeover, ClaimedAt: t.now, LeaseUntil: until, Claims: claims,
	}}
	if a.TookOver {
		err = t.keyEvent(ctx, c.Key, c.Owner, "taken over from "+from+", whose lease had ended")
	}
	return a, err
}

// End implements key.Book.
func (k *Keys) End(ctx context.Context, e key.End) error {
	return k.together(ctx, func(ctx context.Context, t *tx) error {
		if e.Token == "" {
			return t.settleKey(ctx, e)
		}
		return t.endKey(ctx, e)
	})
}

// endKey ends the claim of a token. The owner of an unknown that nobody settled may
// still say what became of it.
func (t *tx) endKey(ctx context.Context, e key.End) error {
	n, err := t.change(ctx, `UPDATE keys SET state = ?, ended_at = ?, result = ?, why = ?
		WHERE key = ? AND token = ? AND state IN ('claimed', 'unknown') AND state <> ?`,
		string(e.State), stamp(t.now), string(e.Result), e.Why, e.Key, e.Token, string(e.State))
	if err != nil || n == 1 && e.State != key.Unknown {
		return err
	}
	h, err := t.keyNow(ctx, e.Key)
	switch {
	case err != nil:
		return err
	case n == 1:
		return t.unknownKey(ctx, e.Key, h.Owner, cmp.Or(e.Why, "its owner cannot tell how it went"))
	case h.token != e.Token:
		return key.ErrStale
	case h.State != e.State:
		return key.ErrEnded
	}
	return nil // said before
}

// settleKey takes a person's word on a key that is unknown.
func (t *tx) settleKey(ctx context.Context, e key.End) error {
	h, err := t.keyNow(ctx, e.Key)
	if err != nil {
		return err
	}
	if h.State != key.Unknown {
		return key.ErrNotUnknown
	}
	if err := t.one(ctx, `UPDATE keys SET state = ?, ended_at = ?, result = ?, settled_by = ?, why = ? WHERE key = ?`,
		string(e.State), stamp(t.now), string(e.Result), e.Who, e.Why, e.Key); err != nil {
		return err
	}
	return t.keyEvent(ctx, e.Key, e.Who, "settled as "+string(e.State)+": "+e.Why)
}

// Renew implements key.Book.
func (k *Keys) Renew(ctx context.Context, r key.Renewal) (until time.Time, err error) {
	err = k.together(ctx, func(ctx context.Context, t *tx) error {
		until = t.now.Add(r.Lease)
		return t.renewKey(ctx, r, until)
	})
	return until, err
}

func (t *tx) renewKey(ctx context.Context, r key.Renewal, until time.Time) error {
	n, err := t.change(ctx, `UPDATE keys SET lease_until = ?
		WHERE key = ? AND token = ? AND state = 'claimed' AND (takeover = 'expired' OR lease_until > ?)`,
		stamp(until), r.Key, r.Token, stamp(t.now))
	if err != nil || n == 1 {
		return err
	}
	h, err := t.keyNow(ctx, r.Key)
	switch {
	case err != nil:
		return err
	case h.token != r.Token:
		return key.ErrStale
	}
	return key.ErrEnded
}
