package claim_test

import (
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func TestOneRunSendsEveryDueRow(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(3), func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("4711")
			wantRun(t, d, claim.RunSent, 3)
			w.wantSent(guests(3)...)
			w.wantStatus(map[string]string{"k1": "sent", "k2": "sent", "k3": "sent"})
			if d.APICalls != (claim.APICalls{Reads: 4, Writes: 2}) {
				t.Errorf("a run of one chunk made %+v calls, want 4 reads and 2 writes", d.APICalls)
			}
			wantRun(t, in.run("4712"), claim.RunNothingDue, 0)
			w.wantSent(guests(3)...)
		})
	})
}
