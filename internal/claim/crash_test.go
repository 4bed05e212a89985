package claim_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// mortal makes an installation's process die at its n-th call to the world.
func (in *install) mortal(dieAt int, after bool) *life {
	l := &life{dieAt: dieAt, after: after}
	make0 := in.svc.Worker
	in.svc.Worker = func() *claim.Worker {
		w := make0()
		w.Sheet = mortalSheet{l, w.Sheet}
		w.Mailer = mortalMailer{l, w.Mailer}
		w.Ledger = mortalLedger{l, in.ledger}
		return w
	}
	in.svc.Ledger = mortalLedger{l, in.ledger}
	in.svc.Runs = mortalLedger{l, in.ledger}
	return l
}

// Killed at any call to the world, before or after its effect, a run leaves nothing
// that the next process does not put right: no second message, no row lost without
// an alert, no claim left in the sheet.
func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	rows := dueRows(3)
	rows[2][3] = "resend"
	rows[3][3] = "failed 1/3: 451 try later"
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			died := false
			t.Run(fmt.Sprintf("call %d/after %t", n, after), func(t *testing.T) {
				inWorld(t, rows, func(w *world) { died = w.dieAndRecover(n, after) })
			})
			if !died {
				if n < 15 {
					t.Errorf("the run made only %d calls to the world", n-1)
				}
				break
			}
		}
	}
}

func (w *world) dieAndRecover(n int, after bool) (died bool) {
	t := w.t
	first := w.install("first", "one", nil)
	l := first.mortal(n, after)
	if tk, err := first.svc.Start(context.Background(), claim.Request{Job: "test", RunID: "4711"}); err == nil {
		<-tk.Done()
	}
	first.close()

	time.Sleep(6 * time.Minute) // the dead run's lease ends
	second := w.install("second", "one", nil)
	defer second.close()
	if err := second.svc.RecoverAll(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.noClaims()
	w.quiet([]*install{second})
	w.noClaims()

	unknown := 0
	for i, to := range guests(3) {
		key := fmt.Sprintf("k%d", i+1)
		status := claim.ParseStatus(w.status(key))
		switch got := w.sent()[to]; {
		case got > 1:
			t.Errorf("%s got %d messages", to, got)
		case status.Kind == claim.StatusUnknown:
			unknown++
		case status.Kind != claim.StatusSent || got != 1:
			t.Errorf("%s: %d messages, status %q", key, got, w.status(key))
		}
	}
	if unknown > 1 || unknown > 0 && second.alerts()[claim.AlertUnknown] != unknown {
		t.Errorf("%d unknown rows, %d alerts", unknown, second.alerts()[claim.AlertUnknown])
	}
	if d, err := second.ledger.Find(context.Background(), "test", "4711"); err == nil && d.Document.State != claim.RunFinished {
		t.Errorf("the dead run is still %q", d.Document.State)
	}
	return l.isDead()
}

// A claim that landed beside its rows, by a process that died before it could see
// that, is put back from what the ledger kept.
func TestCrashAfterMisplacedClaim(t *testing.T) {
	t.Parallel()
	inWorld(t, busySheet(), func(w *world) {
		before, statusBefore, _ := byKey(w.emu.Grid(spreadsheet, tabTitle))
		w.at(moments["right at the claim"], func(tab *sheetsemu.Tab) { tab.InsertRows(3, 1) })
		first := w.install("first", "one", nil)
		l := first.mortal(0, false)
		w.emu.After(func(c *sheetsemu.Call) {
			if c.Kind == sheetsemu.KindBatchUpdate && c.Caller == "first" {
				l.mu.Lock()
				l.dead = true
				l.mu.Unlock()
			}
		})
		<-first.start("4711").Done()
		first.close()
		time.Sleep(6 * time.Minute)
		second := w.install("second", "one", nil)
		defer second.close()
		if err := second.svc.RecoverAll(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.noClaims()
		after, statusAfter, _ := byKey(w.emu.Grid(spreadsheet, tabTitle))
		for key, text := range statusBefore {
			if after[key] != before[key] || statusAfter[key] != text {
				t.Errorf("%s: %q %q became %q %q", key, before[key], text, after[key], statusAfter[key])
			}
		}
		w.wantSent()
	})
}

// A run that is paused past its lease and wakes sends nothing more.
func TestPausedPastTheLease(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(3), func(w *world) {
		paused := w.install("paused", "one", nil)
		block := make(chan bool)
		hits := 0
		paused.sheet = func(s claim.Sheet) claim.Sheet { return s }
		w.emu.Before(func(c *sheetsemu.Call) {
			if c.Caller == "paused" && c.Kind == sheetsemu.KindGet && c.Nth == 3 {
				hits++
				<-block // the confirming read hangs, as if the machine slept
			}
		})
		// A process that sleeps renews nothing.
		l := &life{}
		paused.svc.Ledger = mortalLedger{l, paused.ledger}
		tk := paused.start("4711")
		time.Sleep(20 * time.Second)
		l.mu.Lock()
		l.dead = true
		l.mu.Unlock()
		time.Sleep(6 * time.Minute)
		other := w.install("other", "one", nil)
		defer other.close()
		w.quiet([]*install{other})
		close(block)
		<-tk.Done()
		paused.close()
		if tk.Document().Counts.Sent != 0 || hits != 1 {
			t.Errorf("the paused run sent %d rows", tk.Document().Counts.Sent)
		}
		w.wantSent(guests(3)...)
		w.wantStatus(map[string]string{"k1": "sent", "k2": "sent", "k3": "sent"})
	})
}

// A ledger that is restored from a backup finds in the fence that it went back in
// time: what was under way when it was saved is unknown, what the sheet shows as
// sent is not sent again, and it says so.
func TestLedgerWentBack(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(4), func(w *world) {
		first := w.install("first", "one", settings{"limit": "2"})
		var saved bool
		w.emu.Before(func(c *sheetsemu.Call) {
			if c.Kind == sheetsemu.KindBatchUpdate && c.Nth == 1 && !saved {
				saved = true
				backUp(t, w.dir+"/one.db", w.dir+"/backup.db")
			}
		})
		wantRun(t, first.run("1"), claim.RunSent, 2)
		wantRun(t, first.run("2"), claim.RunSent, 2)
		first.close()
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Append("k5", "guest5@example.com", "2026-11-01", "") })
		time.Sleep(6 * time.Minute)

		second := w.install("second", "backup", nil)
		defer second.close()
		if err := second.svc.RecoverAll(context.Background()); err != nil {
			t.Fatal(err)
		}
		ms, err := second.ledger.Messages(context.Background(), "test")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			if m.Outcome != claim.Unknown {
				t.Errorf("%s was under way when the ledger was saved and is %s %s", m.Key, m.State, m.Outcome)
			}
		}
		w.quiet([]*install{second})
		w.wantSent(guests(5)...)
		w.wantStatus(map[string]string{"k1": "sent", "k2": "sent", "k3": "sent", "k4": "sent", "k5": "sent"})
	})
}

// backUp copies a ledger while it is in use.
func backUp(t *testing.T, from, to string) {
	t.Helper()
	db, err := sql.Open("sqlite", from)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("VACUUM INTO ?", to); err != nil {
		t.Error(err)
	}
}
