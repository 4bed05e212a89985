package ledgertest

import (
	"errors"
	"sync"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// alertsOfRun: a run's own alerts, and how each fares on each route.
func alertsOfRun(b *bench) {
	before := b.begin("2")
	b.report(before, "of another run")
	b.must(b.Finish(b.ctx(), before, claim.Document{}, false))
	run := b.begin("1")
	b.report(run, "of an earlier run of this name")
	b.clock.advance(time.Hour)
	since := b.clock.Now()
	b.report(run, "login")
	_, numbers := b.queued("email")
	mine := numbers[len(numbers)-1:]
	b.must(b.Delivered(b.ctx(), "email", mine, b.clock.Now()))
	next := b.clock.Now().Add(time.Minute)
	reserved, err := b.Reserve(b.ctx(), "webhook", mine, "one", time.Minute)
	b.must(err)
	b.same("reserved", reserved, true)
	b.must(b.Undelivered(b.ctx(), "webhook", mine, "one", "connection refused", next))

	kept, err := b.AlertsOf(b.ctx(), "reviews", "1", since)
	b.must(err)
	if len(kept) != 1 || kept[0].Cause != "login" || kept[0].Tries != 1 || len(kept[0].Rows) != 1 {
		b.Fatalf("kept %+v", kept)
	}
	b.same("deliveries", kept[0].Deliveries, []claim.Delivery{
		{Route: "email", At: since},
		{Route: "webhook", Tries: 1, Problem: "connection refused", Next: next},
	})
}

// answers: a word that names its generation settles that one doubt once, however many
// give it at the same moment, and is remembered.
func answers(b *bench) {
	run := b.begin("1")
	b.ends(run, first("B-1"), claim.Unknown)
	b.ends(run, first("B-2"), claim.Unknown)
	word := claim.Settlement{Book: book(), Key: "B-1", Generation: 1, Word: claim.WordResend, Who: "ada", Why: "no trace of it"}
	const many = 8
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = claim.Settle(b.ctx(), b, word) })
	}
	all.Wait()
	taken := 0
	for _, err := range errs {
		if err == nil {
			taken++
		} else if !errors.Is(err, claim.ErrAnswered) {
			b.Errorf("a second word: %v", err)
		}
	}
	b.same("words taken", taken, 1)

	other := word
	other.Key, other.Generation = "B-2", 2
	if err := claim.Settle(b.ctx(), b, other); !errors.Is(err, claim.ErrAnswered) {
		b.Errorf("a generation that is not there: %v", err)
	}
	other.Generation, other.Word, other.Why = 1, claim.WordSent, "in the Sent folder"
	b.must(claim.Settle(b.ctx(), b, other))

	said := func(key string, limit int) (keys, texts []string) {
		as, err := b.Answers(b.ctx(), "reviews", key, limit)
		b.must(err)
		for _, a := range as {
			keys, texts = append(keys, a.Key), append(texts, a.Text)
		}
		return keys, texts
	}
	keys, texts := said("", 10)
	b.same("answered", keys, []string{"B-2", "B-1"})
	b.same("said", texts, []string{"settled as sent by ada: in the Sent folder", "settled as resend by ada: no trace of it"})
	keys, _ = said("B-1", 10)
	b.same("answered of one key", keys, []string{"B-1"})
	keys, _ = said("", 1)
	b.same("the newest", keys, []string{"B-2"})
}
