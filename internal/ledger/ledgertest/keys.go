package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/key"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// wants claims a key as the tests do, with edits.
func (b *bench) wants(name string, edit ...func(*key.Claim)) key.Answer {
	b.Helper()
	c := key.Claim{Key: name, Owner: "me"}
	for _, e := range edit {
		e(&c)
	}
	a, err := b.Keys().Claim(b.ctx(), b.checked(c))
	b.must(err)
	return a
}

// checked is a claim that the ledger takes.
func (b *bench) checked(c key.Claim) key.Claim {
	c, err := c.Checked()
	if err != nil {
		b.Error(err) // also from goroutines
	}
	return c
}

// never makes a claim one that nobody takes over, and that takes nothing over.
func never(c *key.Claim) { c.Takeover = key.TakeNever }

func owner(who string) func(*key.Claim) { return func(c *key.Claim) { c.Owner = who } }

func leased(d time.Duration) func(*key.Claim) { return func(c *key.Claim) { c.Lease = d } }

// wins claims a key that must be won, and answers the token.
func (b *bench) wins(name string, edit ...func(*key.Claim)) string {
	b.Helper()
	a := b.wants(name, edit...)
	if !a.Won || a.Token == "" || a.State != key.Claimed {
		b.Fatalf("key %s was not won: %+v", name, a)
	}
	return a.Token
}

// loses claims a key that must not be won, and answers it.
func (b *bench) loses(name string, edit ...func(*key.Claim)) key.Answer {
	b.Helper()
	a := b.wants(name, edit...)
	if a.Won || a.Token != "" {
		b.Fatalf("key %s was won: %+v", name, a)
	}
	return a
}

// says ends a claim and wants an error, or none.
func (b *bench) says(want error, e key.End) {
	b.Helper()
	e, err := e.Checked()
	b.must(err)
	if err := b.Keys().End(b.ctx(), e); !errors.Is(err, want) {
		b.Fatalf("%s of %s answered %v, want %v", e.State, e.Key, err, want)
	}
}

// entry answers what is known of a key.
func (b *bench) entry(name string) (key.Entry, []key.Event) {
	b.Helper()
	e, events, err := b.Keys().Find(b.ctx(), name)
	b.must(err)
	return e, events
}

func end(name, token string, s key.State) key.End { return key.End{Key: name, Token: token, State: s} }

// byPerson settles without a token.
func byPerson(name string, s key.State) key.End {
	return key.End{Key: name, State: s, Who: "ada", Why: "seen in the bank account"}
}

// keyClaimed: a key is one caller's, and everybody else is told whose.
func keyClaimed(b *bench) {
	a := b.wants("k", func(c *key.Claim) { c.Owner, c.Note, c.Lease = "first", "an invoice", time.Hour })
	want := key.Entry{
		Key: "k", State: key.Claimed, Owner: "first", Note: "an invoice", Takeover: key.TakeExpired,
		ClaimedAt: b.clock.Now(), LeaseUntil: b.clock.Now().Add(time.Hour), Claims: 1,
	}
	b.same("what the winner gets", a.Entry, want)
	if !a.Won || a.Token == "" || a.TookOver {
		b.Fatalf("the winner gets %+v", a)
	}
	b.same("what a loser gets", b.loses("k", owner("second")), key.Answer{Entry: want})
	e, events := b.entry("k")
	b.same("what is found", e, want)
	b.same("what happened to it", len(events), 0)
	b.clock.advance(time.Minute)
	result := json.RawMessage(`{"invoice": 4711}`)
	b.says(nil, key.End{Key: "k", Token: a.Token, State: key.Done, Result: result})
	want.State, want.EndedAt, want.Result = key.Done, b.clock.Now(), result
	b.clock.advance(365 * 24 * time.Hour)
	b.same("what a loser gets a year later", b.loses("k"), key.Answer{Entry: want})
	if _, _, err := b.Keys().Find(b.ctx(), "other"); !errors.Is(err, key.ErrNoKey) {
		b.Fatalf("an unknown key: %v", err)
	}
}

// keyReleased: who releases a key gives it to the next.
func keyReleased(b *bench) {
	token := b.wins("k")
	b.says(nil, key.End{Key: "k", Token: token, State: key.Released, Why: "451 later"})
	b.says(nil, end("k", token, key.Released)) // said again
	if e, _ := b.entry("k"); e.State != key.Released || e.Why != "451 later" {
		b.Fatalf("released: %+v", e)
	}
	b.says(key.ErrEnded, end("k", token, key.Done))
	a := b.wants("k", owner("second"))
	if !a.Won || a.TookOver || a.Claims != 2 || a.Token == token {
		b.Fatalf("the next claim: %+v", a)
	}
	b.says(key.ErrStale, end("k", token, key.Released))
	b.says(nil, end("k", a.Token, key.Done))
	b.says(nil, end("k", a.Token, key.Done)) // said again
	b.says(key.ErrEnded, end("k", a.Token, key.Released))
	b.says(key.ErrNoKey, end("other", token, key.Done))
}

// keyTakenOver is case LG02: after the lease the next may have the key, and the late
// owner can do nothing to it.
func keyTakenOver(b *bench) {
	late := b.wins("k", owner("A"), leased(2*time.Second))
	b.clock.advance(2*time.Second - 1)
	b.loses("k", owner("B"))
	b.clock.advance(1)
	b.loses("k", owner("C"), never) // who takes nothing over
	a := b.wants("k", owner("B"))
	if !a.Won || !a.TookOver || a.Token == late || a.Owner != "B" {
		b.Fatalf("B gets %+v", a)
	}
	b.says(key.ErrStale, end("k", late, key.Done))
	if _, err := b.Keys().Renew(b.ctx(), key.Renewal{Key: "k", Token: late, Lease: time.Hour}); !errors.Is(err, key.ErrStale) {
		b.Fatalf("A renews: %v", err)
	}
	b.says(nil, end("k", a.Token, key.Done))
	e, events := b.entry("k")
	if e.State != key.Done || e.Owner != "B" || e.Claims != 2 {
		b.Fatalf("in the end: %+v", e)
	}
	if len(events) != 1 || events[0].Who != "B" || !strings.Contains(events[0].Text, "taken over from A") {
		b.Fatalf("what happened: %+v", events)
	}
}

// keyLateOwner is case LG03, and what a late owner may do while nobody took over.
func keyLateOwner(b *bench) {
	late := b.wins("k", leased(time.Second))
	b.clock.advance(time.Second)
	token := b.wins("k")
	b.says(key.ErrStale, end("k", late, key.Released))
	b.loses("k")
	b.says(nil, end("k", token, key.Done))

	alone := b.wins("slow", leased(time.Second))
	b.clock.advance(time.Minute)
	b.says(nil, end("slow", alone, key.Done))
	b.loses("slow")
}

// keyRenewed: a lease that is renewed begins anew.
func keyRenewed(b *bench) {
	token := b.wins("k", leased(time.Minute))
	b.clock.advance(50 * time.Second)
	until, err := b.Keys().Renew(b.ctx(), key.Renewal{Key: "k", Token: token, Lease: time.Minute})
	b.must(err)
	b.same("the lease", until, b.clock.Now().Add(time.Minute))
	b.clock.advance(50 * time.Second)
	b.loses("k")
	b.clock.advance(11 * time.Second) // over, but nobody else came
	_, err = b.Keys().Renew(b.ctx(), key.Renewal{Key: "k", Token: token, Lease: time.Minute})
	b.must(err)
	b.loses("k")
	b.says(nil, end("k", token, key.Done))
	for _, r := range []struct {
		key, token string
		want       error
	}{{"k", token, key.ErrEnded}, {"k", "x", key.ErrStale}, {"other", token, key.ErrNoKey}} {
		if _, err := b.Keys().Renew(b.ctx(), key.Renewal{Key: r.key, Token: r.token, Lease: time.Minute}); !errors.Is(err, r.want) {
			b.Fatalf("renew %s with %q: %v, want %v", r.key, r.token, err, r.want)
		}
	}
	gone := b.wins("never", never, leased(time.Minute))
	b.clock.advance(time.Minute)
	if _, err := b.Keys().Renew(b.ctx(), key.Renewal{Key: "never", Token: gone, Lease: time.Minute}); !errors.Is(err, key.ErrEnded) {
		b.Fatalf("a lease without takeover that is over: %v", err)
	}
}

// keyUnknown: a claim without takeover that ends by itself waits for a person, with
// one alert; its own owner may still answer.
func keyUnknown(b *bench) {
	for _, name := range []string{"done", "released", "late"} {
		b.wins(name, never, owner("worker"), leased(time.Minute))
	}
	token := b.wins("owner", never, leased(time.Minute))
	b.says(key.ErrNotUnknown, byPerson("done", key.Done))
	b.clock.advance(time.Minute)
	for _, name := range []string{"done", "released", "late", "owner"} {
		if a := b.loses(name); a.State != key.Unknown {
			b.Fatalf("%s: %+v", name, a)
		}
	}
	n, err := b.Keys().Expire(b.ctx())
	b.must(err)
	b.same("written down as unknown", n, 4)
	n, err = b.Keys().Expire(b.ctx())
	b.must(err)
	b.same("written down once more", n, 0)
	as, err := b.Alerts(b.ctx())
	b.must(err)
	b.same("alerts", len(as), 4)
	b.same("kind and job", []string{string(as[0].Kind), as[0].Job}, []string{string(claim.AlertUnknown), ledger.KeyLedger})

	b.says(nil, byPerson("done", key.Done))
	b.says(nil, byPerson("released", key.Released))
	b.says(nil, end("owner", token, key.Done))
	b.says(key.ErrNotUnknown, byPerson("done", key.Released))
	b.loses("done")
	b.loses("late")
	b.wins("released", never)
	e, events := b.entry("done")
	if e.SettledBy != "ada" || e.Why != "seen in the bank account" || len(events) != 2 || !strings.Contains(events[1].Text, "settled as done") {
		b.Fatalf("settled: %+v, %+v", e, events)
	}
}

// keySaidUnknown: an owner that cannot tell says so, and may know later.
func keySaidUnknown(b *bench) {
	token := b.wins("k")
	b.says(nil, key.End{Key: "k", Token: token, State: key.Unknown, Why: "the payment timed out"})
	b.says(nil, end("k", token, key.Unknown)) // said again
	b.clock.advance(time.Hour)
	b.loses("k")
	as, err := b.Alerts(b.ctx())
	b.must(err)
	if len(as) != 1 || as[0].Seen != "the payment timed out" {
		b.Fatalf("alerts: %+v", as)
	}
	b.says(nil, end("k", token, key.Done))
	b.says(key.ErrEnded, end("k", token, key.Unknown))
}

// keyList: by state, by prefix, and page by page.
func keyList(b *bench) {
	for _, name := range []string{"a:1", "a:2", "a:3", "b:1", "ä"} {
		b.wins(name)
	}
	token := b.wins("b:2")
	b.says(nil, end("b:2", token, key.Done))
	b.wins("b:3", never, leased(time.Second))
	b.clock.advance(time.Second)
	for _, tt := range []struct {
		f    key.Filter
		want string
	}{
		{key.Filter{}, "a:1 a:2 a:3 b:1 b:2 b:3 ä"},
		{key.Filter{Prefix: "a:"}, "a:1 a:2 a:3"},
		{key.Filter{Limit: 2}, "a:1 a:2"},
		{key.Filter{Limit: 2, After: "a:2"}, "a:3 b:1"},
		{key.Filter{Prefix: "b", After: "b:1"}, "b:2 b:3"},
		{key.Filter{State: key.Done}, "b:2"},
		{key.Filter{State: key.Unknown}, "b:3"},
		{key.Filter{State: key.Claimed, Prefix: "b"}, "b:1"},
		{key.Filter{State: key.Released}, ""},
	} {
		if tt.f.Limit == 0 {
			tt.f.Limit = 100
		}
		entries, err := b.Keys().List(b.ctx(), tt.f)
		b.must(err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Key)
		}
		b.same(fmt.Sprintf("%+v", tt.f), strings.Join(names, " "), tt.want)
	}
}

// keyPrune is case LG06: only what ended long ago goes.
func keyPrune(b *bench) {
	const day = 24 * time.Hour
	b.wins("claimed long ago", leased(time.Hour))
	b.wins("unknown long ago", never, leased(time.Hour))
	b.clock.advance(6 * day)
	for _, name := range []string{"done long ago", "released long ago"} {
		token := b.wins(name)
		b.clock.advance(time.Minute)
		b.says(nil, end(name, token, map[bool]key.State{true: key.Done, false: key.Released}[name[0] == 'd']))
	}
	b.clock.advance(4 * day)
	b.says(nil, end("just done", b.wins("just done"), key.Done))
	prune := func(p key.Prune, want int64) {
		b.Helper()
		n, err := b.Keys().Prune(b.ctx(), p)
		b.must(err)
		b.same(fmt.Sprintf("%+v", p), n, want)
	}
	prune(key.Prune{Days: 3, Count: true}, 2)
	prune(key.Prune{Days: 5}, 0)
	prune(key.Prune{Days: 3}, 2)
	prune(key.Prune{Days: 3}, 0)
	for _, name := range []string{"claimed long ago", "unknown long ago", "just done"} {
		b.entry(name)
	}
	// A clock that is a year ahead makes every key old.
	b.clock.advance(365 * day)
	var greedy *key.GreedyError
	if _, err := b.Keys().Prune(b.ctx(), key.Prune{Days: 3}); !errors.As(err, &greedy) || greedy.Old != 1 || greedy.Ended != 1 {
		b.Fatalf("nearly everything is old: %v", err)
	}
	b.entry("just done")
	prune(key.Prune{Days: 3, Force: true}, 1)
}
