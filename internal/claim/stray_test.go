package claim_test

import (
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// A claim that our ledger does not know is left alone, and reported once.
func TestStaleForeignClaim(t *testing.T) {
	t.Parallel()
	rows := dueRows(2)
	rows[1][3] = "sending 4712"
	inWorld(t, rows, func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			time.Sleep(10 * time.Minute)
			in.run("2")
			if n := in.alerts()[claim.AlertStaleClaim]; n != 0 {
				t.Errorf("reported after ten minutes")
			}
			time.Sleep(10 * time.Minute)
			in.run("3")
			in.run("4")
			if n := in.alerts()[claim.AlertStaleClaim]; n != 1 {
				t.Errorf("reported %d times, want once", n)
			}
			w.wantStatus(map[string]string{"k1": "sending 4712", "k2": "sent"})
			w.wantSent("guest2@example.com")
		})
	})
}

// A claim text of ours that comes back after its row was settled says again what the
// ledger says: somebody pasted an old state of the sheet, for instance.
func TestOwnClaimTextComesBack(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(2), func(w *world) {
		w.alone(nil, func(in *install) {
			in.run("1")
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) {
				b.Tab(tabTitle).Set("D2", "sending 1/m0000001.1")
			})
			in.run("2")
			w.wantStatus(map[string]string{"k1": "sent", "k2": "sent"})
			w.wantSent(guests(2)...)
		})
	})
}
