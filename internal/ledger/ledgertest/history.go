package ledgertest

import (
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// historyRuns: runs that ended, that go on, and whose process died, oldest first,
// and none of another job or from before.
func historyRuns(b *bench) {
	ended := func(id string, took time.Duration, claimed bool) claim.Span {
		began := b.clock.Now()
		run := b.begin(id)
		b.clock.advance(took)
		b.must(b.Finish(b.ctx(), run, claim.Document{}, claimed))
		return claim.Span{Run: id, Began: began, Until: b.clock.Now(), Ended: true, Claimed: claimed}
	}
	ended("before", time.Minute, true)
	since := b.clock.Now()
	first := ended("1", 20*time.Second, true)
	idle := ended("2", time.Second, false)
	other := request("other")
	other.Job = "invoices"
	_, _, err := b.Begin(b.ctx(), other, b.clock.Now())
	b.must(err)

	open := claim.Span{Run: "3", Began: b.clock.Now(), Until: b.clock.Now().Add(lease)}
	b.begin("3")
	b.clock.advance(time.Second)
	last := ended("4", time.Second, true)
	got, err := b.History(b.ctx(), "reviews", since)
	b.must(err)
	b.same("history", got, claim.History{Since: since, Until: b.clock.Now(), Runs: []claim.Span{first, idle, open, last}})
	b.same("overlapped", got.Overlap(0).Overlapped, 1)

	b.clock.advance(2 * lease) // run 3 has died: it did not go on longer than its lease
	got, err = b.History(b.ctx(), "reviews", since)
	b.must(err)
	b.same("a dead run", got.Runs[2], open)
	got, err = b.History(b.ctx(), "unknown", since)
	b.must(err)
	b.same("an unknown job", got.Runs, []claim.Span(nil))
}

// historyForeign: a claim of another tool is remembered once, also when it is gone
// from the sheet, and one of our own is none.
func historyForeign(b *bench) {
	ask := func(found ...claim.Stray) {
		b.Helper()
		_, _, err := b.Strays(b.ctx(), book(), found)
		b.must(err)
	}
	want := func(what string, since time.Time, fs ...claim.ForeignClaim) {
		b.Helper()
		h, err := b.History(b.ctx(), "reviews", since)
		b.must(err)
		b.same(what, h.Foreign, fs)
	}
	start := b.clock.Now()
	run := b.begin("1")
	_, _, err := b.OpenBatch(b.ctx(), run, claim.OpenBatch{
		Mark: "ours", Run: run, Target: claim.Target{Spreadsheet: "S1", Range: "Visits!A1:H"}, Tab: claim.Tab{ID: 7, Title: "Visits"}, N: 1,
	})
	b.must(err)
	foreign := claim.Stray{Key: "B-1", Text: "sending 4711/foreign.1", Mark: "foreign"}
	ask(foreign, claim.Stray{Key: "B-2", Text: "sending 1/ours.1", Mark: "ours"})
	first := claim.ForeignClaim{At: start, Key: "B-1"}
	want("seen", start, first)

	b.clock.advance(time.Minute)
	ask(foreign)
	want("seen again", start, first)
	ask()
	want("gone from the sheet", start, first)

	ask(foreign)
	second := claim.ForeignClaim{At: b.clock.Now(), Key: "B-1"}
	want("claimed again", start, first, second)
	want("since a minute", b.clock.Now(), second)

	b.clock.advance(time.Minute)
	b.must(b.Report(b.ctx(), run, []claim.Report{{Alert: claim.Alert{
		Kind: claim.AlertDoubt, Cause: string(claim.ClaimOverwritten), Rows: []claim.AlertRow{
			{Key: "B-3", Detail: "claim_overwritten: the cell reads \"busy\""}, {Key: "B-4", Detail: "row_gone: no row has the key"},
		},
	}}}))
	want("overwritten", b.clock.Now(), claim.ForeignClaim{At: b.clock.Now(), Key: "B-3"})
}
