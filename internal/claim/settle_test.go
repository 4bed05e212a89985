package claim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// lostAnswers drops the answer to the first n final dots, after queueing.
func lostAnswers(n int) smtpsink.Options {
	return smtpsink.Options{UTF8: true, Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true, Times: n}}}
}

func (in *install) settle(key string, word claim.Word, why string) error {
	return claim.Settle(context.Background(), in.ledger, claim.Settlement{
		Book: claim.Book{Job: "test"}, Key: key, Word: word, Who: "ada", Why: why,
	})
}

func (in *install) waiting() int {
	in.w.t.Helper()
	ms, err := in.ledger.Waiting(context.Background(), claim.Book{Job: "test"})
	if err != nil {
		in.w.t.Fatal(err)
	}
	return len(ms)
}

func TestSettleAsSent(t *testing.T) {
	t.Parallel()
	inWorldWith(t, dueRows(2), sheetsemu.Options{}, lostAnswers(1), func(w *world) {
		w.alone(settings{"on_doubt": "skip"}, func(in *install) {
			in.run("1")
			if n := in.waiting(); n != 1 {
				t.Fatalf("%d messages wait, want 1", n)
			}
			if err := in.settle("k1", claim.WordSent, " "); !errors.Is(err, claim.ErrNoReason) {
				t.Errorf("without a reason: %v", err)
			}
			if err := in.settle("k7", claim.WordSent, "seen"); !errors.Is(err, claim.ErrNoMessage) {
				t.Errorf("of an unknown key: %v", err)
			}
			if err := in.settle("k1", claim.WordSent, "it is in the Sent folder"); err != nil {
				t.Fatal(err)
			}
			if err := in.settle("k1", claim.WordSent, "twice"); err == nil {
				t.Error("a settled message was settled again")
			}
			if err := in.svc.RecoverAll(context.Background()); err != nil {
				t.Fatal(err)
			}
			w.wantStatus(map[string]string{"k1": "sent", "k2": "sent"})
			wantRun(t, in.run("2"), claim.RunNothingDue, 0)
			w.wantSent(guests(2)...)
			events, err := in.ledger.Events(context.Background(), "test")
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, e := range events {
				found = found || strings.Contains(e.Text, "settled as sent by ada: it is in the Sent folder")
			}
			if !found {
				t.Error("the record does not say who settled and why")
			}
		})
	})
}

// The note tells a row's last problem: none is left when the message turns out sent.
func TestSettlingClearsTheNote(t *testing.T) {
	t.Parallel()
	rows := [][]any{{"key", "email", "status", "note"}, {"k1", "a@x.test", "", ""}, {"k2", "b@x.test", "", ""}}
	inWorldWith(t, rows, sheetsemu.Options{}, lostAnswers(2), func(w *world) {
		w.alone(settings{"columns": "{key: key, email: email, status: status, note: note}"}, func(in *install) {
			in.run("1")
			if got := w.cell("k1", "note"); !strings.Contains(got, "lost") {
				t.Errorf("k1 note of an unknown: %q", got)
			}
			before := w.cell("k2", "note")
			if err := in.settle("k1", claim.WordSent, "it is in the Sent folder"); err != nil {
				t.Fatal(err)
			}
			if err := in.svc.RecoverAll(context.Background()); err != nil {
				t.Fatal(err)
			}
			w.wantStatus(map[string]string{"k1": "sent"})
			if got := w.cell("k1", "note"); got != "" {
				t.Errorf("k1 note after its settlement: %q", got)
			}
			if got := w.cell("k2", "note"); got == "" || got != before {
				t.Errorf("k2 note: %q, want %q as before", got, before)
			}
		})
	})
}

func TestSettleAsResend(t *testing.T) {
	t.Parallel()
	inWorldWith(t, dueRows(2), sheetsemu.Options{}, lostAnswers(1), func(w *world) {
		w.alone(settings{"on_doubt": "skip"}, func(in *install) {
			in.run("1")
			if err := in.settle("k1", claim.WordResend, "not in the Sent folder"); err != nil {
				t.Fatal(err)
			}
			// k2 was sent, and somebody wants it once more.
			err := claim.Settle(context.Background(), in.ledger, claim.Settlement{
				Book: claim.Book{Job: "test", Spreadsheet: spreadsheet}, Key: "k2", Word: claim.WordResend, Who: "ada", Why: "she asked for it",
			})
			if err != nil {
				t.Fatal(err)
			}
			wantRun(t, in.run("2"), claim.RunSent, 2)
			if got := w.sent(); got["guest1@example.com"] != 2 || got["guest2@example.com"] != 2 {
				t.Errorf("messages: %v", got)
			}
			wantRun(t, in.run("3"), claim.RunNothingDue, 0) // the wish is used up
			if n := in.waiting(); n != 0 {
				t.Errorf("%d messages wait", n)
			}
		})
	})
}

// A wish that a run could not fulfil stays.
func TestWishSurvivesGivingBack(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			err := claim.Settle(context.Background(), in.ledger, claim.Settlement{
				Book: claim.Book{Job: "test", Spreadsheet: spreadsheet}, Key: "k1", Word: claim.WordResend, Who: "ada", Why: "again",
			})
			if err != nil {
				t.Fatal(err)
			}
			w.emu.ResetLog()
			w.at(moments["during the wait"], func(tab *sheetsemu.Tab) { tab.Set("B2", "new@example.com") })
			wantRun(t, in.run("2"), claim.RunStopped, 0)
			w.wantStatus(map[string]string{"k1": "sent"})
			wantRun(t, in.run("3"), claim.RunSent, 1)
			w.wantSent("guest1@example.com", "new@example.com")
			wantRun(t, in.run("4"), claim.RunNothingDue, 0)
		})
	})
}

// "sent" typed over an unknown settles it in the ledger, too: clearing the cell
// later does not bring it back.
func TestSentTypedOverUnknown(t *testing.T) {
	t.Parallel()
	inWorldWith(t, dueRows(1), sheetsemu.Options{}, lostAnswers(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("D2", "Sent") })
			in.run("2")
			if n := in.waiting(); n != 0 {
				t.Errorf("%d messages wait", n)
			}
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).Set("D2", "") })
			time.Sleep(time.Hour)
			d := in.run("3")
			if d.Counts.Sent != 0 || len(d.Doubts) != 1 || d.Doubts[0].Kind != claim.ClearedAfterEnd {
				t.Errorf("%+v", d)
			}
			w.wantSent(guests(1)...)
		})
	})
}

// Until a run has taken it, a wish can be taken back.
func TestWishTakenBack(t *testing.T) {
	t.Parallel()
	inWorldWith(t, dueRows(1), sheetsemu.Options{}, lostAnswers(1), func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			for _, word := range []claim.Word{claim.WordResend, claim.WordSent} {
				if err := in.settle("k1", word, "on second thoughts"); err != nil {
					t.Fatal(err)
				}
			}
			wantRun(t, in.run("2"), claim.RunNothingDue, 0)
			w.wantStatus(map[string]string{"k1": "sent"})
			w.wantSent(guests(1)...)
		})
	})
}
