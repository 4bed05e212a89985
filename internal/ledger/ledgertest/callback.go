package ledgertest

import (
	"sync/atomic"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// due answers the open callbacks by address.
func (b *bench) due() map[string]claim.Callback {
	b.Helper()
	cs, err := b.DueCallbacks(b.ctx(), b.clock.Now(), 100)
	b.must(err)
	m := map[string]claim.Callback{}
	for _, c := range cs {
		m[c.URL] = c
	}
	b.same("callbacks with an address of their own", len(m), len(cs))
	return m
}

// reserved reserves a callback for a minute.
func (b *bench) reserved(c claim.Callback) bool {
	b.Helper()
	mine, err := b.ReserveCallback(b.ctx(), c, b.clock.Now(), b.clock.Now().Add(time.Minute))
	b.must(err)
	return mine
}

// callbacksOnce: an address is told of a run once, when it has ended, whoever asks and
// however often.
func callbacksOnce(b *bench) {
	const one, two = "https://n8n.internal/1", "https://n8n.internal/2"
	run := b.begin("4711")
	for _, url := range []string{one, two, one} {
		b.must(b.AskCallback(b.ctx(), run, url))
	}
	b.same("due while the run goes on", len(b.due()), 0)
	d := claim.Document{Job: "reviews", RunID: "4711", State: claim.RunFinished, Outcome: claim.RunNothingDue, Detail: "first"}
	b.must(b.Finish(b.ctx(), run, d, false))
	b.same("due", b.due(), map[string]claim.Callback{one: {Run: run, Document: d, URL: one}, two: {Run: run, Document: d, URL: two}})

	b.must(b.EndCallback(b.ctx(), b.due()[one], "", b.clock.Now()))
	b.must(b.AskCallback(b.ctx(), run, one))
	b.same("due once told", b.due(), map[string]claim.Callback{two: {Run: run, Document: d, URL: two}})

	again := b.begin("4711") // another run of that name
	b.must(b.Finish(b.ctx(), again, d, false))
	b.must(b.AskCallback(b.ctx(), again, one))
	b.same("due of the next run", b.due()[one].Run, again)
}

// callbacksTries: one process at a time tries, and each try counts.
func callbacksTries(b *bench) {
	const url = "https://n8n.internal/1"
	run := b.begin("4711")
	b.must(b.Finish(b.ctx(), run, claim.Document{}, false))
	b.must(b.AskCallback(b.ctx(), run, url))
	first, began := b.due()[url], b.clock.Now()
	var winners atomic.Int32
	race(8, func(int) {
		mine, err := b.ReserveCallback(b.ctx(), first, began, began.Add(time.Minute))
		if err != nil {
			b.Error(err)
		}
		if mine {
			winners.Add(1)
		}
	})
	b.same("processes that try", winners.Load(), int32(1))
	b.same("due while one tries", len(b.due()), 0)

	b.clock.advance(time.Minute) // it died
	second := b.due()[url]
	b.same("tries and first", []any{second.Tries, second.First}, []any{1, began})
	b.same("reserved on an old count", b.reserved(first), false)
	b.same("reserved", b.reserved(second), true)
	b.must(b.RetryCallback(b.ctx(), second, "answered 500", b.clock.Now().Add(5*time.Second)))
	b.same("due before its time", len(b.due()), 0)
	b.clock.advance(5 * time.Second)
	third := b.due()[url]
	b.same("tries and first", []any{third.Tries, third.First}, []any{2, began})

	b.must(b.EndCallback(b.ctx(), third, "answered 500", b.clock.Now()))
	b.must(b.RetryCallback(b.ctx(), third, "late", b.clock.Now()))
	b.same("due once given up", len(b.due()), 0)
	b.same("reserved once given up", b.reserved(third), false)
}
