package ledgertest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// report reports one alert of the run, by its cause.
func (b *bench) report(run claim.RunRef, cause string) {
	b.Helper()
	a := claim.Alert{Kind: claim.AlertRunFailed, Job: "reviews", Run: run.ID, Cause: cause, Rows: []claim.AlertRow{{Row: 2, Key: "B-1"}}}
	b.must(b.Report(b.ctx(), run, []claim.Report{{Alert: a}}))
}

// queued answers the causes of what is due on a route, and their numbers.
func (b *bench) queued(route string) (causes []string, numbers []int64) {
	b.Helper()
	as, err := b.Queued(b.ctx(), route, b.clock.Now())
	b.must(err)
	for _, a := range as {
		causes, numbers = append(causes, a.Cause), append(numbers, a.Number)
	}
	return causes, numbers
}

func alertsPerRoute(b *bench) {
	run := b.begin("1")
	b.report(run, "login")
	b.clock.advance(time.Second)
	b.report(run, "quota")
	for _, route := range Routes() {
		causes, _ := b.queued(route)
		b.same("queued on "+route, causes, []string{"login", "quota"})
	}
	_, numbers := b.queued("email")
	b.must(b.Delivered(b.ctx(), "email", numbers[:1], b.clock.Now()))
	causes, _ := b.queued("email")
	b.same("still queued on email", causes, []string{"quota"})
	causes, _ = b.queued("webhook")
	b.same("still queued on webhook", causes, []string{"login", "quota"})
	causes, _ = b.queued("pager")
	b.same("queued on no route of ours", causes, []string(nil))

	all, err := b.Alerts(b.ctx())
	b.must(err)
	b.same("alerts kept", len(all), 2)
}

func alertsRetry(b *bench) {
	run := b.begin("1")
	b.report(run, "login")
	_, numbers := b.queued("email")
	next := b.clock.Now().Add(time.Minute)
	b.reserves("email", numbers, "one")
	b.must(b.Undelivered(b.ctx(), "email", numbers, "one", "connection refused", next))
	causes, _ := b.queued("email")
	b.same("queued before the next try", causes, []string(nil))
	causes, _ = b.queued("webhook")
	b.same("queued on the other route", causes, []string{"login"})

	b.clock.advance(time.Minute)
	as, err := b.Queued(b.ctx(), "email", b.clock.Now())
	b.must(err)
	b.same("queued at the next try", len(as), 1)
	b.same("tries", as[0].Tries, 1)

	b.must(b.Delivered(b.ctx(), "email", numbers, b.clock.Now()))
	b.must(b.Undelivered(b.ctx(), "email", numbers, "one", "too late", b.clock.Now()))
	causes, _ = b.queued("email")
	b.same("queued once delivered", causes, []string(nil))
}

// reserves reserves alerts that must be free, for a minute.
func (b *bench) reserves(route string, numbers []int64, by string) {
	b.Helper()
	mine, err := b.Reserve(b.ctx(), route, numbers, by, time.Minute)
	b.must(err)
	b.same("reserved by "+by, mine, true)
}

// alertsReserve: no two deliver an alert at once, and the reservation of a deliverer
// that died ends.
func alertsReserve(b *bench) {
	run := b.begin("1")
	b.report(run, "login")
	b.report(run, "quota")
	_, numbers := b.queued("email")
	b.reserves("email", numbers[:1], "one")
	b.reserves("webhook", numbers, "two")
	mine, err := b.Reserve(b.ctx(), "email", numbers, "two", time.Minute)
	b.must(err)
	b.same("reserved with one that is another's", mine, false)
	causes, _ := b.queued("email")
	b.same("due", causes, []string{"quota"})
	b.must(b.Undelivered(b.ctx(), "email", numbers[:1], "two", "not mine", b.clock.Now().Add(time.Hour)))

	b.clock.advance(time.Minute) // the first one died
	b.reserves("email", numbers, "two")
	b.must(b.Undelivered(b.ctx(), "email", numbers, "one", "woke up", b.clock.Now().Add(time.Hour)))
	b.must(b.Undelivered(b.ctx(), "email", numbers[1:], "two", "connection refused", b.clock.Now()))
	causes, _ = b.queued("email")
	b.same("due after a failure", causes, []string{"quota"})
	b.must(b.Delivered(b.ctx(), "email", numbers, b.clock.Now()))
	mine, err = b.Reserve(b.ctx(), "email", numbers[1:], "three", time.Minute)
	b.must(err)
	b.same("reserved once delivered", mine, false)
}

// alertsReserveRace: of many that ask for the same alerts at once one gets them.
func alertsReserveRace(b *bench) {
	b.report(b.begin("1"), "login")
	_, numbers := b.queued("email")
	var won atomic.Int32
	race(12, func(i int) {
		mine, err := b.Reserve(b.ctx(), "email", numbers, fmt.Sprint(i), time.Minute)
		if err != nil {
			b.Error(err)
		} else if mine {
			won.Add(1)
		}
	})
	b.same("reserved", won.Load(), int32(1))
}

func alertsLastDelivered(b *bench) {
	run := b.begin("1")
	last := func(route, cause string) time.Time {
		b.Helper()
		at, err := b.LastDelivered(b.ctx(), route, "reviews", claim.AlertRunFailed, cause)
		b.must(err)
		return at
	}
	b.report(run, "login")
	b.same("never delivered", last("email", "login"), time.Time{})
	_, numbers := b.queued("email")
	b.must(b.Delivered(b.ctx(), "email", numbers, b.clock.Now()))
	at := b.clock.Now()
	b.clock.advance(time.Hour)
	b.must(b.Delivered(b.ctx(), "email", numbers, b.clock.Now())) // once is enough
	b.same("delivered", last("email", "login"), at)
	b.same("other cause", last("email", "quota"), time.Time{})
	b.same("other route", last("webhook", "login"), time.Time{})

	b.report(run, "login")
	_, numbers = b.queued("email")
	b.must(b.Delivered(b.ctx(), "email", numbers, b.clock.Now()))
	b.same("delivered again", last("email", "login"), b.clock.Now())
}

// alertsOnce: a fault that stays is reported once; one that changes again.
func alertsOnce(b *bench) {
	run := b.begin("1")
	say := func(job, once, text string) int {
		b.Helper()
		alert := claim.Alert{Kind: claim.AlertRowFault, Job: job, Seen: "a blank key"}
		b.must(b.Report(b.ctx(), run, []claim.Report{{Alert: alert, Once: once, Text: text}}))
		all, err := b.Alerts(b.ctx())
		b.must(err)
		return len(all)
	}
	b.same("said", say("reviews", "S1/row 4", "no key"), 1)
	b.same("said again", say("reviews", "S1/row 4", "no key"), 1)
	b.same("said of another row", say("reviews", "S1/row 5", "no key"), 2)
	b.same("said of another job", say("invoices", "S1/row 4", "no key"), 3)
	b.same("changed", say("reviews", "S1/row 4", "no address"), 4)
	b.same("changed back", say("reviews", "S1/row 4", "no key"), 5)
	b.same("without a name", say("reviews", "", "x"), 6)
	b.same("without a name again", say("reviews", "", "x"), 7)
	b.same("blank job means the run's", say("", "S1/row 4", "no key"), 7)

	es, err := b.Events(b.ctx(), "reviews")
	b.must(err)
	b.same("events", len(es), 6)
}
