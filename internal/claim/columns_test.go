package claim_test

import (
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// Columns that move in mid-run are found again by their headers, for marks and for
// giving back.
func TestColumnsMove(t *testing.T) {
	t.Parallel()
	for when, m := range moments {
		for _, doubt := range []bool{false, true} {
			inWorld(t, dueRows(3), func(w *world) {
				w.at(m, func(tab *sheetsemu.Tab) {
					tab.InsertColumns("B", 1)
					if doubt {
						tab.Set("E3", "my own text")
					}
				})
				w.alone(nil, func(in *install) {
					in.run("1")
					time.Sleep(5 * time.Minute)
					w.quiet([]*install{in})
					w.noClaims()
					for i, to := range guests(3) {
						key := []string{"k1", "k2", "k3"}[i]
						got := w.sent()[to]
						if sent := w.status(key) == "sent"; got > 1 || (got == 1) != sent && !(doubt && key == "k2") {
							t.Errorf("%s, doubt %t: %s got %d messages, its status reads %q", when, doubt, to, got, w.status(key))
						}
					}
				})
			})
		}
	}
}

func TestTabRenamedInMidRun(t *testing.T) {
	t.Parallel()
	for when, m := range moments {
		inWorld(t, dueRows(3), func(w *world) {
			w.at(m, func(*sheetsemu.Tab) {})
			done := false
			w.emu.Before(func(c *sheetsemu.Call) {
				if !done && c.Kind == m.kind && c.Nth == m.nth {
					done = true
					w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.RenameTab(tabTitle, "Other") })
				}
			})
			w.alone(nil, func(in *install) {
				d := in.run("1")
				w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.RenameTab("Other", tabTitle) })
				time.Sleep(5 * time.Minute)
				w.quiet([]*install{in})
				w.noClaims()
				w.wantSent(guests(3)...)
				w.wantStatus(map[string]string{"k1": "sent", "k2": "sent", "k3": "sent"})
				if d.Outcome == claim.RunSent && len(d.Doubts) > 0 {
					t.Errorf("%s: %+v", when, d)
				}
			})
		})
	}
}
