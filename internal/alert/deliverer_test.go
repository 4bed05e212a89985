package alert

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// TestOP04 is the flood: 60 overlapping runs in an hour, while the mail server is
// down. The webhook gets one message per interval with a count, the mail one when
// the server is back, and nothing is lost.
func TestOP04(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		refused := errors.New("deferred: connect: connection refused")
		email := &route{name: "email", down: func(Message) error {
			if time.Since(bubbleBegin()) < time.Hour {
				return refused
			}
			return nil
		}}
		hook := &route{name: "webhook"}
		start(t, newDeliverer(o, email, hook))
		for i := range 60 {
			time.Sleep(time.Minute)
			o.queue(overlap(fmt.Sprintf("run-%d", i)))
		}
		equal(t, "alerts in each webhook within the hour", hook.counts(), []int{1})
		equal(t, "alerts in each mail within the hour", email.counts(), nil)
		if n := email.tries(); n > 8 {
			t.Errorf("%d mails were tried while the server was down", n)
		}
		time.Sleep(time.Hour)
		equal(t, "alerts in each webhook", hook.counts(), []int{1, 59})
		equal(t, "alerts in each mail", email.counts(), []int{60})
		if m := email.got[0]; m.Failures != email.tries()-1 || len(m.Runs) != 60 {
			t.Errorf("the mail tells of %d failures and %d runs", m.Failures, len(m.Runs))
		}
		if n := o.pending("email") + o.pending("webhook"); n != 0 {
			t.Errorf("%d alerts are left", n)
		}
	})
}

func TestGroupsAreOfOneJobKindAndCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := newOutbox(), &route{name: "email"}
		for _, edit := range []func(*claim.Alert){
			func(*claim.Alert) {},
			func(a *claim.Alert) { a.Job = "invoices" },
			func(a *claim.Alert) { a.Kind = claim.AlertRunFailed },
			func(a *claim.Alert) { a.Cause = "other" },
			func(*claim.Alert) {},
		} {
			a := overlap("1")
			edit(&a)
			o.queue(a)
		}
		flush(t, newDeliverer(o, r), 5, 0)
		equal(t, "alerts in each message", r.counts(), []int{2, 1, 1, 1})
	})
}

func TestHeldBackIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := newOutbox(), &route{name: "email"}
		d := newDeliverer(o, r)
		o.queue(overlap("1"))
		flush(t, d, 1, 0)
		o.queue(overlap("2"))
		time.Sleep(time.Hour - time.Second)
		o.queue(overlap("3"))
		flush(t, d, 0, 2)
		time.Sleep(time.Second)
		flush(t, d, 2, 0)
		equal(t, "runs in the last message", r.got[1].Runs, []string{"2", "3"})

		d.RepeatAfter = 0
		o.queue(overlap("4"))
		flush(t, d, 1, 0)
	})
}

func TestUnknownIsNeverHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := newOutbox(), &route{name: "email"}
		d := newDeliverer(o, r)
		o.queue(unknown(2, "B-1"))
		flush(t, d, 1, 0)
		o.queue(unknown(3, "B-2"))
		o.queue(unknown(4, "B-3"))
		flush(t, d, 2, 0)
		equal(t, "alerts in each message", r.counts(), []int{1, 2})

		// While the route is down, each new one is still tried at once.
		r.down = func(Message) error { return errors.New("down") }
		o.queue(unknown(5, "B-4"))
		flush(t, d, 0, 1)
		flush(t, d, 0, 1)
		equal(t, "tries", []int{r.tries()}, []int{3})
		o.queue(unknown(6, "B-5"))
		flush(t, d, 0, 2)
		equal(t, "tries", []int{r.tries()}, []int{4})
	})
}

func TestWaitsGrowAndNeverEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		r := &route{name: "webhook", down: func(Message) error {
			if time.Since(bubbleBegin()) < 72*time.Hour {
				return errors.New("answered 500")
			}
			return nil
		}}
		start(t, newDeliverer(o, r))
		o.queue(overlap("1"))
		time.Sleep(80 * time.Hour)
		equal(t, "delivered", r.counts(), []int{1})
		var waits []time.Duration
		for i := range 9 {
			waits = append(waits, (r.at[i+1] - r.at[i]).Truncate(15*time.Second)) // a poll takes up to 10s
		}
		const m = time.Minute
		equal(t, "waits", waits, []time.Duration{m / 2, m, 2 * m, 4 * m, 8 * m, 16 * m, 32 * m, 60 * m, 60 * m})
	})
}

// A message that a route cannot take holds up no other.
func TestOneBadMessageBlocksNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		r := &route{name: "email", down: func(m Message) error {
			if m.Kind == claim.AlertOverlap {
				return errors.New("refused: 552 message too large")
			}
			return nil
		}}
		start(t, newDeliverer(o, r))
		o.queue(overlap("1"))
		o.queue(unknown(2, "B-1"))
		time.Sleep(pollEvery + time.Second)
		equal(t, "delivered", r.counts(), []int{1})
		if why := o.why("email", 1); why != "refused: 552 message too large" {
			t.Errorf("the outbox says %q", why)
		}
	})
}

// A route that hangs holds up no other, and its try ends.
func TestHangingRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, hook := newOutbox(), &route{name: "webhook"}
		email := hanging{&route{name: "email"}}
		start(t, newDeliverer(o, email, hook))
		o.queue(overlap("1"))
		time.Sleep(time.Second + pollEvery)
		equal(t, "webhooks", hook.counts(), []int{1})
		time.Sleep(deliverWithin)
		if why := o.why("email", 1); why != context.DeadlineExceeded.Error() {
			t.Errorf("the outbox says %q", why)
		}
	})
}

type hanging struct{ *route }

func (hanging) Deliver(ctx context.Context, _ Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestKick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := newOutbox(), &route{name: "email"}
		d := newDeliverer(o, r)
		d.RepeatAfter = 0
		start(t, d)
		synctest.Wait()
		for i := range 3 {
			time.Sleep(time.Second)
			o.queue(overlap("1"))
			d.Kick()
			d.Kick()
			equal(t, "messages", []int{len(r.counts())}, []int{i + 1})
		}
		o.queue(overlap("1"))
		time.Sleep(pollEvery)
		equal(t, "messages without a kick", []int{len(r.counts())}, []int{4})
	})
}

// A stop in mid-delivery costs the next process no wait.
func TestStopInMidDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		o.queue(overlap("1"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, pending, err := newDeliverer(o, hanging{&route{name: "email"}}).Flush(ctx); err != nil || pending != 1 {
			t.Fatal(pending, err)
		}
		flush(t, newDeliverer(o, &route{name: "email"}), 1, 0)
	})
}

// A delivery that cannot be written down is made again, under the same id.
func TestLostRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := newOutbox(), &route{name: "email"}
		d := newDeliverer(o, r)
		o.queue(overlap("1"))
		o.fail["Delivered"] = true
		if _, pending, err := d.Flush(t.Context()); err == nil || pending != 1 {
			t.Fatal(pending, err)
		}
		o.fail["Delivered"] = false
		flush(t, d, 0, 1)
		time.Sleep(reservedFor)
		flush(t, d, 1, 0)
		if r.got[0].ID != r.got[1].ID {
			t.Errorf("ids %s and %s", r.got[0].ID, r.got[1].ID)
		}
	})
}

func TestOutboxErrors(t *testing.T) {
	for _, method := range []string{"Queued", "LastDelivered", "Reserve"} {
		synctest.Test(t, func(t *testing.T) {
			o, r := newOutbox(), &route{name: "email"}
			o.queue(overlap("1"))
			o.fail[method] = true
			if delivered, _, err := newDeliverer(o, r).Flush(t.Context()); err == nil || delivered != 0 || len(r.got) != 0 {
				t.Errorf("%s: delivered %d, sent %d, %v", method, delivered, len(r.got), err)
			}
			start(t, newDeliverer(o, r))
			time.Sleep(time.Minute)
			o.mu.Lock()
			o.fail[method] = false
			o.mu.Unlock()
			time.Sleep(reservedFor)
			equal(t, "delivered once the ledger works: "+method, r.counts(), []int{1})
		})
	}
}

func TestWaitAfter(t *testing.T) {
	for n, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		if got := waitAfter(n); got != want {
			t.Errorf("after %d: %v", n, got)
		}
	}
	if got := waitAfter(1 << 40); got != time.Hour {
		t.Errorf("after many: %v", got)
	}
}
