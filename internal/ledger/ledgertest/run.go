package ledgertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// asks begins a run that may be there already.
func (b *bench) asks(id string) (claim.RunRecord, bool) { //nolint:unparam // the tests read better with the id at the call
	b.Helper()
	rec, created, err := b.Begin(b.ctx(), request(id), b.clock.Now())
	b.must(err)
	return rec, created
}

func runAttach(b *bench) {
	rec, created := b.asks("4711")
	b.same("created", created, true)
	b.same("record", rec, claim.RunRecord{
		RunRef: claim.RunRef{Job: "reviews", ID: "4711", Seq: rec.Seq}, Params: "Visits!A1:H", Instance: "i1", Alive: true,
		Document: claim.Document{
			Job: "reviews", RunID: "4711", State: claim.RunRunning, StartedAt: b.clock.Now(),
			Rows: []claim.RowReport{}, Doubts: []claim.Doubt{},
		},
	})
	d := rec.Document
	d.Step, d.Counts.Claimed, d.Rows = claim.StepSend, 2, []claim.RowReport{{Row: 2, Key: "B-1"}}
	b.must(b.Save(b.ctx(), rec.RunRef, d))

	again, created := b.asks("4711")
	b.same("created", created, false)
	rec.Document = d
	b.same("record", again, rec)

	other := request("4711")
	other.Job = "invoices"
	_, created, err := b.Begin(b.ctx(), other, b.clock.Now())
	b.must(err)
	b.same("created for another job", created, true)

	for _, bad := range []claim.RunRequest{{}, {Job: "reviews", ID: "1"}, {ID: "1", Lease: lease}, {Job: "reviews", Lease: lease}} {
		if _, _, err := b.Begin(b.ctx(), bad, b.clock.Now()); err == nil {
			b.Errorf("began %+v", bad)
		}
	}
}

func runRace(b *bench) {
	const n = 16
	var made atomic.Int32
	var seqs [n]int64
	race(n, func(i int) {
		rec, created, err := b.Begin(b.ctx(), request("cron-1"), b.clock.Now())
		if err != nil {
			b.Error(err)
			return
		}
		if created {
			made.Add(1)
		}
		seqs[i] = rec.Seq
	})
	b.same("runs created", made.Load(), int32(1))
	for _, seq := range seqs {
		b.same("number of the run", seq, seqs[0])
	}
}

func runPinned(b *bench) {
	run := b.begin("4711")
	b.clock.advance(time.Hour) // memory counts from the end
	end := b.clock.Now()
	d := claim.Document{Job: "reviews", RunID: "4711", State: claim.RunFinished, Outcome: claim.RunSent, FinishedAt: &end}
	b.must(b.Finish(b.ctx(), run, d, true))

	b.clock.advance(24*time.Hour - time.Nanosecond)
	rec, created := b.asks("4711")
	b.same("created within memory", created, false)
	b.same("record", rec, claim.RunRecord{RunRef: run, Params: "Visits!A1:H", Instance: "i1", Document: d})

	b.clock.advance(time.Nanosecond)
	rec, created = b.asks("4711")
	b.same("created after it", created, true)
	if rec.Seq <= run.Seq {
		b.Errorf("number %d after %d", rec.Seq, run.Seq)
	}
}

func runNotPinned(b *bench) {
	run := b.begin("4711")
	b.must(b.Finish(b.ctx(), run, claim.Document{Outcome: claim.RunNothingDue}, false))
	rec, err := b.Find(b.ctx(), "reviews", "4711")
	b.must(err)
	b.same("outcome", rec.Document.Outcome, claim.RunNothingDue)
	once := request("4711")
	once.Once = true
	rec, created, err := b.Begin(b.ctx(), once, b.clock.Now())
	b.must(err)
	b.same("created, for one that asks for one run only, and outcome", []any{created, rec.Document.Outcome}, []any{false, claim.RunNothingDue})
	rec, created = b.asks("4711")
	b.same("created", created, true)
	b.same("outcome", rec.Document.Outcome, claim.RunOutcome(""))
}

// runDead: a run that lost its lease keeps its name until it is finished, since
// its claims must be settled first.
func runDead(b *bench) {
	run := b.begin("4711")
	b.clock.advance(lease)
	rec, created := b.asks("4711")
	b.same("created, alive and number", []any{created, rec.Alive, rec.Seq}, []any{false, false, run.Seq})
	b.clock.advance(240 * time.Hour) // however long ago
	_, created = b.asks("4711")
	b.same("created", created, false)

	abandoned, err := b.Abandoned(b.ctx(), "reviews")
	b.must(err)
	b.same("abandoned", abandoned, []claim.RunRecord{rec})
	b.must(b.Finish(b.ctx(), run, claim.Document{}, false))
	abandoned, err = b.Abandoned(b.ctx(), "reviews")
	b.must(err)
	b.same("abandoned once finished", len(abandoned), 0)
	_, created = b.asks("4711")
	b.same("created once finished", created, true)
}

func runFinishOnce(b *bench) {
	run := b.begin("4711")
	b.must(b.Finish(b.ctx(), run, claim.Document{Detail: "first"}, true))
	b.must(b.Finish(b.ctx(), run, claim.Document{Detail: "second"}, false))
	b.must(b.Save(b.ctx(), run, claim.Document{Detail: "third"}))
	rec, created := b.asks("4711")
	b.same("created, state and detail", []any{created, rec.Document.State, rec.Document.Detail},
		[]any{false, claim.RunFinished, "first"})
}

func runNeverBegun(b *bench) {
	run := b.begin("4711")
	for _, stranger := range []claim.RunRef{
		{Job: "reviews", ID: "4711", Seq: run.Seq + 1}, {Job: "reviews", ID: "x", Seq: run.Seq}, {Job: "x", ID: "4711", Seq: run.Seq},
	} {
		if err := b.Finish(b.ctx(), stranger, claim.Document{}, true); !errors.Is(err, claim.ErrNoRun) {
			b.Errorf("finish %+v: %v", stranger, err)
		}
		if err := b.Save(b.ctx(), stranger, claim.Document{}); !errors.Is(err, claim.ErrNoRun) {
			b.Errorf("save %+v: %v", stranger, err)
		}
	}
	if _, err := b.Find(b.ctx(), "reviews", "x"); !errors.Is(err, claim.ErrNoRun) {
		b.Errorf("find: %v", err)
	}
	rec, err := b.Find(b.ctx(), "reviews", "4711")
	b.must(err)
	b.same("the run that was begun is alive", rec.Alive, true)
}

func runRenew(b *bench) {
	run := b.begin("1")
	renew := func(d time.Duration) bool {
		b.Helper()
		ok, err := b.Renew(b.ctx(), run, d)
		b.must(err)
		return ok
	}
	b.clock.advance(lease - time.Nanosecond)
	b.same("renewed in time", renew(lease), true)
	b.same("renewed by less", renew(time.Second), true) // takes nothing away
	b.clock.advance(lease - time.Nanosecond)
	b.holds(run, first("B-1"))
	b.clock.advance(time.Nanosecond)
	b.same("renewed after its end", renew(lease), false)
	b.refused(run, first("B-2"))

	run = b.begin("2")
	b.must(b.Finish(b.ctx(), run, claim.Document{}, false))
	b.same("renewed when finished", renew(lease), false)
}

func runLists(b *bench) {
	for i := range 5 {
		run := b.begin(fmt.Sprint(i))
		b.must(b.Finish(b.ctx(), run, claim.Document{}, false))
	}
	other := request("other")
	other.Job = "invoices"
	_, _, err := b.Begin(b.ctx(), other, b.clock.Now())
	b.must(err)
	ids := func(job string, limit int) (ids []string) {
		b.Helper()
		recs, err := b.Recent(b.ctx(), job, limit)
		b.must(err)
		for _, r := range recs {
			ids = append(ids, r.ID)
		}
		return ids
	}
	b.same("newest of the job", ids("reviews", 3), []string{"4", "3", "2"})
	b.same("newest of all jobs", ids("", 2), []string{"other", "4"})
	b.same("newest of an unknown job", ids("x", 2), []string(nil))

	b.clock.advance(lease)
	for job, n := range map[string]int{"reviews": 0, "invoices": 1, "": 1} {
		recs, err := b.Abandoned(b.ctx(), job)
		b.must(err)
		b.same("abandoned of "+job, len(recs), n)
	}
}

func runRan(b *bench) {
	run := b.begin("1")
	ran := func() bool {
		b.Helper()
		ok, err := b.Ran(b.ctx(), "reviews")
		b.must(err)
		return ok
	}
	b.same("ran before a claim", ran(), false)
	b.holds(run, first("B-1"))
	b.same("ran after a claim", ran(), true)
}

func runPause(b *bench) {
	paused := func(job string) time.Time {
		b.Helper()
		until, err := b.Paused(b.ctx(), job)
		b.must(err)
		return until
	}
	until := b.clock.Now().Add(15 * time.Minute)
	b.same("at first", paused("reviews"), time.Time{})
	b.must(b.Pause(b.ctx(), "reviews", until))
	b.same("paused", paused("reviews"), until)
	b.same("another job", paused("invoices"), time.Time{})
	b.must(b.Pause(b.ctx(), "reviews", until.Add(time.Hour)))
	b.same("paused longer", paused("reviews"), until.Add(time.Hour))
	b.clock.advance(2 * time.Hour)
	b.same("over", paused("reviews"), time.Time{})
	b.must(b.Pause(b.ctx(), "reviews", b.clock.Now().Add(time.Hour)))
	b.must(b.Pause(b.ctx(), "reviews", time.Time{}))
	b.same("taken back", paused("reviews"), time.Time{})
}
