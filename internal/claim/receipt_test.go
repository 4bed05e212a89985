package claim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// A message that a run mailed itself is not a caller's to settle: its word would make
// a message that may have left be sent again.
func TestReceiptForARunThatMailsIsRefused(t *testing.T) {
	t.Parallel()
	inWorldWith(t, dueRows(1), sheetsemu.Options{}, lostAnswers(1), func(w *world) {
		w.alone(settings{"retry_after": "1m"}, func(in *install) {
			if d := in.run("4711"); d.Counts.Unknown != 1 {
				t.Fatalf("%+v", d)
			}
			for _, o := range []claim.Outcome{claim.Released, claim.Failed, claim.Sent} {
				if _, err := in.receive("4711", "k1", o, "the flow was stopped"); !errors.Is(err, claim.ErrMails) {
					t.Errorf("a receipt that says %s: %v", o, err)
				}
			}
			in.run("4712")
			w.wantSent(guests(1)...)
			if s := w.status("k1"); !strings.HasPrefix(s, "unknown 4711: ") {
				t.Errorf("the cell reads %q", s)
			}
			if in.waiting() != 1 {
				t.Error("the doubt waits for nobody any more")
			}
		})
	})
}

// A row is out for minutes, so that people copy it and make another one of the copy.
// The copy carries the claim's text, which gets the outcome: that is said.
func TestRowCopiedWhileItIsHandedOut(t *testing.T) {
	t.Parallel()
	inWorld(t, append(dueRows(1), []any{"", "", "", ""}), func(w *world) {
		w.alone(nil, func(in *install) {
			in.claims("4711")
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
				tab := b.Tab(tabTitle)
				tab.CopyRow(2, 3)
				tab.Set("A3", "k2")
			})
			in.mustReceive("4711", "k1", claim.Sent, "")
			w.wantStatus(map[string]string{"k1": "sent"})
			all, err := in.ledger.Alerts(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if len(all) != 1 || all[0].Cause != string(claim.KeyRepeated) {
				t.Errorf("the copy reads %q and nobody was told: %+v", w.status("k2"), all)
			}
		})
	})
}

// Columns that move during the wait do not cost the caller the cells of its rows.
func TestColumnsMoveBeforeTheHandOut(t *testing.T) {
	t.Parallel()
	rows := dueRows(1)
	rows[0] = append(rows[0], "First name")
	rows[1] = append(rows[1], "Ada")
	inWorld(t, rows, func(w *world) {
		w.at(moments["during the wait"], func(tab *sheetsemu.Tab) { tab.InsertColumns("B", 1) })
		w.alone(nil, func(in *install) {
			got, tk := in.claims("4711")
			if len(got) != 1 || got[0].Cells["First name"] != "Ada" || got[0].Email != "guest1@example.com" {
				t.Errorf("got %+v, %+v", got, tk.Document())
			}
		})
	})
}

// One word that comes twice at once is one word.
func TestReceiptTwiceAtOnce(t *testing.T) {
	t.Parallel()
	inWorldWith(t, dueRows(1), sheetsemu.Options{Faults: sheetsemu.Faults{Latency: 200 * time.Millisecond}}, lostAnswers(0), func(w *world) {
		w.alone(nil, func(in *install) {
			in.claims("4711")
			answers := make(chan error, 8)
			for range cap(answers) {
				go func() {
					_, err := in.receive("4711", "k1", claim.Released, "")
					answers <- err
				}()
			}
			for range cap(answers) {
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
			w.wantStatus(map[string]string{"k1": ""})
		})
	})
}

// A late word that comes again changes nothing.
func TestLateReleaseTwice(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.claims("4711")
			time.Sleep(in.job.Lease + time.Second)
			if err := in.svc.RecoverAll(context.Background()); err != nil {
				t.Fatal(err)
			}
			in.mustReceive("4711", "k1", claim.Released, "not today")
			in.mustReceive("4711", "k1", claim.Released, "not today")
			w.wantStatus(map[string]string{"k1": "failed 1/3: given back by the caller; not today"})
		})
	})
}

// Rows are not given to a caller that has hung up: the next one gets them.
func TestRowsStayForTheNextCaller(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			tk := in.start("4711", claimOnly)
			time.Sleep(time.Minute) // the rows are ready
			gone, hangUp := context.WithCancel(context.Background())
			hangUp()
			if rows := tk.Collect(gone); rows != nil {
				t.Errorf("a caller that had hung up got %+v", rows)
			}
			if rows, _ := in.claims("4711"); len(rows) != 1 {
				t.Errorf("the next caller got %d rows", len(rows))
			}
		})
	})
}

// slowSaves is a ledger that takes long over the document of rows that were handed out.
type slowSaves struct{ claim.Runs }

func (s slowSaves) Save(ctx context.Context, run claim.RunRef, d claim.Document) error {
	if d.HandedOutAt != nil {
		time.Sleep(time.Minute)
	}
	return s.Runs.Save(ctx, run, d)
}

// A caller that settles its rows before the run has said in the ledger that they are
// out does not make it forget that: other requests are told when they were, and how
// many.
func TestRowsSettledAtOnceWereHandedOut(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		w.alone(nil, func(in *install) {
			in.svc.Runs = slowSaves{in.ledger}
			rows, _ := in.claims("4711")
			for _, r := range rows {
				in.mustReceive("4711", r.Key, claim.Sent, "")
			}
			time.Sleep(2 * time.Minute)
			d := in.run("4711", claimOnly)
			wantRun(t, d, claim.RunSent, 2)
			if d.HandedOutAt == nil || d.HandedOut != 2 {
				t.Errorf("the document does not say that its rows were handed out: %+v", d)
			}
		})
	})
}
