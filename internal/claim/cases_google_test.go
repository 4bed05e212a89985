package claim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// Cases that users of such tools report about Google's API, through the whole
// method.

// calls of a run, in order, as the emulator counts them by kind.
var runCalls = []moment{
	{sheetsemu.KindGet, 1},
	{sheetsemu.KindGet, 2},
	{sheetsemu.KindBatchUpdate, 1},
	{sheetsemu.KindGet, 3},
	{sheetsemu.KindBatchUpdate, 2},
	{sheetsemu.KindGet, 4},
}

var runCallNames = []string{"first read", "second read", "claim", "confirm", "mark", "verify"}

func TestGS01Quota(t *testing.T) {
	t.Parallel()
	for i, m := range runCalls {
		t.Run(runCallNames[i], func(t *testing.T) {
			inWorld(t, dueRows(3), func(w *world) {
				w.emu.Script(sheetsemu.Rule{
					Match: sheetsemu.Match{Kind: m.kind, Nth: m.nth, Count: 2},
					Fault: sheetsemu.Fault{Apply: sheetsemu.Never, Answer: sheetsemu.Status(429, "")},
				})
				w.alone(nil, func(in *install) {
					began := time.Now()
					d := in.run("1")
					switch runCallNames[i] {
					case "claim":
						wantRun(t, d, claim.RunFailed, 0)
						w.noClaims()
					case "confirm":
						wantRun(t, d, claim.RunStopped, 0)
						w.noClaims()
					default:
						wantRun(t, d, claim.RunSent, 3)
						if took := time.Since(began); took < time.Minute {
							t.Errorf("a 429 was waited out in %s, want past the minute", took)
						}
					}
					time.Sleep(5 * time.Minute)
					w.quiet([]*install{in})
					w.wantSent(guests(3)...)
					w.noClaims()
				})
			})
		})
	}
}

func TestGS02AppliedAndAnswered503(t *testing.T) {
	t.Parallel()
	for i, m := range runCalls {
		for name, fault := range map[string]sheetsemu.Fault{
			"503 applied":     {Answer: sheetsemu.Status(503, "")},
			"503 not applied": {Apply: sheetsemu.Never, Answer: sheetsemu.Status(503, "")},
			"answer lost":     {Answer: sheetsemu.Lost},
			"cut body":        {Answer: sheetsemu.Cut},
			"html body":       {Answer: sheetsemu.HTML},
			"slow":            {Answer: sheetsemu.Slow(4 * time.Second)},
			"late":            {Apply: sheetsemu.Late(90 * time.Second), Answer: sheetsemu.Lost},
		} {
			t.Run(runCallNames[i]+"/"+name, func(t *testing.T) {
				inWorld(t, dueRows(3), func(w *world) {
					w.emu.Script(sheetsemu.Rule{Match: sheetsemu.Match{Kind: m.kind, Nth: m.nth}, Fault: fault})
					w.alone(nil, func(in *install) {
						d := in.run("1")
						if d.Outcome == claim.RunFailed && d.Counts.Sent > 0 {
							t.Errorf("%+v", d)
						}
						if runCallNames[i] == "mark" && name == "503 applied" {
							wantRun(t, d, claim.RunSent, 3)
							if a := in.alerts(); len(a) != 0 {
								t.Errorf("alerts: %v", a)
							}
						}
						if runCallNames[i] == "claim" && name == "503 applied" {
							wantRun(t, d, claim.RunSent, 3) // its own entry was seen in time
						}
						time.Sleep(5 * time.Minute)
						w.quiet([]*install{in})
						w.wantSent(guests(3)...)
						w.noClaims()
						w.wantStatus(map[string]string{"k1": "sent", "k2": "sent", "k3": "sent"})
					})
				})
			})
		}
	}
}

func TestGS07SetUpFaults(t *testing.T) {
	t.Parallel()
	disabled := `{"error":{"code":403,"message":"Google Sheets API has not been used in project 1234567890 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/sheets.googleapis.com/overview?project=1234567890 then retry.","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED","domain":"googleapis.com","metadata":{"service":"sheets.googleapis.com","consumer":"projects/1234567890"}}]}}`
	for name, tc := range map[string]struct {
		answer sheetsemu.Answer
		want   []string
	}{
		"not shared":   {sheetsemu.Status(403, ""), []string{"share the sheet with", "editor"}},
		"api disabled": {sheetsemu.Status(403, disabled), []string{"enable the Sheets API", "1234567890"}},
		"not found":    {sheetsemu.Status(404, ""), []string{"spreadsheet", "not found", spreadsheet}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, dueRows(1), func(w *world) {
				w.emu.Script(sheetsemu.Rule{Match: sheetsemu.Match{Kind: sheetsemu.KindGet}, Fault: sheetsemu.Fault{Answer: tc.answer}})
				w.alone(nil, func(in *install) {
					d := in.run("1")
					wantRun(t, d, claim.RunFailed, 0)
					for _, want := range tc.want {
						if !strings.Contains(strings.ToLower(d.Detail), strings.ToLower(want)) {
							t.Errorf("the error does not say %q: %s", want, d.Detail)
						}
					}
					w.untouched()
				})
			})
		})
	}
}

// Reads that lag behind writes are read again, and are no doubt.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	for _, nth := range []int{3, 4} {
		inWorld(t, dueRows(3), func(w *world) {
			w.emu.Script(sheetsemu.Rule{
				Match: sheetsemu.Match{Kind: sheetsemu.KindGet, Nth: nth},
				Fault: sheetsemu.Fault{Stale: 16 * time.Second},
			})
			w.alone(nil, func(in *install) {
				d := in.run("1")
				wantRun(t, d, claim.RunSent, 3)
				if len(d.Doubts) != 0 {
					t.Errorf("read %d: doubts %+v", nth, d.Doubts)
				}
			})
		})
	}
}

// The fence is pruned in a call of its own, and keeps what it must.
func TestFenceIsPruned(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(5), func(w *world) {
		w.alone(settings{"limit": "1"}, func(in *install) {
			in.run("1")
			sheet := in.svc.Worker().Sheet
			g, err := sheet.Read(context.Background(), in.job.Target, claim.Ask{Fence: true})
			if err != nil {
				t.Fatal(err)
			}
			for n := range uint64(130) {
				if _, err := sheet.Claim(context.Background(), g, claim.Batch{Stamp: claim.Stamp{N: n + 2, Mark: "other", Ledger: "other", Count: n}}); err != nil {
					t.Fatal(err)
				}
			}
			in.run("2")
			in.run("3") // ten minutes have not passed since any number that the ledger knows
			if n := w.stamps(); n != 133 {
				t.Errorf("young entries were deleted: %d are left of 133", n)
			}
			time.Sleep(11 * time.Minute)
			in.run("4")
			if n := w.stamps(); n != 101 { // the newest hundred that it read, and its own
				t.Errorf("%d entries of the fence are left", n)
			}
			wantRun(t, in.run("5"), claim.RunSent, 1)
		})
	})
}

// stamps counts the entries of the fence.
func (w *world) stamps() int {
	n := 0
	for _, tab := range w.emu.Snapshot(spreadsheet).Tabs {
		n += len(tab.Metadata)
	}
	return n
}
