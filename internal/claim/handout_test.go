package claim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

func claimOnly(r *claim.Request) { r.ClaimOnly = true }

// claims asks for a run that only claims, and fetches its rows.
func (in *install) claims(id string) ([]claim.Handed, *claim.Ticket) {
	t := in.start(id, claimOnly)
	return t.Collect(context.Background()), t
}

func (in *install) receive(id, key string, o claim.Outcome, reason string) (claim.Message, error) {
	return in.svc.Receive(context.Background(), claim.Receipt{Job: "test", RunID: id, Key: key, Outcome: o, Reason: reason})
}

// mustReceive fails unless the receipt is taken and the cell shows it.
func (in *install) mustReceive(id, key string, o claim.Outcome, reason string) {
	in.w.t.Helper()
	m, err := in.receive(id, key, o, reason)
	if err != nil || !m.State.Ended() {
		in.w.t.Fatalf("receipt for %s: state %s, %v", key, m.State, err)
	}
}

func TestClaimOnlyFromHandOutToTheEnd(t *testing.T) {
	t.Parallel()
	rows := dueRows(5)
	rows[0] = append(rows[0], "First name", "First name")
	rows[1] = append(rows[1], "Ada", "Lovelace")
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"max_attempts": "1"}, func(in *install) {
			got, tk := in.claims("4711")
			if len(got) != 5 {
				t.Fatalf("got %d rows, want 5: %+v", len(got), tk.Document())
			}
			first := got[0]
			if first.Key != "k1" || first.Email != "guest1@example.com" || first.Attempt != 1 || first.Row != 2 ||
				first.Cells["First name"] != "Ada" || first.Cells["First name (2)"] != "Lovelace" || first.Cells["due"] != "2026-11-01" {
				t.Errorf("the first row is %+v", first)
			}
			if !strings.HasPrefix(w.status("k1"), "sending 4711/") || w.status("k1") != first.Status {
				t.Errorf("the cell reads %q, the row says %q", w.status("k1"), first.Status)
			}
			if d := tk.Document(); d.State != claim.RunRunning || d.HandedOut != 5 || d.HandedOutAt == nil || d.LeaseUntil.Sub(*d.HandedOutAt) != in.job.Lease {
				t.Errorf("the document is %+v", d)
			}
			in.mustReceive("4711", "k1", claim.Sent, "")
			in.mustReceive("4711", "k2", claim.Failed, "550 no such user")
			in.mustReceive("4711", "k3", claim.Unknown, "the node timed out")
			in.mustReceive("4711", "k4", claim.Released, "not today")
			in.mustReceive("4711", "k1", claim.Sent, "") // n8n sends it again
			if _, err := in.receive("4711", "k1", claim.Failed, ""); !errors.Is(err, claim.ErrSettled) {
				t.Errorf("another word on a settled row: %v", err)
			}
			if _, err := in.receive("4711", "k9", claim.Sent, ""); !errors.Is(err, claim.ErrNoClaim) {
				t.Errorf("a key that the run does not hold: %v", err)
			}
			if rec, err := in.ledger.Find(context.Background(), "test", "4711"); err != nil || rec.Document.State != claim.RunRunning {
				t.Errorf("the run ended before its last row: %+v, %v", rec.Document, err)
			}
			in.mustReceive("4711", "k5", claim.Sent, "")
			w.wantStatus(map[string]string{"k1": "sent", "k2": "gave up 1/1: 550 no such user", "k4": "", "k5": "sent"})
			if s := w.status("k3"); !strings.HasPrefix(s, "unknown 4711: the node timed out (") {
				t.Errorf("status of k3: %q", s)
			}
			d := in.run("4711", claimOnly)
			wantRun(t, d, claim.RunPartial, 2)
			if c := d.Counts; c.GaveUp != 1 || c.Unknown != 1 || c.Released != 1 || len(d.Rows) != 5 {
				t.Errorf("the document is %+v", d)
			}
			if a := in.alerts(); a[claim.AlertUnknown] != 1 || a[claim.AlertGaveUp] != 1 {
				t.Errorf("alerts: %v", a)
			}
			w.wantSent() // sheetclaim mailed nothing
		})
	})
}

// n8n sends all items of a node at once, with one execution id.
func TestRowsAreHandedOutOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(3), func(w *world) {
		one, two := w.install("one", "one", nil), w.install("two", "one", nil)
		defer one.close()
		defer two.close()
		var all sync.WaitGroup
		var mu sync.Mutex
		given := 0
		for i := range 20 {
			in := []*install{one, two}[i%2]
			all.Go(func() {
				rows, tk := in.claims("4711")
				mu.Lock()
				defer mu.Unlock()
				given += len(rows)
				if d := tk.Document(); d.HandedOut != 3 || d.HandedOutAt == nil {
					t.Errorf("a caller without rows is not told who has them: %+v", d)
				}
			})
		}
		all.Wait()
		if given != 3 {
			t.Errorf("%d rows were given away, want 3", given)
		}
		if rows, _ := one.claims("4712"); len(rows) != 0 {
			t.Errorf("another run got %v", rows)
		}
	})
}

func TestRowsThatNobodySettlesAreUnknown(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(4), func(w *world) {
		w.alone(nil, func(in *install) {
			if rows, _ := in.claims("4711"); len(rows) != 4 {
				t.Fatalf("got %d rows", len(rows))
			}
			in.mustReceive("4711", "k1", claim.Sent, "")
			time.Sleep(in.job.Lease + 5*time.Second) // the run sees to it, not the recovery of every minute
			if s := w.status("k2"); !strings.HasPrefix(s, "unknown 4711: handed out to a caller that did not settle it within the lease (") {
				t.Errorf("status of k2: %q", s)
			}
			d := in.run("4711", claimOnly)
			wantRun(t, d, claim.RunPartial, 1)
			if d.Counts.Unknown != 3 || in.alerts()[claim.AlertUnknown] != 3 {
				t.Errorf("%+v, alerts %v", d, in.alerts())
			}
			// Words that come later are taken all the same.
			in.mustReceive("4711", "k2", claim.Sent, "")
			in.mustReceive("4711", "k3", claim.Failed, "421 busy")
			in.mustReceive("4711", "k4", claim.Released, "the flow was stopped")
			w.wantStatus(map[string]string{"k2": "sent", "k3": "failed 1/3: 421 busy", "k4": "failed 1/3: given back by the caller; the flow was stopped"})
			if n := in.waiting(); n != 0 {
				t.Errorf("%d messages still wait for a person", n)
			}
			rows, _ := in.claims("4712")
			if len(rows) != 1 || rows[0].Key != "k4" || rows[0].Attempt != 2 {
				t.Errorf("the next run got %+v, want k4 alone", rows)
			}
		})
	})
}

// fasterBook lets somebody else settle what a recovery has just been told of.
type fasterBook struct {
	claim.Ledger

	first func() error
}

func (b fasterBook) Orphans(ctx context.Context, job string) ([]claim.Message, []claim.OpenBatch, error) {
	ms, bs, err := b.Ledger.Orphans(ctx, job)
	return ms, bs, errors.Join(err, b.first())
}

// Of two instances that find the same unsettled row one calls it unknown, with one
// alert; to be the slower one is no error.
func TestTwoRecoveriesOfAHandedRow(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.claims("4711")
			time.Sleep(in.job.Lease + time.Millisecond) // before the run itself looks
			slower := in.svc.Worker()
			slower.Ledger = fasterBook{slower.Ledger, func() error { return in.svc.RecoverAll(context.Background()) }}
			if err := slower.Recover(context.Background(), in.job, claim.RunRef{Job: "test", ID: "recovery"}); err != nil {
				t.Error(err)
			}
			if s := w.status("k1"); !strings.HasPrefix(s, "unknown 4711: ") || in.alerts()[claim.AlertUnknown] != 1 {
				t.Errorf("status %q, alerts %v", s, in.alerts())
			}
			if strings.Contains(in.log.String(), "level=ERROR") {
				t.Error("the slower recovery logs an error")
			}
		})
	})
}

func TestPersonsWordOutlastsALateReceipt(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.claims("4711")
			time.Sleep(in.job.Lease + time.Second)
			if err := in.svc.RecoverAll(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := in.settle("k1", claim.WordSent, "seen in the Sent folder"); err != nil {
				t.Fatal(err)
			}
			if _, err := in.receive("4711", "k1", claim.Failed, "late"); !errors.Is(err, claim.ErrSettled) {
				t.Errorf("a late receipt after a person's word: %v", err)
			}
		})
	})
}

func TestRowsThatNobodyFetchesAreGivenBack(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("4711", claimOnly) // asks, and never collects
			wantRun(t, d, claim.RunStopped, 0)
			if d.Counts.Released != 2 {
				t.Errorf("%+v", d)
			}
			w.wantStatus(map[string]string{"k1": "", "k2": ""})
			if rows, _ := in.claims("4712"); len(rows) != 2 {
				t.Errorf("the next run got %d rows", len(rows))
			}
		})
	})
}

// A caller that comes late gets rows that were looked at again.
func TestRowsAreConfirmedAgainForALateCaller(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		w.alone(settings{"on_doubt": "skip"}, func(in *install) {
			tk := in.start("4711", claimOnly)
			time.Sleep(3 * time.Minute)
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("B2", "other@example.com") })
			rows := tk.Collect(context.Background())
			if len(rows) != 1 || rows[0].Key != "k2" {
				t.Errorf("got %+v, want k2 alone: the address of k1 changed", rows)
			}
			<-tk.Done()
			if s := w.status("k1"); s != "" {
				t.Errorf("status of k1: %q", s)
			}
		})
	})
}

// Killed after the hand-out, before the answer: nobody gets the rows a second time.
func TestHandOutThatWasLostIsADoubt(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		first := w.install("first", "one", nil)
		if rows, _ := first.claims("4711"); len(rows) != 2 {
			t.Fatalf("got %d rows", len(rows))
		}
		first.close()
		second := w.install("second", "one", nil)
		defer second.close()
		rows, tk := second.claims("4711")
		if len(rows) != 0 || tk.Document().HandedOut != 2 {
			t.Errorf("handed out again: %v, %+v", rows, tk.Document())
		}
		if rows, _ := second.claims("4712"); len(rows) != 0 {
			t.Errorf("another run got %v", rows)
		}
		time.Sleep(second.job.Lease + time.Second)
		if err := second.svc.RecoverAll(context.Background()); err != nil {
			t.Fatal(err)
		}
		if second.alerts()[claim.AlertUnknown] != 2 {
			t.Errorf("alerts: %v", second.alerts())
		}
	})
}

// Many receipts at once share their calls to the sheet.
func TestReceiptsShareTheirCalls(t *testing.T) {
	t.Parallel()
	inWorldWith(t, dueRows(40), sheetsemu.Options{Faults: sheetsemu.Faults{Latency: 200 * time.Millisecond}}, lostAnswers(0), func(w *world) {
		w.alone(nil, func(in *install) {
			rows, _ := in.claims("4711")
			before := len(w.emu.Log())
			var all sync.WaitGroup
			for _, r := range rows {
				all.Go(func() {
					if m, err := in.receive("4711", r.Key, claim.Sent, ""); err != nil || !m.State.Ended() {
						t.Errorf("receipt for %s: %s, %v", r.Key, m.State, err)
					}
				})
			}
			all.Wait()
			for i := range rows {
				w.wantStatus(map[string]string{fmt.Sprintf("k%d", i+1): "sent"})
			}
			if n := len(w.emu.Log()) - before; n > 9 {
				t.Errorf("%d calls to the sheet for 40 receipts", n)
			}
			wantRun(t, in.run("4711", claimOnly), claim.RunSent, 40)
		})
	})
}

// The same name cannot stand for both kinds of run.
func TestClaimAndRunAreDifferentRequests(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.claims("4711")
			if _, err := in.svc.Start(context.Background(), claim.Request{Job: "test", RunID: "4711"}); !errors.Is(err, claim.ErrReused) {
				t.Errorf("got %v", err)
			}
		})
		claims := settings{"message": "", "claim_only": "true"}
		w.alone(claims, func(in *install) {
			if _, err := in.svc.Start(context.Background(), claim.Request{Job: "test", RunID: "1"}); !errors.Is(err, claim.ErrNoMail) {
				t.Errorf("a job without a message was to mail: %v", err)
			}
		})
	})
}

// A sheet that cannot be written does not lose a receipt.
func TestReceiptWhileTheSheetIsAway(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.claims("4711")
			w.emu.SetAccess(spreadsheet, "one", sheetsemu.CanRead)
			m, err := in.receive("4711", "k1", claim.Sent, "")
			if !errors.Is(err, claim.ErrNotSheet) || m.Outcome != claim.Sent {
				t.Errorf("got %s, %v", m.Outcome, err)
			}
			w.emu.SetAccess(spreadsheet, "one", sheetsemu.CanWrite)
			time.Sleep(in.job.Lease + time.Minute)
			if err := in.svc.RecoverAll(context.Background()); err != nil {
				t.Fatal(err)
			}
			w.wantStatus(map[string]string{"k1": "sent"})
		})
	})
}

// Killed at any call to the world, a run that hands rows out gives no row to two
// callers, and leaves no row without an end or an alert.
func TestCrashAtEveryCallOfAHandOut(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for n, died := 1, true; died; n++ {
			t.Run(fmt.Sprintf("call %d/after %t", n, after), func(t *testing.T) {
				inWorld(t, dueRows(3), func(w *world) { died = w.dieHandingOut(n, after) })
			})
			if !died && n < 15 {
				t.Errorf("the run made only %d calls to the world", n-1)
			}
		}
	}
}

func (w *world) dieHandingOut(n int, after bool) (died bool) {
	t := w.t
	given := map[string]int{}
	first := w.install("first", "one", nil)
	l := first.mortal(n, after)
	if tk, err := first.svc.Start(context.Background(), claim.Request{Job: "test", RunID: "4711", ClaimOnly: true}); err == nil {
		for _, r := range tk.Collect(context.Background()) {
			given[r.Key]++
			_, _ = first.receive("4711", r.Key, claim.Sent, "") // fails when the process has died
		}
	}
	first.close()

	time.Sleep(6 * time.Minute)
	second := w.install("second", "one", nil)
	defer second.close()
	for i := range 3 {
		if err := second.svc.RecoverAll(context.Background()); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("again-", i)
		rows, _ := second.claims(id)
		for _, r := range rows {
			given[r.Key]++
			second.mustReceive(id, r.Key, claim.Sent, "")
		}
	}
	w.noClaims()
	unknown := 0
	for i := range 3 {
		key := fmt.Sprintf("k%d", i+1)
		switch s := claim.ParseStatus(w.status(key)); {
		case given[key] > 1:
			t.Errorf("%s was given away %d times", key, given[key])
		case s.Kind == claim.StatusUnknown:
			unknown++
		case s.Kind != claim.StatusSent || given[key] != 1:
			t.Errorf("%s: given away %d times, status %q", key, given[key], w.status(key))
		}
	}
	if got := second.alerts()[claim.AlertUnknown]; got != unknown {
		t.Errorf("%d unknown rows, %d alerts", unknown, got)
	}
	return l.isDead()
}
