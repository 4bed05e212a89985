package claim_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// moment is a place in a run at which a person can edit the sheet.
type moment struct {
	kind string // of the call that is about to be applied
	nth  int    // which of the installation's calls of that kind
}

var moments = map[string]moment{
	"between read and claim":        {sheetsemu.KindGet, 2},         // before the second read
	"right at the claim":            {sheetsemu.KindBatchUpdate, 1}, // after it, before the claim lands
	"during the wait":               {sheetsemu.KindGet, 3},
	"between send and mark":         {sheetsemu.KindBatchUpdate, 2},
	"between mark and verification": {sheetsemu.KindGet, 4},
}

// at makes an edit at a moment of a run, once.
func (w *world) at(m moment, edit func(tab *sheetsemu.Tab)) {
	done := false
	w.emu.Before(func(c *sheetsemu.Call) {
		if done || c.Kind != m.kind || c.Nth != m.nth {
			return
		}
		done = true
		w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { edit(b.Tab(tabTitle)) })
	})
}

// busySheet has due rows among rows that are none of ours: sent ones, somebody's own
// text, no key, not due, blank.
func busySheet() [][]any {
	rows := [][]any{{"key", "email", "due", "status", "remarks"}}
	for i := 1; i <= 30; i++ {
		row := []any{fmt.Sprintf("k%02d", i), fmt.Sprintf("guest%d@example.com", i), "2026-11-01", "", fmt.Sprintf("remark %d", i)}
		switch i % 6 {
		case 0:
			row[3] = "sent"
		case 1:
			row[3] = "asked to wait"
		case 2:
			row[2] = "2027-01-01"
		}
		rows = append(rows, row)
		if i == 10 {
			rows = append(rows, []any{"", "", "", "", ""}, []any{"", "", "", "", "a note of the office"})
		}
	}
	return rows
}

// byKey is every row with a key, as text, without its status.
func byKey(grid [][]string) (rows map[string]string, status map[string]string, keyless []string) {
	rows, status = map[string]string{}, map[string]string{}
	for _, r := range grid {
		r = append(slices.Clone(r), make([]string, 5)...)[:5]
		rest := strings.Join([]string{r[1], r[2], r[4]}, "|")
		if r[0] == "" {
			if all := strings.Join(r, "|"); all != "||||" {
				keyless = append(keyless, all)
			}
			continue
		}
		rows[r[0]], status[r[0]] = rest, r[3]
	}
	return rows, status, keyless
}

// Whatever a person does to the rows and whenever, no mail goes to a row that does
// not carry the claim, marks land on the right rows, and nobody else's cell changes.
func TestSH13RowsMove(t *testing.T) {
	t.Parallel()
	edits := map[string]func(tab *sheetsemu.Tab){
		"row inserted on top":      func(tab *sheetsemu.Tab) { tab.InsertRows(2, 1) },
		"rows inserted in between": func(tab *sheetsemu.Tab) { tab.InsertRows(9, 3) },
		"sorted by name":           func(tab *sheetsemu.Tab) { tab.SortBy("B", false, 2) },
		"sorted by status":         func(tab *sheetsemu.Tab) { tab.SortBy("D", true, 2) },
		"a block moved":            func(tab *sheetsemu.Tab) { tab.MoveRows(5, 4, 20) },
	}
	for when, m := range moments {
		for what, edit := range edits {
			t.Run(when+"/"+what, func(t *testing.T) {
				inWorld(t, busySheet(), func(w *world) {
					before, statusBefore, keylessBefore := byKey(w.emu.Grid(spreadsheet, tabTitle))
					w.at(m, edit)
					w.alone(nil, func(in *install) {
						d := in.run("4711")
						for _, r := range d.Rows {
							if r.Outcome == claim.Sent && w.status(r.Key) != "sent" {
								t.Errorf("%s was sent, its cell reads %q", r.Key, w.status(r.Key))
							}
						}
						w.noClaims()
						w.quiet([]*install{in})
					})
					after, statusAfter, keylessAfter := byKey(w.emu.Grid(spreadsheet, tabTitle))
					slices.Sort(keylessBefore)
					slices.Sort(keylessAfter)
					if !maps.Equal(before, after) || !slices.Equal(keylessBefore, keylessAfter) {
						t.Errorf("cells that are not ours changed:\n%v\n%v\n%v\n%v", before, after, keylessBefore, keylessAfter)
					}
					due := map[string]bool{}
					for key, text := range statusBefore {
						if text == "" && !strings.HasPrefix(before[key], "guest") {
							continue
						}
						if text == "" && !strings.Contains(before[key], "2027") {
							due[key] = true
							continue
						}
						if statusAfter[key] != text {
							t.Errorf("status of %s was %q and is %q", key, text, statusAfter[key])
						}
					}
					for key := range due {
						if statusAfter[key] != "sent" {
							t.Errorf("status of %s is %q in the end", key, statusAfter[key])
						}
					}
					if len(w.sent()) != len(due) || len(w.sink.Messages()) != len(due) {
						t.Errorf("%d messages to %d addresses for %d due rows", len(w.sink.Messages()), len(w.sent()), len(due))
					}
				})
			})
		}
	}
}

// absentLedger is out of reach when rows are to be given back for the first time.
type absentLedger struct {
	book
	asked *int
}

func (l absentLedger) Move(ctx context.Context, run claim.RunRef, ms []claim.Move) ([]bool, error) {
	if len(ms) > 0 && ms[0].To == claim.Returning {
		if *l.asked++; *l.asked == 1 {
			return nil, errors.New("the server cannot be reached")
		}
	}
	return l.book.Move(ctx, run, ms)
}

// A claim landed beside its rows, and the ledger is away for just that moment: what
// stood there comes back all the same, and not what stood in the rows that were meant.
func TestClaimMisplacedWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	for what, edit := range map[string]func(tab *sheetsemu.Tab){
		"rows":    func(tab *sheetsemu.Tab) { tab.MoveRows(5, 4, 20) },
		"columns": func(tab *sheetsemu.Tab) { tab.InsertColumns("D", 1) },
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, busySheet(), func(w *world) {
				_, before, _ := byKey(w.emu.Grid(spreadsheet, tabTitle)[1:])
				w.at(moments["right at the claim"], edit)
				w.alone(nil, func(in *install) {
					asked, usual := 0, in.svc.Worker
					in.svc.Worker = func() *claim.Worker {
						wk := usual()
						wk.Ledger = absentLedger{in.ledger, &asked}
						return wk
					}
					wantRun(t, in.run("4711"), claim.RunStopped, 0)
					w.quiet([]*install{in})
					if n := in.alerts()[claim.AlertDoubt]; n == 0 {
						t.Error("nobody is told")
					}
				})
				for key, text := range before {
					if got := w.status(key); text != "" && got != text {
						t.Errorf("status of %s was %q and is %q", key, text, got)
					}
				}
			})
		})
	}
}

func TestForeignTextDuringWait(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(4), func(w *world) {
		w.alone(nil, func(in *install) {
			w.at(moments["during the wait"], func(tab *sheetsemu.Tab) { tab.Set("D3", "sending 4712") })
			d := in.run("4711")
			wantRun(t, d, claim.RunStopped, 0)
			w.wantSent()
			w.wantStatus(map[string]string{"k1": "", "k2": "sending 4712", "k3": "", "k4": ""})
			if len(d.Doubts) != 1 || d.Doubts[0].Kind != claim.ClaimOverwritten || d.Doubts[0].Key != "k2" {
				t.Errorf("doubts: %+v", d.Doubts)
			}
			if d.Counts.Released != 3 || d.Counts.Skipped != 1 {
				t.Errorf("counts: %+v", d.Counts)
			}
			if n := in.alerts()[claim.AlertDoubt]; n != 1 {
				t.Errorf("%d doubt alerts, want 1", n)
			}
		})
	})
}

func TestSkipLeavesOnlyDoubtfulRows(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(4), func(w *world) {
		w.alone(settings{"on_doubt": "skip"}, func(in *install) {
			w.at(moments["during the wait"], func(tab *sheetsemu.Tab) { tab.Set("D3", "mine") })
			d := in.run("4711")
			wantRun(t, d, claim.RunPartial, 3)
			w.wantStatus(map[string]string{"k1": "sent", "k2": "mine", "k3": "sent", "k4": "sent"})
		})
	})
}

func TestGS05EditedDuringWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(tab *sheetsemu.Tab)
		kind claim.DoubtKind
		cell string
	}{
		"address":     {func(tab *sheetsemu.Tab) { tab.Set("B2", "other@example.com") }, claim.AddressChanged, ""},
		"due":         {func(tab *sheetsemu.Tab) { tab.Set("C2", "2027-01-01") }, claim.NoLongerDue, ""},
		"status":      {func(tab *sheetsemu.Tab) { tab.Set("D2", "paid") }, claim.ClaimOverwritten, "paid"},
		"row deleted": {func(tab *sheetsemu.Tab) { tab.DeleteRows(2, 1) }, claim.RowGone, ""},
		"row copied":  {func(tab *sheetsemu.Tab) { tab.CopyRow(2, 9) }, claim.KeyRepeated, ""},
		"cleared":     {func(tab *sheetsemu.Tab) { tab.Set("D2", "") }, claim.ClaimMissing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, dueRows(3), func(w *world) {
				w.alone(nil, func(in *install) {
					w.at(moments["during the wait"], tc.edit)
					d := in.run("4711")
					wantRun(t, d, claim.RunStopped, 0)
					w.wantSent()
					if len(d.Doubts) != 1 || d.Doubts[0].Kind != tc.kind {
						t.Errorf("doubts: %+v, want %s", d.Doubts, tc.kind)
					}
					if name != "row deleted" {
						w.wantStatus(map[string]string{"k1": tc.cell})
					}
					w.wantStatus(map[string]string{"k2": "", "k3": ""})
					w.noClaims()
				})
			})
		})
	}
}

func TestFiveHundredRows(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(500), func(w *world) {
		w.alone(settings{"limit": "500", "first_run_limit": "0"}, func(in *install) {
			d := in.run("4711")
			wantRun(t, d, claim.RunSent, 500)
			w.wantSent(guests(500)...)
			c := w.emu.Counts("one")
			if c.Reads > 24 || c.Writes > 22 {
				t.Errorf("%d reads and %d writes, want at most 24 and 22", c.Reads, c.Writes)
			}
			if d.APICalls != (claim.APICalls{Reads: c.Reads, Writes: c.Writes}) {
				t.Errorf("the document says %+v, the emulator counted %+v", d.APICalls, c)
			}
		})
	})
}

func TestFirstRunLimit(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(12), func(w *world) {
		w.alone(settings{"first_run_limit": "10"}, func(in *install) {
			wantRun(t, in.run("a"), claim.RunStopped, 0)
			w.wantSent()
			wantRun(t, in.run("a", func(r *claim.Request) { r.Confirmed = true }), claim.RunSent, 12)
			w.wantSent(guests(12)...)
		})
	})
}

func TestDryRunTouchesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, dueRows(3), func(w *world) {
		w.alone(nil, func(in *install) {
			d := in.run("dry", func(r *claim.Request) { r.DryRun = true })
			wantRun(t, d, claim.RunDry, 0)
			if len(d.Rows) != 3 || d.Rows[0].Outcome != claim.Would {
				t.Errorf("rows: %+v", d.Rows)
			}
			if c := w.emu.Counts("one"); c.Writes != 0 || c.Reads != 1 {
				t.Errorf("a dry run made %+v", c)
			}
			if w.sink.Stats().Connections != 0 {
				t.Error("a dry run spoke to the mail server")
			}
			if ms, err := in.ledger.Messages(context.Background(), "test"); err != nil || len(ms) != 0 {
				t.Errorf("a dry run left %v in the ledger (%v)", ms, err)
			}
		})
	})
}

func TestLimitCountsAfterTheLedger(t *testing.T) {
	t.Parallel()
	rows := dueRows(6)
	inWorld(t, rows, func(w *world) {
		w.alone(settings{"limit": "2"}, func(in *install) {
			wantRun(t, in.run("a"), claim.RunSent, 2)
			// Cleared cells of ended rows stand at the top and must not use the limit up.
			w.emu.Edit(spreadsheet, func(b *sheetsemu.Book) { b.Tab(tabTitle).ClearRange("D2:D3") })
			d := in.run("b")
			if d.Counts.Sent != 2 || d.Counts.Skipped != 2 || d.Outcome != claim.RunPartial {
				t.Errorf("%+v", d)
			}
			if len(d.Doubts) != 2 || d.Doubts[0].Kind != claim.ClearedAfterEnd {
				t.Errorf("doubts: %+v", d.Doubts)
			}
			w.wantSent(guests(4)...)
			time.Sleep(time.Hour)
			in.run("c")
			if n := in.alerts()[claim.AlertDoubt]; n != 2 {
				t.Errorf("the cleared rows were alerted %d times, want once each", n)
			}
		})
	})
}
