package ledgertest

import (
	"slices"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// orphanKeys answers the keys of the job's orphans, sorted.
func (b *bench) orphanKeys() []string {
	b.Helper()
	ms, _, err := b.Orphans(b.ctx(), "reviews")
	b.must(err)
	var keys []string
	for _, m := range ms {
		keys = append(keys, m.Key)
	}
	slices.Sort(keys)
	return keys
}

func orphansLease(b *bench) {
	dead := b.begin("dead")
	var open []string
	for _, s := range claim.States() {
		b.carry(dead, first(string(s)), s, claim.Sent)
		if !s.Ended() {
			open = append(open, string(s))
		}
	}
	slices.Sort(open)
	elsewhere := first("elsewhere")
	elsewhere.Job = "invoices"
	b.holds(dead, elsewhere)

	b.clock.advance(lease - time.Nanosecond)
	alive := b.begin("alive")
	b.holds(alive, first("of a living run"))
	b.same("orphans while the lease holds", b.orphanKeys(), []string(nil))
	b.clock.advance(time.Nanosecond)
	b.same("orphans after its end", b.orphanKeys(), open)

	ms, _, err := b.Orphans(b.ctx(), "reviews")
	b.must(err)
	for _, m := range ms {
		b.same("orphan", m, b.message(m.Key))
		b.same("run", m.Run, dead)
	}
}

// orphansFinished: a run may finish without having marked every row; the next run
// repairs the sheet at once.
func orphansFinished(b *bench) {
	run := b.begin("1")
	b.carry(run, first("settled"), claim.Settled, claim.Sent)
	b.carry(run, first("marked"), claim.Marked, claim.Sent)
	b.carry(run, first("verified"), claim.Verified, claim.Sent)
	b.same("orphans of a living run", b.orphanKeys(), []string(nil))
	b.must(b.Finish(b.ctx(), run, claim.Document{}, true))
	b.same("orphans of a finished run", b.orphanKeys(), []string{"marked", "settled"})
}

func orphansBatches(b *bench) {
	dead := b.begin("dead")
	b.holds(dead, first("B-1"))
	want := batch(dead, "B-1")
	want.Ledger, want.LedgerCount = b.open(dead, want)
	answered := batch(dead)
	answered.Mark = "answered"
	b.open(dead, answered)
	b.must(b.CloseBatch(b.ctx(), "answered", false))

	_, open, err := b.Orphans(b.ctx(), "reviews")
	b.must(err)
	b.same("batches while the lease holds", len(open), 0)
	b.clock.advance(lease)
	ms, open, err := b.Orphans(b.ctx(), "reviews")
	b.must(err)
	b.same("batches", open, []claim.OpenBatch{want})
	b.same("before of the orphan", ms[0].Before, want.Before["B-1"])

	// Once answered, it comes for as long as a claim of it has not ended.
	b.must(b.CloseBatch(b.ctx(), want.Mark, true))
	want.Answered, want.Applied = true, true
	_, open, err = b.Orphans(b.ctx(), "reviews")
	b.must(err)
	b.same("batches after the answer", open, []claim.OpenBatch{want})
	b.moves(dead, step(dead, first("B-1"), claim.Claimed, claim.Returning))
	b.moves(dead, step(dead, first("B-1"), claim.Returning, claim.Returned))
	_, open, err = b.Orphans(b.ctx(), "reviews")
	b.must(err)
	b.same("batches after the end of its claims", len(open), 0)
}

// orphansSettledOnce: a dead run that wakes while another gives its row back can
// send nothing any more, and a late outcome is still taken.
func orphansSettledOnce(b *bench) {
	dead := b.begin("dead")
	b.carry(dead, first("B-1"), claim.Confirmed, "")
	b.carry(dead, first("B-2"), claim.Sending, "")
	b.clock.advance(lease)
	living := b.begin("living")
	if !b.moves(living, step(dead, first("B-1"), claim.Confirmed, claim.Returning)) {
		b.Fatal("the row of a dead run cannot be given back")
	}
	if b.moves(dead, step(dead, first("B-1"), claim.Confirmed, claim.Sending)) {
		b.Error("a row that is being given back was sent")
	}
	unknown := step(dead, first("B-2"), claim.Sending, claim.Settled)
	unknown.Set = func(m *claim.Message) { m.Outcome = claim.Unknown; m.Run = living }
	if !b.moves(living, unknown) {
		b.Fatal("the doubt about a dead run's message cannot be written down")
	}
	b.same("orphans that nobody has in hand", b.orphanKeys(), []string{"B-1"})
	late := step(dead, first("B-2"), claim.Settled, claim.Settled)
	late.If = func(m claim.Message) bool { return m.Outcome == claim.Unknown }
	late.Set = func(m *claim.Message) { m.Outcome = claim.Sent }
	if !b.moves(dead, late) {
		b.Error("a late outcome did not settle its own unknown")
	}
}
