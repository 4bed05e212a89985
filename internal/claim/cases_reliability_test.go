package claim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// The provider cuts the connection after every fifth message.
func TestOV07ConnectionCutAfterFive(t *testing.T) {
	t.Parallel()
	var rules []smtpsink.Rule
	for conn := range 10 {
		rules = append(rules, smtpsink.Rule{Phase: smtpsink.Mail, Action: smtpsink.Drop, Conn: conn + 1, Nth: 6})
	}
	inWorldWith(t, dueRows(12), sheetsemu.Options{}, smtpsink.Options{Rules: rules}, func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			time.Sleep(time.Hour)
			in.run("2")
			w.wantSent(guests(12)...)
		})
	})
}

func TestSM02RefusedAtTheDot(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Reply, Text: "451 4.4.2 timeout waiting for data", Times: 1}}}
	inWorldWith(t, dueRows(1), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			if got := w.status("k1"); !strings.HasPrefix(got, "failed 1/3: 451 4.4.2") {
				t.Errorf("status: %q", got)
			}
			time.Sleep(16 * time.Minute)
			d := in.run("2")
			wantRun(t, d, claim.RunSent, 1)
			if d.Rows[0].Attempt != 2 {
				t.Errorf("attempt %d", d.Rows[0].Attempt)
			}
			w.wantSent(guests(1)...)
		})
	})
}

func TestSM04ThrottledAtEHLO(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.EHLO, Action: smtpsink.ReplyDrop, Text: "421 4.7.0 try again later", Times: 3}}}
	inWorldWith(t, dueRows(5), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			for i := range 5 {
				d := in.run(fmt.Sprint(i))
				if d.Counts.Failed > 0 {
					t.Errorf("a row was charged: %+v", d.Rows)
				}
				w.noClaims()
				time.Sleep(16 * time.Minute)
			}
			w.wantSent(guests(5)...)
			for i := range 5 {
				key := claim.MessageKey{Book: claim.Book{Job: "test", Spreadsheet: spreadsheet}, Key: fmt.Sprintf("k%d", i+1), Generation: 1}
				if as, err := in.ledger.Attempts(context.Background(), key); err != nil || len(as) != 1 {
					t.Errorf("%s has attempts %v, %v", key.Key, as, err)
				}
			}
		})
	})
}

func TestSM05RefusedRecipientAndRSET(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "450 4.7.0 slow down", Recipient: "guest2@example.com", Times: 1}}}
	inWorldWith(t, dueRows(3), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			time.Sleep(16 * time.Minute)
			in.run("2")
			w.wantSent(guests(3)...) // the world fails on a 503
		})
	})
}

func TestSM07Greylisting(t *testing.T) {
	t.Parallel()
	var began time.Time
	so := smtpsink.Options{Rules: []smtpsink.Rule{{
		Phase: smtpsink.Rcpt, Action: smtpsink.Reply, Text: "451 4.7.1 greylisted",
		Match: func(smtpsink.Envelope) bool { return time.Since(began) < 5*time.Minute },
	}}}
	inWorldWith(t, dueRows(1), sheetsemu.Options{}, so, func(w *world) {
		began = time.Now()
		w.alone(nil, func(in *install) {
			for i := range 40 { // a schedule of every minute
				in.run(fmt.Sprint(i))
				time.Sleep(time.Minute)
			}
			w.wantStatus(map[string]string{"k1": "sent"})
			key := claim.MessageKey{Book: claim.Book{Job: "test", Spreadsheet: spreadsheet}, Key: "k1", Generation: 1}
			as, err := in.ledger.Attempts(context.Background(), key)
			if err != nil || len(as) != 2 || as[1].At.Sub(as[0].At) < 15*time.Minute {
				t.Errorf("attempts: %+v %v", as, err)
			}
		})
	})
}

func TestSM11PasswordLoginOff(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Connect, Action: smtpsink.ReplyDrop, Text: "535 5.7.139 authentication unsuccessful"}}}
	inWorldWith(t, dueRows(20), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			wantRun(t, in.run("1"), claim.RunFailed, 0)
			w.untouched()
			if a := in.alerts(); len(a) != 1 || a[claim.AlertRunFailed] != 1 {
				t.Errorf("alerts: %v", a)
			}
		})
	})
}

// Two jobs share two slow connections: waiting for one costs no attempt.
func TestSM17SlowServerSmallPool(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 3 * time.Second}}}
	inWorldWith(t, dueRows(40), sheetsemu.Options{}, so, func(w *world) {
		w.alone(nil, func(in *install) {
			wantRun(t, in.run("1"), claim.RunSent, 40)
			w.wantSent(guests(40)...)
		})
	})
}

func TestGS08ReadsWorkWritesFail(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(3), func(w *world) {
		w.emu.SetAccess(spreadsheet, "one", sheetsemu.CanRead)
		w.alone(nil, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunFailed, 0)
			if !strings.Contains(d.Detail, "share the sheet") {
				t.Errorf("detail: %s", d.Detail)
			}
			w.wantSent()
			w.emu.SetAccess(spreadsheet, "one", sheetsemu.CanWrite)
			wantRun(t, in.run("2"), claim.RunSent, 3)
		})
	})
}

func TestProtectedStatusColumn(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(3), func(w *world) {
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Protect("D1:D100", "boss@example.com") })
		w.alone(nil, func(in *install) {
			d := in.run("1")
			wantRun(t, d, claim.RunFailed, 0)
			if !strings.Contains(d.Detail, "protected") {
				t.Errorf("detail: %s", d.Detail)
			}
			w.wantSent()
			w.noClaims()
		})
	})
}

// A write that is answered with success and not stored.
func TestWritesThatReportMoreThanTheyStored(t *testing.T) {
	t.Parallel()
	for _, nth := range []int{1, 2} {
		inWorld(t, dueRows(3), func(w *world) {
			w.emu.Script(sheetsemu.Rule{
				Match: sheetsemu.Match{Kind: sheetsemu.KindBatchUpdate, Nth: nth},
				Fault: sheetsemu.Fault{Apply: sheetsemu.Never},
			})
			w.alone(nil, func(in *install) {
				in.run("1")
				time.Sleep(6 * time.Minute)
				w.quiet([]*install{in})
				w.wantSent(guests(3)...)
				w.noClaims()
				w.wantStatus(map[string]string{"k1": "sent", "k2": "sent", "k3": "sent"})
			})
		})
	}
}

func TestTabDeletedInMidRun(t *testing.T) {
	t.Parallel()
	for when, m := range moments {
		inWorld(t, dueRows(3), func(w *world) {
			done := false
			w.emu.Before(func(c *sheetsemu.Call) {
				if !done && c.Kind == m.kind && c.Nth == m.nth {
					done = true
					w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.AddTab("Other"); b.DeleteTab(tabTitle) })
				}
			})
			w.alone(nil, func(in *install) {
				d := in.run("1")
				if d.Outcome == claim.RunSent || d.Outcome == claim.RunNothingDue {
					t.Errorf("%s: %+v", when, d)
				}
				time.Sleep(6 * time.Minute)
				if err := in.svc.RecoverAll(context.Background()); err != nil {
					t.Errorf("%s: %v", when, err)
				}
				for _, n := range w.sent() {
					if n > 1 {
						t.Errorf("%s: %v", when, w.sent())
					}
				}
			})
		})
	}
}

func TestOP01ClearedAndResend(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).ClearRange("D2") })
			d := in.run("2")
			if len(d.Doubts) != 1 || d.Doubts[0].Kind != claim.ClearedAfterEnd || !strings.Contains(d.Doubts[0].Advice, "resend") || !strings.Contains(d.Doubts[0].Detail, "2026-11-30T") {
				t.Errorf("%+v", d.Doubts)
			}
			w.wantSent(guests(1)...)
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("D2", "resend") })
			wantRun(t, in.run("3"), claim.RunSent, 1)
			wantRun(t, in.run("4"), claim.RunNothingDue, 0)
			if n := w.sent()["guest1@example.com"]; n != 2 {
				t.Errorf("%d messages", n)
			}
		})
	})
}

// Killed at row 200 of 300: every row's outcome is in the sheet or in the ledger.
func TestOP06KilledInTheMiddle(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(300), func(w *world) {
		first := w.install("first", "one", settings{"limit": "300", "first_run_limit": "0"})
		l := first.mortal(0, false)
		n := 0
		w.sink.OnMessage(func(smtpsink.Message) {
			if n++; n == 200 {
				l.mu.Lock()
				l.dead = true
				l.mu.Unlock()
			}
		})
		<-first.start("1").Done()
		first.close()
		time.Sleep(6 * time.Minute)
		second := w.install("second", "one", settings{"limit": "300", "first_run_limit": "0"})
		defer second.close()
		w.quiet([]*install{second})
		w.noClaims()
		unknown := 0
		for i, to := range guests(300) {
			switch got := w.status(fmt.Sprintf("k%d", i+1)); {
			case strings.HasPrefix(got, "unknown "):
				unknown++
			case got != "sent" || w.sent()[to] != 1:
				t.Errorf("%s: %d messages, status %q", to, w.sent()[to], got)
			}
		}
		if unknown != 1 {
			t.Errorf("%d rows are unknown, want the one in hand", unknown)
		}
	})
}

// 2,000 rows at 30 a minute take more than an hour; the run lives on by itself, its
// lease is kept, and another start attaches to it.
func TestOP07LongRun(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 2 * time.Second}}}
	const rows = 1000 // as many as one run may claim
	inWorldWith(t, dueRows(rows), sheetsemu.Options{}, so, func(w *world) {
		w.alone(settings{"limit": fmt.Sprint(rows), "first_run_limit": "0"}, func(in *install) {
			tk := in.start("1")
			time.Sleep(20 * time.Minute)
			if d := in.start("1").Document(); d.State != claim.RunRunning || len(d.Rows) != rows {
				t.Errorf("after 20 minutes: %s, %d rows", d.State, len(d.Rows))
			}
			<-tk.Done()
			wantRun(t, tk.Document(), claim.RunSent, rows)
			if n := len(w.sent()); n != rows {
				t.Errorf("%d rows were mailed", n)
			}
		})
	})
}

// A ledger that fails before the claim leaves everything untouched; one that fails
// later never leads to a second message, and nothing is lost once it works again.
func TestLedgerFailsAtEveryCall(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		reached := false
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inWorld(t, dueRows(3), func(w *world) {
				in := w.install("one", "one", nil)
				broken := mortalLedger{&life{dieAt: n}, in.ledger}
				make0 := in.svc.Worker
				in.svc.Worker = func() *claim.Worker {
					wk := make0()
					wk.Ledger = broken
					return wk
				}
				in.svc.Ledger, in.svc.Runs = broken, broken
				if tk, err := in.svc.Start(context.Background(), claim.Request{Job: "test", RunID: "1"}); err == nil {
					<-tk.Done()
				} else if !errors.Is(err, errDead) {
					t.Error(err)
				}
				reached = broken.isDead()
				in.close()
				time.Sleep(6 * time.Minute)
				next := w.install("next", "one", nil)
				defer next.close()
				w.quiet([]*install{next})
				w.noClaims()
				for i, to := range guests(3) {
					status := w.status(fmt.Sprintf("k%d", i+1))
					if got := w.sent()[to]; got > 1 || got == 0 && !strings.HasPrefix(status, "unknown ") {
						t.Errorf("%s: %d messages, status %q", to, got, status)
					}
				}
			})
		})
		if !reached {
			break
		}
	}
}
