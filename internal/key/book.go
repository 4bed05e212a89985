package key

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Entry is what the ledger holds of one key.
type Entry struct {
	Key        string
	State      State
	Owner      string // of the last claim
	Note       string
	Takeover   Takeover
	ClaimedAt  time.Time
	LeaseUntil time.Time
	EndedAt    time.Time // when it became done, released or unknown
	Claims     int       // how often it was given to somebody
	Result     json.RawMessage
	SettledBy  string // the person who said what became of an unknown
	Why        string
}

// At is the entry as it has to be understood at a time: a claim without takeover
// whose lease is over is unknown, whether that was written down or not.
func (e Entry) At(now time.Time) Entry {
	if e.State == Claimed && e.Takeover == TakeNever && !e.LeaseUntil.After(now) {
		e.State, e.EndedAt = Unknown, e.LeaseUntil
	}
	return e
}

// Answer is the answer to a claim. Its entry is the key's, whoever owns it.
type Answer struct {
	Won      bool
	Token    string // of the claim; "" unless won
	TookOver bool   // the lease of somebody else had ended
	Repeated bool   // the same request has won before, and gets that claim again
	Entry
}

// Event is something that happened to a key beside being claimed and done.
type Event struct {
	At   time.Time
	Who  string
	Text string
}

// Filter chooses keys of a list, which is in the order of the keys.
type Filter struct {
	State  State  // "": any
	Prefix string // of the key
	After  string // the key after which the list goes on; "": from the start
	Limit  int
}

// Prune asks to forget keys that ended long ago.
type Prune struct {
	Days  int  // since they ended; at least 1
	Force bool // also when nearly nothing would be left
	Count bool // only count them
}

// MaxDays bounds the days of a Prune.
const MaxDays = 36500

// Check refuses days that make no sense.
func (p Prune) Check() error {
	if p.Days < 1 || p.Days > MaxDays {
		return fault("days", "expected days from 1 to %d, found %d", MaxDays, p.Days)
	}
	return nil
}

// GreedyError says that a Prune would forget nearly every key that has ended, as it
// does when the clock is wrong.
type GreedyError struct{ Old, Ended int64 }

func (e *GreedyError) Error() string {
	return fmt.Sprintf("%d of %d ended keys are that old, which is nearly all of them: is the clock right? Nothing was removed; if it is meant, force it", e.Old, e.Ended)
}

// Greedy is the share of ended keys, in percent, from which a Prune needs Force.
const Greedy = 90

// Book is the ledger of keys. Every method takes what Checked answered, judges leases
// by the ledger's own clock, and answers when the outcome is on disk.
type Book interface {
	// Claim gives the key to the caller, or says who has it or how it ended.
	Claim(ctx context.Context, c Claim) (Answer, error)
	// End ends a claim. It can be repeated. Its errors are ErrNoKey, ErrStale, ErrEnded
	// and ErrNotUnknown.
	End(ctx context.Context, e End) error
	// Renew makes the lease of a claim begin anew and answers its end. Its errors are
	// ErrNoKey, ErrStale and ErrEnded.
	Renew(ctx context.Context, r Renewal) (time.Time, error)
	// Find answers one key, or ErrNoKey, with what happened to it, oldest first.
	Find(ctx context.Context, key string) (Entry, []Event, error)
	// List answers the keys that a filter chooses.
	List(ctx context.Context, f Filter) ([]Entry, error)
	// Prune forgets keys that were done or released at least so many days ago, and
	// answers how many. Its error is a *GreedyError unless forced.
	Prune(ctx context.Context, p Prune) (int64, error)
}
