package claim_test

import (
	"context"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// Tabs of one spreadsheet do not refuse each other's claims: their numbers are hashed
// with the tab into metadata ids, which belong to the whole spreadsheet.
func TestTwoTabsOfOneSpreadsheet(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(3), func(w *world) {
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
			tab := b.AddTab("Other")
			tab.Append("key", "email", "due", "status")
			tab.Append("k1", "other1@example.com", "2026-11-01", "")
		})
		first := w.install("first", "a", nil)
		second := w.install("second", "b", settings{"range": "Other!A1:D"})
		wantRun(t, first.run("1"), claim.RunSent, 3)
		d := second.run("1")
		wantRun(t, d, claim.RunSent, 1)
		if d.APICalls.Writes != 2 {
			t.Errorf("%+v: the other tab's claim was in the way", d.APICalls)
		}
		first.close()
		second.close()
	})
}

// An age is the greater of wall and monotonic time: a machine that slept between a
// read and its claim has an old read, whatever its monotonic clock says.
func TestSleepMakesAReadOld(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		w.alone(nil, func(in *install) {
			make0 := in.svc.Worker
			in.svc.Worker = func() *claim.Worker {
				wk := make0()
				calls := 0
				var slept time.Duration
				wk.Sheet = hookedSheet{wk.Sheet, func() { calls++; slept = time.Duration(calls/2) * 10 * time.Minute }}
				// Wall time alone, as after a sleep: no monotonic reading moves with it.
				wk.Now = func() time.Time { return time.Now().Round(0).Add(slept) }
				return wk
			}
			d := in.run("1")
			if d.Counts.Sent != 0 || len(d.Doubts) == 0 || d.Doubts[0].Kind != claim.TooSlow {
				t.Errorf("%+v", d)
			}
			w.noClaims()
		})
	})
}

// hookedSheet calls a function after each read.
type hookedSheet struct {
	claim.Sheet
	after func()
}

func (h hookedSheet) Read(ctx context.Context, t claim.Target, ask claim.Ask) (*claim.Grid, error) {
	g, err := h.Sheet.Read(ctx, t, ask)
	h.after()
	return g, err
}
