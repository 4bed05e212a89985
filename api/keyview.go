package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
)

// ClaimedKey is the answer to a claim of a key.
type ClaimedKey struct {
	Won        bool            `json:"won"`
	Token      string          `json:"token,omitempty"` // which alone ends or renews the claim
	Key        string          `json:"key"`
	State      key.State       `json:"state"`
	Owner      string          `json:"owner"`
	LeaseUntil time.Time       `json:"lease_until"`
	Takeover   bool            `json:"takeover"` // the lease of another owner had ended
	Claims     int             `json:"claims"`
	Note       string          `json:"note,omitempty"`
	EndedAt    time.Time       `json:"ended_at,omitzero"`
	Result     json.RawMessage `json:"result,omitempty"` // of a done key
	Detail     string          `json:"detail"`
}

// ViewClaim makes the document of an answer.
func ViewClaim(a key.Answer) ClaimedKey {
	return ClaimedKey{
		Won: a.Won, Token: a.Token, Key: a.Key, State: a.State, Owner: a.Owner, LeaseUntil: a.LeaseUntil.UTC(), Takeover: a.TookOver,
		Claims: a.Claims, Note: a.Note, EndedAt: a.EndedAt.UTC(), Result: a.Result, Detail: claimDetail(a),
	}
}

// claimDetail says for people what came of a claim.
func claimDetail(a key.Answer) string {
	switch {
	case a.Repeated:
		return "the key is yours: the same request has claimed it before"
	case a.TookOver:
		return "the key is yours; the lease of its last owner had ended, so some of the work may have been done"
	case a.Won:
		return "the key is yours"
	}
	return keyDetail(a.Entry)
}

// keyDetail says for people how a key stands.
func keyDetail(e key.Entry) string {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch e.State {
	case key.Claimed:
		return fmt.Sprintf("%s is on it, with a lease until %s", e.Owner, at(e.LeaseUntil))
	case key.Done:
		return fmt.Sprintf("it was done at %s, by %s", at(e.EndedAt), cmp.Or(e.SettledBy, e.Owner))
	case key.Released:
		return fmt.Sprintf("it was released at %s, by %s; the next claim gets it", at(e.EndedAt), cmp.Or(e.SettledBy, e.Owner))
	case key.Unknown:
		return fmt.Sprintf("nobody knows whether %s carried it out: find out, and settle the key as done or released with a reason", e.Owner)
	}
	return ""
}

// KeyView is a key as it is now.
type KeyView struct {
	Key        string          `json:"key"`
	State      key.State       `json:"state"`
	Owner      string          `json:"owner"`
	Note       string          `json:"note,omitempty"`
	Policy     key.Takeover    `json:"takeover_policy"`
	ClaimedAt  time.Time       `json:"claimed_at"`
	LeaseUntil time.Time       `json:"lease_until"`
	EndedAt    time.Time       `json:"ended_at,omitzero"`
	Claims     int             `json:"claims"`
	Result     json.RawMessage `json:"result,omitempty"`
	SettledBy  string          `json:"settled_by,omitempty"`
	Why        string          `json:"why,omitempty"`
	Detail     string          `json:"detail"`
	Events     []KeyEvent      `json:"events,omitempty"` // of one key that was asked for
}

// KeyEvent is something that happened to a key beside being claimed and done.
type KeyEvent struct {
	At   time.Time `json:"at"`
	Who  string    `json:"who"`
	Text string    `json:"text"`
}

// KeyList is a page of keys.
type KeyList struct {
	Keys []KeyView `json:"keys"`
	Next string    `json:"next,omitempty"` // what after has to be for the next page
}

// ViewKey makes the document of a key.
func ViewKey(e key.Entry, events []key.Event) KeyView {
	v := KeyView{
		Key: e.Key, State: e.State, Owner: e.Owner, Note: e.Note, Policy: e.Takeover, ClaimedAt: e.ClaimedAt.UTC(), LeaseUntil: e.LeaseUntil.UTC(),
		EndedAt: e.EndedAt.UTC(), Claims: e.Claims, Result: e.Result, SettledBy: e.SettledBy, Why: e.Why, Detail: keyDetail(e),
	}
	for _, event := range events {
		v.Events = append(v.Events, KeyEvent{At: event.At.UTC(), Who: event.Who, Text: event.Text})
	}
	return v
}

// ListKeys makes the document of a page that may hold at most limit keys.
func ListKeys(es []key.Entry, limit int) KeyList {
	list := KeyList{Keys: make([]KeyView, len(es))}
	for i, e := range es {
		list.Keys[i] = ViewKey(e, nil)
	}
	if len(es) == limit {
		list.Next = es[limit-1].Key
	}
	return list
}

// EndedKey is the answer to the end of a claim, and to its renewal.
type EndedKey struct {
	Key        string    `json:"key"`
	State      key.State `json:"state"`
	LeaseUntil time.Time `json:"lease_until,omitzero"` // of a renewal
}

// PrunedKeys is the answer to a prune.
type PrunedKeys struct {
	Days    int   `json:"days"`
	Old     int64 `json:"old"`     // keys that are that old
	Removed int64 `json:"removed"` // of them
}
