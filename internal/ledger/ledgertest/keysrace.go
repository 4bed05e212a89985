package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// keyRace: of many that want the same keys at once each key gets one owner, and of
// many that take a dead claim over one does.
func keyRace(b *bench) {
	const callers, keys = 16, 20
	keysOf := b.Keys()
	for round, wantTakeover := range []bool{false, true} {
		won := make([][]key.Answer, callers)
		race(callers, func(i int) {
			for k := range keys {
				c := b.checked(key.Claim{Key: fmt.Sprint(k), Owner: fmt.Sprintf("c%d", i), Lease: time.Minute})
				a, err := keysOf.Claim(b.ctx(), c)
				if err != nil {
					b.Error(err)
					return
				}
				if a.Won {
					won[i] = append(won[i], a)
				}
			}
		})
		owners := map[string]string{}
		for _, as := range won {
			for _, a := range as {
				if owners[a.Key] != "" || a.TookOver != wantTakeover {
					b.Errorf("round %d: key %s went to %q and %q, takeover %v", round, a.Key, owners[a.Key], a.Owner, a.TookOver)
				}
				owners[a.Key] = a.Owner
			}
		}
		b.same("keys that were won", len(owners), keys)
		b.clock.advance(time.Minute)
	}
}

// keyRaceOfTwo: the same with two processes, each of which puts the calls of its many
// callers into shared transactions, that ask for the keys in different orders. A key
// is won once, everybody else is told by whom, and its owner alone ends it.
func keyRaceOfTwo(b *bench) {
	const callers, keys = 64, 8
	ledgers := []*ledger.Keys{b.Keys(), b.opened().Keys()}
	for round := range 3 { // claimed at first, and then taken over twice
		var winners [keys]sync.Map
		answers := make([][keys]key.Answer, callers)
		race(callers, func(i int) {
			for n := range keys {
				k := (n + i) % keys
				c := b.checked(key.Claim{Key: fmt.Sprint(k), Owner: fmt.Sprintf("c%d", i), Lease: time.Minute})
				a, err := ledgers[i%2].Claim(b.ctx(), c)
				if err != nil {
					b.Error(err)
				}
				if answers[i][k] = a; a.Won {
					winners[k].Store(a.Owner, a)
				}
			}
		})
		for k := range keys {
			var won []key.Answer
			winners[k].Range(func(_, a any) bool { won = append(won, a.(key.Answer)); return true })
			if len(won) != 1 || won[0].Claims != round+1 || won[0].TookOver != (round > 0) {
				b.Fatalf("round %d: key %d was won by %+v", round, k, won)
			}
			for i := range callers {
				if a := answers[i][k]; a.Owner != won[0].Owner || a.State != key.Claimed {
					b.Errorf("round %d: caller %d was told that key %d is %s, by %s; want by %s", round, i, k, a.State, a.Owner, won[0].Owner)
				}
			}
		}
		b.clock.advance(time.Minute)
	}
	b.endInTwo(ledgers, keys)
}

// endInTwo: of many that end a claim at once, each with a state of its own, one is
// heard, whichever process it asks.
func (b *bench) endInTwo(ledgers []*ledger.Keys, keys int) {
	b.Helper()
	for k := range keys {
		token := b.wins(fmt.Sprint(k))
		var heard atomic.Int32
		race(4, func(i int) {
			state := []key.State{key.Done, key.Released}[i/2]
			switch err := ledgers[i%2].End(b.ctx(), end(fmt.Sprint(k), token, state)); {
			case err == nil:
				heard.Add(1 << (8 * (i / 2)))
			case !errors.Is(err, key.ErrEnded):
				b.Error(err)
			}
		})
		e, _ := b.entry(fmt.Sprint(k))
		if want := map[key.State]int32{key.Done: 2, key.Released: 2 << 8}[e.State]; heard.Load() != want {
			b.Errorf("key %d is %s, and %x were told so", k, e.State, heard.Load())
		}
	}
}

// keyLeaves: who leaves before its turn leaves nothing behind.
func keyLeaves(b *bench) {
	c := b.checked(key.Claim{Key: "k"})
	ctx, leave := context.WithCancel(b.ctx())
	leave()
	if _, err := b.Keys().Claim(ctx, c); err == nil {
		b.Error("a caller that had left won the key")
	}
	b.wins("k")
}

// keyLeavesGroup: callers that leave while others wait with them spoil nothing for
// those, and one that was told of no claim has none.
func keyLeavesGroup(b *bench) {
	const callers = 64
	keys, errs := b.Keys(), make([]error, callers)
	race(callers, func(i int) {
		ctx, leave := context.WithCancel(b.ctx())
		defer leave()
		if i%2 == 1 {
			go leave()
		}
		var a key.Answer
		if a, errs[i] = keys.Claim(ctx, b.checked(key.Claim{Key: fmt.Sprint(i), Owner: "racer"})); errs[i] == nil && !a.Won {
			b.Errorf("key %d was not won: %+v", i, a)
		}
	})
	for i, err := range errs {
		switch {
		case err == nil:
			b.loses(fmt.Sprint(i))
		case i%2 == 0 || !errors.Is(err, context.Canceled):
			b.Errorf("caller %d: %v", i, err)
		default:
			b.wins(fmt.Sprint(i))
		}
	}
}

// keyFaultOfOne: what the database refuses one call does not concern the calls that
// share its transaction.
func keyFaultOfOne(b *bench) {
	const callers = 32
	keys := b.Keys()
	race(callers, func(i int) {
		c := b.checked(key.Claim{Key: fmt.Sprint(i)})
		if i == callers/2 {
			c.Takeover = "nonsense" // a constraint of the table refuses it
		}
		if a, err := keys.Claim(b.ctx(), c); (err != nil || !a.Won) != (i == callers/2) {
			b.Errorf("caller %d: %+v, %v", i, a, err)
		}
	})
	if _, _, err := keys.Find(b.ctx(), fmt.Sprint(callers/2)); !errors.Is(err, key.ErrNoKey) {
		b.Errorf("a claim that was refused left %v", err)
	}
}
