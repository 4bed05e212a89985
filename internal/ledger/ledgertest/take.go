package ledgertest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func takeUnknown(b *bench) {
	run := b.begin("4711")
	k := first("B-1")
	want := take(run, k)
	want.Attempts = 2 // the cell says failed 2/3
	got, err := b.Take(b.ctx(), run, []claim.Take{want})
	b.must(err)
	b.same("taken", got, []bool{true})
	b.same("message", b.message("B-1"), claim.Message{
		MessageKey: k, State: claim.Claimed, Attempts: 2, Run: run, ClaimedAt: b.clock.Now(), Claim: want.Claim, Mark: want.Mark,
		Range: want.Range, Tab: want.Tab, Row: 12,
	})

	later := first("B-2")
	later.Generation = 2
	b.refused(run, later)
}

// takeHeld: a key in any state that has not ended is nobody else's.
func takeHeld(b *bench) {
	holder, other := b.begin("holder"), b.begin("other")
	for _, s := range claim.States() {
		k := first("B-" + string(s))
		b.carry(holder, k, s, claim.Sent)
		if s == claim.Returned {
			b.holds(other, k)
			continue
		}
		b.refused(other, k)
		b.refused(holder, k)
		b.same("state", b.message(k.Key).State, s)
	}
}

func takeFailed(b *bench) {
	run, next := b.begin("1"), b.begin("2")
	k := first("B-1")
	b.carry(run, k, claim.Verified, claim.Failed)
	b.clock.advance(time.Minute)
	again := take(next, k) // the cell shows no count, the ledger knows of one attempt
	got, err := b.Take(b.ctx(), next, []claim.Take{again})
	b.must(err)
	b.same("taken", got, []bool{true})
	b.same("message", b.message("B-1"), claim.Message{
		MessageKey: k, State: claim.Claimed, Attempts: 1, Run: next, ClaimedAt: b.clock.Now(), Claim: again.Claim, Mark: again.Mark,
		Range: again.Range, Tab: again.Tab, Row: 12,
	})

	for _, o := range []claim.Outcome{claim.Sent, claim.GaveUp, claim.Rejected, claim.Unknown} {
		k := first("B-" + string(o))
		b.carry(run, k, claim.Verified, o)
		b.refused(next, k)
	}
}

func takeReturned(b *bench) {
	run := b.begin("1")
	k := first("B-1")
	b.carry(run, k, claim.Returned, "")
	next := b.begin("2")
	more := take(next, k)
	more.Attempts = 3 // a greater count in the cell wins
	got, err := b.Take(b.ctx(), next, []claim.Take{more})
	b.must(err)
	b.same("taken", got, []bool{true})
	b.same("attempts", b.message("B-1").Attempts, 3)
}

func takeGenerations(b *bench) {
	gen := func(key string, g int) claim.MessageKey {
		k := first(key)
		k.Generation = g
		return k
	}
	run, next := b.begin("1"), b.begin("2")

	b.carry(run, first("ended"), claim.Verified, claim.Sent)
	b.refused(next, gen("ended", 3))
	b.refused(next, gen("ended", 0))
	b.holds(next, gen("ended", 2))
	m := b.message("ended")
	b.same("newest generation", m.Generation, 2)
	b.same("attempts of a new generation", m.Attempts, 0)
	b.refused(run, gen("ended", 1)) // an old generation never comes back
	b.refused(run, gen("ended", 3)) // the second one is under way

	b.carry(run, first("under way"), claim.Marked, claim.Sent)
	b.refused(next, gen("under way", 2))

	b.carry(run, first("failed"), claim.Verified, claim.Failed)
	b.holds(next, gen("failed", 2))

	b.carry(run, first("returned"), claim.Returned, "")
	b.holds(next, gen("returned", 2))
	all, err := b.Messages(b.ctx(), "reviews")
	b.must(err)
	b.same("every generation is kept", len(all), 7)
}

func takeLease(b *bench) {
	run := b.begin("1")
	b.clock.advance(lease - time.Nanosecond)
	b.holds(run, first("B-1"))
	b.clock.advance(time.Nanosecond)
	b.refused(run, first("B-2"))

	finished := b.begin("2")
	b.must(b.Finish(b.ctx(), finished, claim.Document{}, false))
	b.refused(finished, first("B-3"))

	living := b.begin("3")
	for _, stranger := range []claim.RunRef{
		{Job: "reviews", ID: "3", Seq: 99}, {Job: "reviews", ID: "1", Seq: living.Seq}, {Job: "invoices", ID: "3", Seq: living.Seq},
	} {
		b.refused(stranger, first("B-4"))
	}
}

func takeTwice(b *bench) {
	run := b.begin("1")
	one, two := take(run, first("B-1")), take(run, first("B-1"))
	two.Claim += "'"
	got, err := b.Take(b.ctx(), run, []claim.Take{one, two})
	b.must(err)
	b.same("taken", got, []bool{true, false})
	b.same("claim", b.message("B-1").Claim, one.Claim)
}

func takeBooks(b *bench) {
	run := b.begin("1")
	for _, other := range []claim.Book{book(), {Job: "reviews", Spreadsheet: "S2"}, {Job: "invoices", Spreadsheet: "S1"}} {
		k := first("B-1")
		k.Book = other
		b.holds(run, k)
	}
	odd := []string{"b-1", "B-1 ", "'); DROP TABLE messages; --", "ключ", "a\x1fb"}
	for _, key := range odd {
		b.holds(run, first(key))
		b.same("key", b.message(key).Key, key)
	}
}

func takeIncomplete(b *bench) {
	run := b.begin("1")
	for _, spoil := range []func(*claim.Take){
		func(k *claim.Take) { k.Key = "" },
		func(k *claim.Take) { k.Claim = "" },
		func(k *claim.Take) { k.Mark = "" },
	} {
		bad := take(run, first("B-2"))
		spoil(&bad)
		_, err := b.Take(b.ctx(), run, []claim.Take{take(run, first("B-1")), bad})
		if err == nil {
			b.Errorf("took %+v", bad)
		}
	}
	ms, err := b.Messages(b.ctx(), "reviews")
	b.must(err)
	b.same("messages after an error", len(ms), 0) // all or nothing
}

func takeRace(b *bench) {
	const n = 16
	runs := make([]claim.RunRef, n)
	for i := range runs {
		runs[i] = b.begin(fmt.Sprint(i))
	}
	var won atomic.Int32
	race(n, func(i int) {
		got, err := b.Take(b.ctx(), runs[i], []claim.Take{take(runs[i], first("B-1"))})
		if err != nil {
			b.Error(err)
			return
		}
		if got[0] {
			won.Add(1)
		}
	})
	b.same("winners", won.Load(), int32(1))
}

// takeCrossing: runs that ask for the same keys in opposite orders neither
// deadlock nor share a key.
func takeCrossing(b *bench) {
	const runs, keys = 8, 20
	refs := make([]claim.RunRef, runs)
	for i := range refs {
		refs[i] = b.begin(fmt.Sprint(i))
	}
	var won [keys]atomic.Int32
	race(runs, func(i int) {
		takes := make([]claim.Take, keys)
		for j := range takes {
			k := j
			if i%2 == 1 {
				k = keys - 1 - j
			}
			takes[j] = take(refs[i], first(fmt.Sprint(k)))
			takes[j].Row = k
		}
		got, err := b.Take(b.ctx(), refs[i], takes)
		if err != nil {
			b.Error(err)
			return
		}
		for j, ok := range got {
			if ok {
				won[takes[j].Row].Add(1)
			}
		}
	})
	for k := range won {
		b.same(fmt.Sprintf("winners of key %d", k), won[k].Load(), int32(1))
	}
}

func lookup(b *bench) {
	run := b.begin("1")
	b.carry(run, first("old"), claim.Verified, claim.Sent)
	second := first("old")
	second.Generation = 2
	b.holds(run, second)
	b.holds(run, first(`quoted "key" <&> \`))

	ms, err := b.Lookup(b.ctx(), book(), []string{"old", `quoted "key" <&> \`, "unknown"})
	b.must(err)
	b.same("known", len(ms), 2)
	b.same("newest", ms["old"].Generation, 2)

	ms, err = b.Lookup(b.ctx(), claim.Book{Job: "reviews", Spreadsheet: "S2"}, []string{"old"})
	b.must(err)
	b.same("known in another book", len(ms), 0)

	ms, err = b.Lookup(b.ctx(), book(), nil)
	b.must(err)
	b.same("known of no keys", len(ms), 0)
}

// held: a run's messages are those that it was the last to take.
func held(b *bench) {
	one, two := b.begin("1"), b.begin("2")
	b.holds(one, first("B-1"))
	b.holds(two, first("B-3"))
	b.carry(one, first("B-2"), claim.Returned, "")
	b.holds(two, first("B-2"))
	for run, want := range map[claim.RunRef][]string{one: {"B-1"}, two: {"B-2", "B-3"}} {
		ms, err := b.Held(b.ctx(), run)
		b.must(err)
		var keys []string
		for _, m := range ms {
			keys = append(keys, m.Key)
		}
		b.same("keys held by run "+run.ID, keys, want)
	}
}
