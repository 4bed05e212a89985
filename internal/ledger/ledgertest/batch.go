package ledgertest

import (
	"errors"
	"math"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/ledger"
)

// batch is a claim batch of a run for some keys.
func batch(run claim.RunRef, keys ...string) claim.OpenBatch {
	ob := claim.OpenBatch{
		Mark: "m-" + run.ID, Run: run,
		Target: claim.Target{Spreadsheet: "S1", Range: "Visits!A1:H"}, Tab: claim.Tab{ID: 7, Title: "Visits"},
		N: 41, Before: map[string]claim.Before{}, Seen: map[string]claim.Before{"B-0": {"status": "own text"}},
	}
	for _, key := range keys {
		ob.Claims = append(ob.Claims, first(key))
		ob.Before[key] = claim.Before{"status": "resend", "note": "of " + key}
	}
	return ob
}

// open opens a batch that must be accepted, and answers its count.
func (b *bench) open(run claim.RunRef, ob claim.OpenBatch) (string, uint64) {
	b.Helper()
	id, count, err := b.OpenBatch(b.ctx(), run, ob)
	b.must(err)
	return id, count
}

func batchOpenClose(b *bench) {
	run := b.begin("1")
	b.holds(run, first("B-1"))
	b.holds(run, first("B-2"))
	id, count := b.open(run, batch(run, "B-1", "B-2"))
	if id == "" || count != 1 {
		b.Errorf("the first batch has ledger %q and count %d", id, count)
	}
	b.same("before", b.message("B-2").Before, claim.Before{"status": "resend", "note": "of B-2"})

	b.must(b.CloseBatch(b.ctx(), "m-1", true))
	b.must(b.CloseBatch(b.ctx(), "m-1", true)) // a later run found out the same
	if b.CloseBatch(b.ctx(), "m-1", false) == nil {
		b.Error("an applied batch was called refused")
	}
	if b.CloseBatch(b.ctx(), "m-9", true) == nil {
		b.Error("a batch that was never opened was closed")
	}

	run2 := b.begin("2")
	id2, count2 := b.open(run2, batch(run2))
	b.same("ledger and count of the next batch", []any{id2, count2}, []any{id, uint64(2)})
}

// batchRefused: what must not be written to the sheet is not opened, and leaves no
// trace.
func batchRefused(b *bench) {
	run, other := b.begin("1"), b.begin("2")
	b.holds(run, first("B-1"))
	b.holds(other, first("B-2"))
	b.carry(run, first("B-3"), claim.Returning, "")
	refuse := func(what string, ob claim.OpenBatch) {
		b.Helper()
		if _, _, err := b.OpenBatch(b.ctx(), run, ob); err == nil {
			b.Errorf("opened a batch with %s", what)
		}
	}
	refuse("the claim of another run", batch(run, "B-1", "B-2"))
	same := take(other, first("B-5"))
	same.Mark = "m-1" // marks are random, so this does not happen
	if _, err := b.Take(b.ctx(), other, []claim.Take{same}); err != nil {
		b.Fatal(err)
	}
	refuse("the claim of another run under the same mark", batch(run, "B-1", "B-5"))
	refuse("a claim that is being given back", batch(run, "B-1", "B-3"))
	refuse("an unknown key", batch(run, "B-1", "B-4"))
	stranger := batch(run, "B-1")
	stranger.Mark = "m-9"
	refuse("the mark of another batch", stranger)
	huge := batch(run)
	huge.N = math.MaxUint64
	refuse("a fence number that was not counted", huge)
	b.same("before", b.message("B-1").Before, claim.Before(nil))

	b.clock.advance(lease)
	if _, _, err := b.OpenBatch(b.ctx(), run, batch(run, "B-1")); !errors.Is(err, ledger.ErrLeaseEnded) {
		b.Errorf("opened a batch without a lease: %v", err)
	}
	late := b.begin("3")
	_, count := b.open(late, batch(late))
	b.same("count after refusals", count, uint64(1))
}

func batchAgain(b *bench) {
	run := b.begin("1")
	b.holds(run, first("B-1"))
	_, one := b.open(run, batch(run, "B-1"))
	if _, _, err := b.OpenBatch(b.ctx(), run, batch(run, "B-1")); err == nil {
		b.Error("opened a batch twice")
	}
	b.must(b.CloseBatch(b.ctx(), "m-1", false))
	next := batch(run, "B-1")
	next.N++ // the number before was something else's
	_, two := b.open(run, next)
	if two <= one {
		b.Errorf("counts %d, then %d", one, two)
	}
	b.must(b.CloseBatch(b.ctx(), "m-1", true))
}

func batchFenceBefore(b *bench) {
	run := b.begin("1")
	batches := []struct {
		mark   string
		n      uint64
		tab    int64
		answer string
	}{
		{"a", 10, 7, "applied"},
		{"b", 11, 7, "applied"},
		{"c", 99, 8, "applied"},
		{"d", 98, 7, "refused"},
		{"e", 97, 7, ""},
		{"f", 12, 7, "applied"},
	}
	start := b.clock.Now()
	for _, x := range batches {
		ob := batch(run)
		ob.Mark, ob.N, ob.Tab.ID = x.mark, x.n, x.tab
		b.open(run, ob)
		if x.answer != "" {
			b.must(b.CloseBatch(b.ctx(), x.mark, x.answer == "applied"))
		}
		b.clock.advance(time.Second)
	}
	at := func(d time.Duration, tab int64) uint64 {
		b.Helper()
		n, err := b.FenceBefore(b.ctx(), "S1", tab, start.Add(d))
		b.must(err)
		return n
	}
	b.same("before the first", at(0, 7), uint64(0))
	b.same("after the first", at(time.Second, 7), uint64(10))
	b.same("after the fifth: neither refused nor unanswered", at(5*time.Second, 7), uint64(11))
	b.same("at the end", at(time.Hour, 7), uint64(12))
	b.same("on another tab", at(time.Hour, 8), uint64(99))
	b.same("on an unknown tab", at(time.Hour, 9), uint64(0))
}

func batchRewound(b *bench) {
	run := b.begin("1")
	id, count := b.open(run, batch(run))
	rewound := func(ledger string, seen uint64) bool {
		b.Helper()
		got, err := b.Rewound(b.ctx(), ledger, seen)
		b.must(err)
		return got
	}
	b.same("own count", rewound(id, count), false)
	b.same("another ledger's count", rewound("other", 1000), false)
	b.same("a count that this ledger never gave", rewound(id, 9), true)
	b.same("the same count again", rewound(id, 9), false)
	b.must(b.CloseBatch(b.ctx(), "m-1", true))
	if _, count = b.open(run, batch(run)); count <= 9 {
		b.Errorf("the next count is %d", count)
	}
	if _, err := b.Rewound(b.ctx(), id, math.MaxUint64); err == nil {
		b.Error("took a count that nobody can reach")
	}
}
