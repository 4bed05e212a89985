package claim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// Each of these broke the promise once; an adversary found it.

func TestHeaderRenamedInMidRun(t *testing.T) {
	t.Parallel()
	for when, m := range moments {
		inWorld(t, dueRows(2), func(w *world) {
			w.at(m, func(tab *sheetsemu.Tab) { tab.Set("B1", "e-mail address") })
			w.alone(nil, func(in *install) {
				in.run("1")
				w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("B1", "email") })
				time.Sleep(6 * time.Minute)
				w.quiet([]*install{in})
				w.noClaims()
				w.wantSent(guests(2)...)
				if s := w.status("k1") + w.status("k2"); s != "sentsent" {
					t.Errorf("%s: %q", when, s)
				}
			})
		})
	}
}

// lateMailer answers only when it is let: the process sleeps between the final dot
// and the answer.
type lateMailer struct {
	claim.Mailer
	wake chan bool
}

func (m lateMailer) Send(_ context.Context, _ claim.Letter, h claim.Hooks) claim.Result {
	if err := h.Begin(); err != nil {
		return claim.Result{Verdict: claim.NotBegun, Err: err}
	}
	if err := h.Commit(); err != nil {
		return claim.Result{Verdict: claim.NotBegun, Err: err}
	}
	<-m.wake
	return claim.Result{Verdict: claim.Deferred, Step: "dot", Code: 451, Reply: "451 4.3.0 try later", At: time.Now()}
}

// A late answer settles its own generation, and no cell but its own.
func TestLateOutcome(t *testing.T) {
	t.Parallel()
	for _, resend := range []bool{false, true} {
		rows := dueRows(3)
		rows[2][3], rows[3][3] = "sent", "sent"
		inWorld(t, rows, func(w *world) {
			paused := w.install("paused", "one", nil)
			l := &life{}
			paused.svc.Ledger = mortalLedger{l, paused.ledger}
			wake := make(chan bool)
			make0 := paused.svc.Worker
			paused.svc.Worker = func() *claim.Worker {
				wk := make0()
				wk.Mailer = lateMailer{wk.Mailer, wake}
				return wk
			}
			tk := paused.start("4711")
			time.Sleep(20 * time.Second)
			l.mu.Lock()
			l.dead = true // it renews no lease any more
			l.mu.Unlock()
			time.Sleep(6 * time.Minute)
			other := w.install("other", "one", nil)
			defer other.close()
			if err := other.svc.RecoverAll(context.Background()); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"k1": "failed 1/3: 451 4.3.0 try later", "k2": "sent", "k3": "sent"}
			if resend {
				w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("D2", "resend") })
				wantRun(t, other.run("a"), claim.RunSent, 1)
				want["k1"] = "sent"
			}
			close(wake)
			<-tk.Done()
			paused.close()
			w.wantStatus(want)
		})
	}
}

func TestResendWithdrawn(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("D2", "resend") })
			w.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Mail, Action: smtpsink.ReplyDrop, Text: "421 4.7.0 later"})
			wantRun(t, in.run("2"), claim.RunStopped, 0)
			w.sink.SetRules()
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).ClearRange("D2") })
			time.Sleep(20 * time.Minute)
			d := in.run("3")
			if len(d.Doubts) != 1 || d.Doubts[0].Kind != claim.ClearedAfterEnd {
				t.Errorf("%+v", d)
			}
			w.wantSent("guest1@example.com")
		})
	})
}

func TestSkipSendsOnlyConfirmedRows(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 2 * time.Second}}}
	inWorldWith(t, dueRows(60), sheetsemu.Options{}, so, func(w *world) {
		w.alone(settings{"on_doubt": "skip", "limit": "60"}, func(in *install) {
			tk := in.start("1")
			time.Sleep(40 * time.Second)
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
				b.Tab(tabTitle).Set("D27", "sending 4712")
				b.Tab(tabTitle).Set("D52", "sending 4712")
			})
			<-tk.Done()
			if w.sent()["guest51@example.com"] != 0 || w.status("k51") != "sending 4712" {
				t.Errorf("k51 was mailed under another tool's claim: %q", w.status("k51"))
			}
			if n := len(w.sent()); n != 58 {
				t.Errorf("%d rows were mailed, want 58", n)
			}
		})
	})
}

// Reads that lag cannot talk a run past the fence.
func TestFenceHoldsAgainstStaleReads(t *testing.T) {
	t.Parallel()
	so := smtpsink.Options{Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: 10 * time.Second}}}
	inWorldWith(t, dueRows(5), sheetsemu.Options{}, so, func(w *world) {
		time.Sleep(time.Minute)
		a, b := w.install("a", "a", nil), w.install("b", "b", nil)
		ta := a.start("a")
		time.Sleep(16 * time.Second)
		w.emu.Script(sheetsemu.Rule{
			Match: sheetsemu.Match{Kind: sheetsemu.KindGet, Caller: "b", Nth: 1, Count: 5},
			Fault: sheetsemu.Fault{Stale: 17 * time.Second},
		})
		tb := b.start("b")
		<-ta.Done()
		<-tb.Done()
		for to, n := range w.sent() {
			if n > 1 {
				t.Errorf("%s got %d messages", to, n)
			}
		}
		a.close()
		b.close()
	})
}

// A crash in the moment between dot and answer is alerted although the tab has
// another name by now, or is gone, and the rows are settled there.
func TestCrashAndTabGone(t *testing.T) {
	t.Parallel()
	for what, edit := range map[string]func(b *sheetsemu.Book){
		"renamed":  func(b *sheetsemu.Book) { b.RenameTab(tabTitle, "Visits 2026") },
		"replaced": func(b *sheetsemu.Book) { b.RenameTab(tabTitle, "Old"); b.AddTab(tabTitle).Set("A1", "key") },
		"deleted":  func(b *sheetsemu.Book) { b.AddTab("Other"); b.DeleteTab(tabTitle) },
	} {
		inWorld(t, dueRows(3), func(w *world) {
			first := w.install("first", "one", nil)
			l := first.mortal(0, false)
			w.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: time.Second})
			tk := first.start("4711")
			time.Sleep(16500 * time.Millisecond)
			l.mu.Lock()
			l.dead = true
			l.mu.Unlock()
			<-tk.Done()
			first.close()
			w.emu.Edit(spreadsheet, edit)
			time.Sleep(10 * time.Minute)
			second := w.install("second", "one", nil)
			defer second.close()
			for range 3 {
				if err := second.svc.RecoverAll(context.Background()); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				time.Sleep(time.Minute)
			}
			if second.alerts()[claim.AlertUnknown] != 1 {
				t.Errorf("%s: alerts %v, want one unknown", what, second.alerts())
			}
			ms, err := second.ledger.Messages(context.Background(), "test")
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range ms {
				if !m.State.Ended() {
					t.Errorf("%s: %s is still %s", what, m.Key, m.State)
				}
			}
			for _, tab := range w.emu.Snapshot(spreadsheet).Tabs {
				for a1, c := range tab.Cells {
					if s := claim.ParseStatus(c.Shown); s.Kind == claim.StatusSending {
						t.Errorf("%s: a claim is left in %s!%s: %s", what, tab.Title, a1, c.Shown)
					}
				}
			}
		})
	}
}

// On a long sheet, where the second read fetches only the rows and their neighbours,
// the first read still tells what stood where a claim landed.
func TestMisplacedClaimOnLongSheet(t *testing.T) {
	t.Parallel()
	rows := dueRows(2100)
	for i := 1; i < len(rows); i++ {
		rows[i][3] = "sent"
	}
	rows[1500][3] = ""
	inWorld(t, rows, func(w *world) {
		w.at(moments["right at the claim"], func(tab *sheetsemu.Tab) { tab.InsertRows(10, 3) })
		w.alone(nil, func(in *install) {
			wantRun(t, in.run("1"), claim.RunStopped, 0)
			w.wantStatus(map[string]string{"k1497": "sent", "k1500": ""})
		})
	})
}

// What could not be put back as it was is not written in the first place.
func TestOptionalCellsStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	rows := [][]any{{"key", "email", "status", "note", "sent", "claimed", "by", "tries"}, {"k1", "a@x.test", "", "", "", "", "", ""}}
	inWorld(t, rows, func(w *world) {
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
			tab := b.Tab(tabTitle)
			tab.SetRaw("D2", "=1+1")
			tab.SetRaw("E2", 46027.375)
			tab.SetFormat("E2", "DATE", "dd/mm/yyyy")
			tab.SetRaw("G2", "007")
			tab.SetRaw("H2", 1.23456)
			tab.SetFormat("H2", "NUMBER", "0.0")
		})
		w.alone(settings{"columns": "{key: key, email: email, status: status, note: note, sent_at: sent, claimed_at: claimed, claimed_by: by, attempts: tries}"}, func(in *install) {
			before := fmt.Sprint(w.emu.Snapshot(spreadsheet).Tabs[0].Cells)
			w.at(moments["between mark and verification"], func(tab *sheetsemu.Tab) { tab.Set("B2", "a@x.test") })
			w.at(moments["during the wait"], func(tab *sheetsemu.Tab) { tab.Set("B2", "b@x.test") })
			wantRun(t, in.run("1"), claim.RunStopped, 0)
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("B2", "a@x.test") })
			if after := fmt.Sprint(w.emu.Snapshot(spreadsheet).Tabs[0].Cells); after != before {
				t.Errorf("cells changed:\n%s\n%s", before, after)
			}
		})
	})
}

// A panic ends its run and nothing else.
func TestPanicEndsOneRun(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		w.alone(nil, func(in *install) {
			bind := in.job.Bind
			in.job.Bind = func([]string, *time.Location) (claim.Binding, error) { panic("template") }
			wantRun(t, in.run("1"), claim.RunStopped, 0)
			in.job.Bind = bind
			wantRun(t, in.run("2"), claim.RunSent, 2)
		})
	})
}
