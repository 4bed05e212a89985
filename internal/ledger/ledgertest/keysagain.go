package ledgertest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// asks names the request that claims.
func asks(id string) func(*key.Claim) { return func(c *key.Claim) { c.RequestID = id } }

// keyAskedAgain: a request that is made again, since the answer to it was lost, gets the
// claim that it has won, while that is the key's. Nobody else does.
func keyAskedAgain(b *bench) {
	token := b.wins("k", asks("r1"), owner("A"), leased(time.Minute))
	b.clock.advance(50 * time.Second)
	for _, other := range []string{"", "r2", "R1", "r"} {
		b.loses("k", asks(other), owner("A"))
	}
	a := b.wants("k", asks("r1"), owner("A"), leased(time.Minute))
	if !a.Won || !a.Repeated || a.TookOver || a.Token != token || a.Claims != 1 || !a.LeaseUntil.Equal(b.clock.Now().Add(time.Minute)) {
		b.Fatalf("asked again: %+v", a)
	}
	b.clock.advance(50 * time.Second) // past the end of the first lease
	b.loses("k", asks("r2"))
	if a := b.wants("k", asks("r1"), leased(time.Second)); a.Token != token || !a.LeaseUntil.Equal(b.clock.Now().Add(10*time.Second)) {
		b.Fatalf("asked for less than is left: %+v", a)
	}
	result := json.RawMessage(`{"invoice": 4711}`)
	b.says(nil, key.End{Key: "k", Token: token, State: key.Done, Result: result})
	if a := b.loses("k", asks("r1")); a.State != key.Done || string(a.Result) != string(result) {
		b.Fatalf("asked again when it is done: %+v", a)
	}
	b.wins("other", asks("r1")) // a request id is of one key
}

// keyAskedAgainLate: a claim that somebody else has by now, or that nobody may have, is
// not given again; one that was released is a new one.
func keyAskedAgainLate(b *bench) {
	late := b.wins("taken", asks("r1"), owner("A"), leased(time.Second))
	b.wins("never", asks("r1"), never, leased(time.Second))
	b.wins("free", asks("r1"), leased(time.Second))
	b.clock.advance(time.Second)
	if a := b.wants("taken", asks("r2"), owner("B")); !a.TookOver || a.Repeated {
		b.Fatalf("B gets %+v", a)
	}
	if a := b.loses("taken", asks("r1"), owner("A")); a.Owner != "B" {
		b.Fatalf("A asks again: %+v", a)
	}
	b.says(key.ErrStale, end("taken", late, key.Done))
	if a := b.wants("taken", asks("r2"), owner("B")); !a.Repeated || !a.TookOver {
		b.Fatalf("B asks again: %+v", a)
	}
	if _, events := b.entry("taken"); len(events) != 1 {
		b.Fatalf("what happened: %+v", events)
	}
	if a := b.loses("never", asks("r1"), never); a.State != key.Unknown {
		b.Fatalf("a claim without takeover that is over: %+v", a)
	}
	a := b.wants("free", asks("r1"))
	if !a.Won || a.Repeated || !a.TookOver || a.Claims != 2 {
		b.Fatalf("a lease that is over: %+v", a)
	}
	b.says(nil, end("free", a.Token, key.Released))
	if again := b.wants("free", asks("r1")); !again.Won || again.Repeated || again.Token == a.Token {
		b.Fatalf("after a release: %+v", again)
	}
}

// keyAskedAtOnce: tries of one request that run at once have one claim, other requests
// none.
func keyAskedAtOnce(b *bench) {
	const tries, requests = 3, 6
	answers := make([]key.Answer, tries*requests)
	ledgers := []*ledger.Keys{b.Keys(), b.opened().Keys()}
	race(len(answers), func(i int) {
		var err error
		if answers[i], err = ledgers[i/requests%2].Claim(b.ctx(), b.checked(key.Claim{Key: "k", RequestID: fmt.Sprint("r", i%requests)})); err != nil {
			b.Error(err)
		}
	})
	tokens, winners := map[string]int{}, map[int]bool{}
	for i, a := range answers {
		if a.Won {
			tokens[a.Token]++
			winners[i%requests] = true
		}
	}
	if len(tokens) != 1 || len(winners) != 1 {
		b.Fatalf("requests %v were given %v", winners, tokens)
	}
	for _, n := range tokens {
		b.same("tries that were given the claim", n, tries)
	}
}
