package ledgertest

import "github.com/sheetclaim/sheetclaim/internal/claim"

// standing: what waits for a person, claims of runs that live and that died, and
// alerts, each counted until it is over.
func standing(b *bench) {
	want := func(what string, job claim.JobStanding, alerts int) {
		b.Helper()
		got, err := b.Standing(b.ctx())
		b.must(err)
		b.same(what, got.Jobs["reviews"], job)
		b.same(what+": alerts", got.Alerts, map[string]int{"email": alerts, "webhook": alerts})
	}
	want("nothing", claim.JobStanding{}, 0)
	run := b.begin("1")
	b.carry(run, first("B-1"), claim.Verified, claim.Sent)
	b.carry(run, first("B-2"), claim.Verified, claim.Unknown)
	b.carry(run, first("B-3"), claim.Verified, claim.Unknown)
	b.carry(run, first("B-4"), claim.Sending, "")
	b.carry(run, first("B-5"), claim.Confirmed, "")
	want("a run lives", claim.JobStanding{Unknown: 2, Open: 2}, 0)

	b.must(b.Report(b.ctx(), run, []claim.Report{{Alert: claim.Alert{Kind: claim.AlertUnknown, Seen: "no answer"}}}))
	b.clock.advance(lease)
	want("it died", claim.JobStanding{Unknown: 2, Open: 2, Stuck: 2}, 1)

	again := b.begin("2")
	b.moves(again, claim.Move{
		MessageKey: first("B-2"), Claim: take(run, first("B-2")).Claim, From: []claim.State{claim.Verified}, To: claim.Verified,
		Set: func(m *claim.Message) { m.Wish = true },
	})
	want("one is wanted again", claim.JobStanding{Unknown: 1, Resend: 1, Open: 2, Stuck: 2}, 1)

	second := first("B-2")
	second.Generation = 2
	b.holds(again, second)
	want("and taken", claim.JobStanding{Unknown: 1, Open: 3, Stuck: 2}, 1)

	qs, err := b.Queued(b.ctx(), "email", b.clock.Now())
	b.must(err)
	b.must(b.Delivered(b.ctx(), "email", []int64{qs[0].Number}, b.clock.Now()))
	got, err := b.Standing(b.ctx())
	b.must(err)
	b.same("delivered by mail", got.Alerts, map[string]int{"email": 0, "webhook": 1})
}
