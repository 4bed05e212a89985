package ledgertest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// moveEveryPair: Move makes the moves that claim.CanMove allows and no others.
// Claimed is reached by Take alone, since it asks more.
func moveEveryPair(b *bench) {
	run := b.begin("1")
	for _, from := range claim.States() {
		for _, to := range claim.States() {
			k := first(string(from) + " to " + string(to))
			b.carry(run, k, from, claim.Failed)
			before := b.message(k.Key)
			want := claim.CanMove(from, to) && to != claim.Claimed
			if got := b.moves(run, step(run, k, from, to)); got != want {
				b.Errorf("move from %s to %s: %v, want %v", from, to, got, want)
			}
			if want {
				before.State = to
			}
			b.same(k.Key, b.message(k.Key), before)
		}
	}
}

func moveNamesClaim(b *bench) {
	run := b.begin("1")
	k := first("B-1")
	b.holds(run, k)

	other := step(run, k, claim.Claimed, claim.Confirmed)
	other.Claim += "'"
	missing := step(run, first("B-2"), claim.Claimed, claim.Confirmed)
	later := step(run, k, claim.Claimed, claim.Confirmed)
	later.Generation = 2
	got, err := b.Move(b.ctx(), run, []claim.Move{other, missing, later, step(run, k, claim.Claimed, claim.Confirmed)})
	b.must(err)
	b.same("moved", got, []bool{false, false, false, true})

	// The claim of a dead run is no claim any more once another run has the key.
	b.carry(run, first("B-3"), claim.Returned, "")
	b.holds(b.begin("2"), first("B-3"))
	if b.moves(run, step(run, first("B-3"), claim.Claimed, claim.Confirmed)) {
		b.Error("an old claim moved the new one")
	}
}

func moveFromAny(b *bench) {
	run := b.begin("1")
	k := first("B-1")
	b.holds(run, k)
	back := claim.Move{MessageKey: k, Claim: take(run, k).Claim, To: claim.Returning}
	if b.moves(run, back) {
		b.Error("moved from no state")
	}
	back.From = []claim.State{claim.Confirmed}
	if b.moves(run, back) {
		b.Error("moved from a state that the claim is not in")
	}
	back.From = []claim.State{claim.Confirmed, claim.Claimed}
	if !b.moves(run, back) {
		b.Error("did not move from one of two states")
	}
}

func moveIf(b *bench) {
	run := b.begin("1")
	k := first("B-1")
	b.carry(run, k, claim.Verified, claim.Unknown)
	late := step(run, k, claim.Verified, claim.Settled)
	late.Set = func(m *claim.Message) { m.Outcome = claim.Sent }
	late.If = func(m claim.Message) bool { return m.Outcome == claim.Failed }
	late.Event, late.Alerts = "late", []claim.Alert{{Kind: claim.AlertDoubt}}
	if b.moves(run, late) {
		b.Error("moved against If")
	}
	b.same("outcome", b.message("B-1").Outcome, claim.Unknown)
	as, err := b.Alerts(b.ctx())
	b.must(err)
	b.same("alerts of a refused move", len(as), 0)

	late.If = func(m claim.Message) bool { return m.Outcome == claim.Unknown && m.State == claim.Verified }
	if !b.moves(run, late) {
		b.Error("did not move though If agrees")
	}
	b.same("outcome", b.message("B-1").Outcome, claim.Sent)
}

func moveSet(b *bench) {
	run := b.begin("1")
	k := first("B-1")
	b.carry(run, k, claim.Sending, "")
	at := b.clock.Now().Add(1234567 * time.Microsecond)
	want := b.message("B-1")
	want.State, want.Outcome, want.Attempts = claim.Settled, claim.Failed, 1
	want.RetryAt, want.SettledAt = at.Add(time.Hour), at
	want.Before = claim.Before{"status": "resend", "note": "line\nbreak \"and\" quotes"}
	want.Status, want.Reason = "failed 1/3: 451 later", "451 later"
	want.MessageID, want.Reply = "<x@example.com>", "451 4.3.0 later"
	want.Run = b.begin("2") // a later run may put its own name on what it repairs

	mv := step(run, k, claim.Sending, claim.Settled)
	mv.Set = func(m *claim.Message) {
		*m = want
		m.Key, m.Generation, m.Claim, m.State = "B-9", 9, "mine", claim.Verified // not Set's to choose
	}
	if !b.moves(run, mv) {
		b.Fatal("did not move")
	}
	b.same("message", b.message("B-1"), want)
}

func moveLease(b *bench) {
	run := b.begin("1")
	for _, key := range []string{"B-1", "B-2", "B-3"} {
		b.carry(run, first(key), claim.Confirmed, "")
	}
	send := func(key string) claim.Move {
		mv := step(run, first(key), claim.Confirmed, claim.Sending)
		mv.Lease = true
		return mv
	}
	b.clock.advance(lease - time.Nanosecond)
	if !b.moves(run, send("B-1")) {
		b.Error("the lease holds, but the move was refused")
	}
	b.clock.advance(time.Nanosecond)
	if b.moves(run, send("B-2")) {
		b.Error("the lease has ended, but the move was made")
	}
	if !b.moves(run, step(run, first("B-1"), claim.Sending, claim.Settled)) {
		b.Error("a move that asks for no lease was refused: an outcome that comes late must be kept")
	}

	finished := b.begin("2")
	b.carry(finished, first("B-4"), claim.Confirmed, "")
	b.must(b.Finish(b.ctx(), finished, claim.Document{}, true))
	mv := step(finished, first("B-4"), claim.Confirmed, claim.Sending)
	mv.Lease = true
	if b.moves(finished, mv) {
		b.Error("a finished run has no lease, but the move was made")
	}
}

// moveLeaseWhileWaiting: the lease is judged when the transaction has its turn,
// not when it was asked for.
func moveLeaseWhileWaiting(b *bench) {
	run := b.begin("1")
	b.carry(run, first("B-1"), claim.Confirmed, "")
	b.carry(run, first("B-2"), claim.Confirmed, "")

	// An engine that lets both in at once makes the second move before the lease ends.
	inside, release := make(chan struct{}), make(chan struct{})
	var entered, ended sync.Once
	slow := step(run, first("B-1"), claim.Confirmed, claim.Returning)
	slow.Set = func(*claim.Message) {
		entered.Do(func() { close(inside) })
		<-release
	}
	send := step(run, first("B-2"), claim.Confirmed, claim.Sending)
	send.Lease = true
	end := func() { ended.Do(func() { b.clock.advance(lease); close(release) }) }
	waited := make(chan bool)
	go func() {
		<-inside
		late := time.AfterFunc(300*time.Millisecond, end) // by then the other move waits
		defer late.Stop()
		got, err := b.Move(b.ctx(), run, []claim.Move{send})
		if err != nil {
			b.Error(err)
		}
		over := !b.clock.Now().Before(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).Add(lease))
		end()
		waited <- err == nil && got[0] && over
	}()
	if !b.moves(run, slow) {
		b.Fatal("the slow move was refused")
	}
	if <-waited {
		b.Error("the lease ended while the move waited for its turn, but it was made")
	}
}

// moveRace: of a commit record and a give-back of one claim only one is made.
func moveRace(b *bench) {
	run := b.begin("1")
	b.carry(run, first("B-1"), claim.Confirmed, "")
	var made atomic.Int32
	race(16, func(i int) {
		to := claim.Sending
		if i%2 == 1 {
			to = claim.Returning
		}
		got, err := b.Move(b.ctx(), run, []claim.Move{step(run, first("B-1"), claim.Confirmed, to)})
		if err != nil {
			b.Error(err)
		} else if got[0] {
			made.Add(1)
		}
	})
	b.same("moves made", made.Load(), int32(1))
}

func moveAttempts(b *bench) {
	run, next := b.begin("1"), b.begin("2")
	k := first("B-1")
	try := func(run claim.RunRef, from, to claim.State, a claim.Attempt) {
		b.Helper()
		mv := step(run, k, from, to)
		mv.Attempt = &a
		mv.Set = func(m *claim.Message) { m.Outcome = claim.Failed }
		if !b.moves(run, mv) {
			b.Fatalf("did not move to %s", to)
		}
	}
	at := b.clock.Now()
	began := claim.Attempt{Number: 1, MessageID: "<x@example.com>", At: at}
	ended := claim.Attempt{Number: 1, Verdict: claim.Deferred, Step: "dot", Reply: "451 later", MessageID: "<x@example.com>", At: at.Add(time.Second)}

	b.carry(run, k, claim.Confirmed, "")
	try(run, claim.Confirmed, claim.Sending, began)
	b.same("attempts while the dot is under way", b.attempts(k), []claim.Attempt{began})
	try(run, claim.Sending, claim.Settled, ended)
	b.same("attempts after the answer", b.attempts(k), []claim.Attempt{ended})
	try(run, claim.Settled, claim.Settled, began)
	b.same("attempts after a record without verdict", b.attempts(k), []claim.Attempt{ended})

	b.moves(run, step(run, k, claim.Settled, claim.Marked))
	b.moves(run, step(run, k, claim.Marked, claim.Verified))
	b.holds(next, k)
	b.moves(next, step(next, k, claim.Claimed, claim.Confirmed))
	try(next, claim.Confirmed, claim.Sending, began) // the same number, another claim
	b.same("attempts of two claims", b.attempts(k), []claim.Attempt{ended, began})
}

func (b *bench) attempts(k claim.MessageKey) []claim.Attempt {
	b.Helper()
	as, err := b.Attempts(b.ctx(), k)
	b.must(err)
	return as
}

func moveWrites(b *bench) {
	run := b.begin("1")
	k := first("B-1")
	b.carry(run, k, claim.Sending, "")
	b.clock.advance(time.Second)
	alert := claim.Alert{
		Kind: claim.AlertUnknown, Job: "reviews", Run: "1", Cause: "reply lost",
		Rows: []claim.AlertRow{{Row: 12, Key: "B-1", Detail: "no answer"}}, Seen: "s", Done: "d", Todo: "t",
	}
	mv := step(run, k, claim.Sending, claim.Settled)
	mv.Alerts, mv.Event = []claim.Alert{alert}, "the answer was lost"
	if !b.moves(run, mv) || b.moves(run, step(run, k, claim.Sending, claim.Settled)) {
		b.Fatal("a move was refused, or made twice")
	}

	as, err := b.Alerts(b.ctx())
	b.must(err)
	b.same("alerts", as, []claim.QueuedAlert{{Alert: alert, Number: as[0].Number, At: b.clock.Now()}})

	es, err := b.Events(b.ctx(), "reviews")
	b.must(err)
	var path []claim.State
	for _, e := range es {
		path = append(path, e.From, e.To)
	}
	b.same("events", path, []claim.State{
		"", claim.Claimed, claim.Claimed, claim.Confirmed, claim.Confirmed, claim.Sending,
		claim.Sending, claim.Settled,
	})
	last := es[len(es)-1]
	b.same("event", []any{last.MessageKey, last.At, last.Run, last.Text}, []any{k, b.clock.Now(), "1", "the answer was lost"})
}
