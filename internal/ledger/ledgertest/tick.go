package ledgertest

import (
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func ids(recs []claim.RunRecord) (ids []string) {
	for _, r := range recs {
		ids = append(ids, r.ID)
	}
	return ids
}

// runByName: ticks are found among other runs, by their names and not by when they
// began, and those under way are told from those that ended or died.
func runByName(b *bench) {
	named := func(job string, limit int) []string {
		b.Helper()
		recs, err := b.LastTicks(b.ctx(), job, "cron-8", limit)
		b.must(err)
		return ids(recs)
	}
	running := func(job string) []string {
		b.Helper()
		recs, err := b.Running(b.ctx(), job)
		b.must(err)
		return ids(recs)
	}
	b.same("named at first", named("reviews", 9), []string(nil))
	dies := b.begin("cron-2")
	b.clock.advance(lease / 2)
	for _, id := range []string{"cron-3", "cron-1", "cron-9", "cron", "cron.9", "crony", "cro", "a"} {
		b.begin(id)
	}
	other := request("cron-8")
	other.Job = "invoices"
	_, _, err := b.Begin(b.ctx(), other, b.clock.Now())
	b.must(err)

	b.same("named", named("reviews", 9), []string{"cron-3", "cron-2", "cron-1"})
	b.same("the last named", named("reviews", 1), []string{"cron-3"})
	b.same("of another job", named("invoices", 9), []string{"cron-8"})
	b.same("running", running("reviews"), []string{"a", "cro", "crony", "cron.9", "cron", "cron-9", "cron-1", "cron-3", "cron-2"})
	b.clock.advance(lease / 2)
	b.same("running once a lease ended", running("reviews"), []string{"a", "cro", "crony", "cron.9", "cron", "cron-9", "cron-1", "cron-3"})
	b.must(b.Finish(b.ctx(), dies, claim.Document{}, true))
	b.same("named when one has ended", named("reviews", 2), []string{"cron-3", "cron-2"})
	b.same("running elsewhere", running("invoices"), []string{"cron-8"})
}

func runDowntimes(b *bench) {
	of := func(job string) []claim.Downtime {
		b.Helper()
		ds, err := b.Downtimes(b.ctx(), job)
		b.must(err)
		return ds
	}
	b.same("at first", of("reviews"), []claim.Downtime(nil))
	began := b.clock.Now()
	long := claim.Downtime{Began: began, Ended: began.Add(2 * time.Hour)}
	short := claim.Downtime{Began: began, Ended: began.Add(time.Hour)}
	early := claim.Downtime{Began: began.Add(-48 * time.Hour), Ended: began.Add(-47 * time.Hour)}
	for _, d := range []claim.Downtime{short, long, short, early, early} {
		b.must(b.MissedTicks(b.ctx(), "reviews", d))
	}
	b.same("kept", of("reviews"), []claim.Downtime{early, long})
	b.same("of another job", of("invoices"), []claim.Downtime(nil))
}
