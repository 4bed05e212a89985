package ledgertest

import (
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// waits answers the keys that wait in a book, in the ledger's order.
func (b *bench) waits(of claim.Book) []string {
	b.Helper()
	ms, err := b.Waiting(b.ctx(), of)
	b.must(err)
	var keys []string
	for _, m := range ms {
		keys = append(keys, m.Key)
	}
	return keys
}

// edit changes a message that has ended.
func (b *bench) edit(run claim.RunRef, k claim.MessageKey, set func(m *claim.Message)) {
	b.Helper()
	mv := step(run, k, claim.Verified, claim.Verified)
	mv.Set = set
	if !b.moves(run, mv) {
		b.Fatalf("key %s was not edited", k.Key)
	}
}

// ends brings a key to its end, with an outcome that is settled now.
func (b *bench) ends(run claim.RunRef, k claim.MessageKey, outcome claim.Outcome) {
	b.Helper()
	b.carry(run, k, claim.Verified, outcome)
	now := b.clock.Now()
	b.edit(run, k, func(m *claim.Message) { m.SettledAt = now })
}

// next names the generation after k.
func next(k claim.MessageKey) claim.MessageKey {
	k.Generation++
	return k
}

// giveBack returns a claim that was only taken.
func (b *bench) giveBack(run claim.RunRef, k claim.MessageKey) {
	b.Helper()
	if !b.moves(run, step(run, k, claim.Claimed, claim.Returning)) || !b.moves(run, step(run, k, claim.Returning, claim.Returned)) {
		b.Fatalf("key %s was not given back", k.Key)
	}
}

// waitingUnknown: of all outcomes only unknown waits for a person, from the moment it
// is settled, the oldest first, and as the ledger holds it.
func waitingUnknown(b *bench) {
	run := b.begin("1")
	b.same("an empty ledger", b.waits(book()), []string(nil))
	for _, o := range []claim.Outcome{claim.Sent, claim.Failed, claim.GaveUp, claim.Rejected} {
		b.ends(run, first("B-"+string(o)), o)
	}
	for _, s := range []claim.State{claim.Claimed, claim.Confirmed, claim.Sending, claim.Returning, claim.Returned} {
		b.carry(run, first("B-"+string(s)), s, "")
	}
	b.same("nothing is unknown", b.waits(book()), []string(nil))

	b.ends(run, first("B-2"), claim.Unknown)
	b.clock.advance(time.Second)
	b.ends(run, first("B-1"), claim.Unknown)
	b.same("the oldest first", b.waits(book()), []string{"B-2", "B-1"})
	ms, err := b.Waiting(b.ctx(), book())
	b.must(err)
	b.same("message", ms[0], b.message("B-2"))
	for _, s := range []claim.State{claim.Settled, claim.Marked} {
		b.carry(run, first("B-"+string(s)), s, claim.Unknown)
	}
	b.same("also before the mark is verified", len(b.waits(book())), 4)
}

// waitingSettled: a person's word ends the wait.
func waitingSettled(b *bench) {
	run := b.begin("1")
	b.ends(run, first("B-1"), claim.Unknown)
	b.ends(run, first("B-2"), claim.Unknown)
	b.edit(run, first("B-1"), func(m *claim.Message) { m.SettledBy = "ada" })
	b.same("one was settled as it is", b.waits(book()), []string{"B-2"})
	mv := step(run, first("B-2"), claim.Verified, claim.Settled)
	mv.Set = func(m *claim.Message) { m.Outcome, m.SettledBy = claim.Sent, "ada" }
	b.same("settled as sent", b.moves(run, mv), true)
	b.same("none is left", b.waits(book()), []string(nil))
}

// waitingBooks: a book is one job's memory of one spreadsheet, or of all its own.
func waitingBooks(b *bench) {
	run := b.begin("1")
	s1, s2, other := first("B-1"), first("B-1"), first("B-1")
	s2.Spreadsheet, other.Job = "S2", "invoices"
	b.ends(run, s1, claim.Unknown)
	b.clock.advance(time.Second)
	b.ends(run, s2, claim.Unknown)
	b.ends(run, other, claim.Unknown)
	for _, tt := range []struct {
		of   claim.Book
		want []claim.MessageKey
	}{
		{claim.Book{Job: "reviews"}, []claim.MessageKey{s1, s2}},
		{claim.Book{Job: "reviews", Spreadsheet: "S1"}, []claim.MessageKey{s1}},
		{claim.Book{Job: "reviews", Spreadsheet: "S2"}, []claim.MessageKey{s2}},
		{claim.Book{Job: "reviews", Spreadsheet: "S3"}, nil},
		{claim.Book{Job: "invoices"}, []claim.MessageKey{other}},
		{claim.Book{}, nil},
	} {
		ms, err := b.Waiting(b.ctx(), tt.of)
		b.must(err)
		var got []claim.MessageKey
		for _, m := range ms {
			got = append(got, m.MessageKey)
		}
		b.same("waiting in "+tt.of.Job+"/"+tt.of.Spreadsheet, got, tt.want)
	}
}

// waitingWish: a wish waits, whatever the end was, until a later generation is under
// way; one that is given back leaves the wish open.
func waitingWish(b *bench) {
	run, again, third := b.begin("1"), b.begin("2"), b.begin("3")
	k := first("B-1")
	b.ends(run, k, claim.Sent)
	b.edit(run, k, func(m *claim.Message) { m.Wish = true })
	b.same("the wish", b.waits(book()), []string{"B-1"})
	ms, err := b.Waiting(b.ctx(), book())
	b.must(err)
	b.same("is kept", ms[0].Wish, true)

	b.holds(again, next(k))
	b.same("while it is fulfilled", b.waits(book()), []string(nil))
	b.giveBack(again, next(k))
	b.same("after giving back", b.waits(book()), []string{"B-1"})
	b.ends(third, next(k), claim.Sent)
	b.same("when it is fulfilled", b.waits(book()), []string(nil))
}

// waitingGenerations: a later generation settles what the one before left open, and
// may end unknown itself.
func waitingGenerations(b *bench) {
	run, again, third := b.begin("1"), b.begin("2"), b.begin("3")
	k := first("B-1")
	b.ends(run, k, claim.Unknown)
	b.holds(again, next(k)) // a person typed resend into the cell
	b.same("under way again", b.waits(book()), []string(nil))
	b.giveBack(again, next(k))
	b.same("given back", b.waits(book()), []string{"B-1"})
	b.ends(third, next(k), claim.Unknown)
	ms, err := b.Waiting(b.ctx(), book())
	b.must(err)
	b.same("how many wait", len(ms), 1)
	b.same("the newest", ms[0].MessageKey, next(k))
}
