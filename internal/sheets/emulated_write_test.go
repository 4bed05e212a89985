package sheets

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// batch is a claim with number n on the tab of g.
func batch(g *claim.Grid, n uint64, cells ...claim.BatchCell) claim.Batch {
	b := claim.Batch{Stamp: claim.Stamp{ID: StampID(g.Tab.ID, n), N: n, Mark: "k3xw9q2m", Ledger: "led1", Count: n}, Cells: cells}
	for _, cell := range cells {
		b.Rows = append(b.Rows, cell.Row)
	}
	return b
}

func TestClaim(t *testing.T) {
	ctx := context.Background()
	emu, c := emulated(t, "Visits", header, []any{"k1"}, []any{"k2", nil, nil, "resend"}, []any{"k3", nil, nil, "failed 1/3: full"}, []any{"k4"})
	g := read(t, c, "Visits!A1:D", claim.Ask{Fence: true})
	b := batch(g, 1,
		claim.BatchCell{Row: 2, Column: 3, Text: "sending 1/k3xw9q2m.1"},
		claim.BatchCell{Row: 3, Column: 3, Text: "sending 1/k3xw9q2m.2", Held: "resend"},
		claim.BatchCell{Row: 4, Column: 3, Text: "sending 1/k3xw9q2m.3", Held: "failed 2/3: full"},
	)
	after, err := c.Claim(ctx, g, b)
	if err != nil {
		t.Fatal(err)
	}
	// What a held cell held otherwise stays, and shows.
	want := map[int]string{2: "k1|||sending 1/k3xw9q2m.1", 3: "k2|||sending 1/k3xw9q2m.2", 4: "k3|||failed 1/3: full"}
	if diff := cmp.Diff(want, shown(after)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(g.Header, after.Header); diff != "" {
		t.Error(diff)
	}

	t.Run("its number is used up", func(t *testing.T) {
		before := emu.Snapshot("S1")
		late := batch(g, 1, claim.BatchCell{Row: 5, Column: 3, Text: "sending 2/zzzzzzzz.1"})
		if _, err := c.Claim(ctx, g, late); !errors.Is(err, claim.ErrFenced) {
			t.Errorf("err = %v", err)
		}
		if diff := cmp.Diff(before, emu.Snapshot("S1")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the fence shows who has it", func(t *testing.T) {
		g := read(t, c, "Visits!A1:D", claim.Ask{Fence: true})
		if diff := cmp.Diff([]claim.Stamp{b.Stamp}, g.Fence); diff != "" {
			t.Error(diff)
		}
		if g := read(t, c, "Visits!A1:D", claim.Ask{}); g.Fence != nil {
			t.Errorf("fence unasked: %v", g.Fence)
		}
	})
	t.Run("a replacement finds its row wherever it is", func(t *testing.T) {
		emu.Edit("S1", func(b *sheetsemu.Book) { b.Tab("Visits").SortBy("A", false, 2) })
		counts, err := c.Replace(ctx, g, []claim.Replacement{
			{Column: 3, From: "sending 1/k3xw9q2m.1", To: "sent"},
			{Column: 3, From: "sending 1/k3xw9q2m.2", To: ""},
			{Column: 3, From: "SENT", To: "x"},
			{Column: 3, From: "sen", To: "x"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{1, 1, 0, 0}, counts); diff != "" {
			t.Error(diff)
		}
		want := map[int]string{2: "k4|||", 3: "k3|||failed 1/3: full", 4: "k2|||", 5: "k1|||sent"}
		if diff := cmp.Diff(want, shown(read(t, c, "Visits!A1:D", claim.Ask{}))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("old entries are deleted", func(t *testing.T) {
		for n := uint64(2); n < 5; n++ {
			if _, err := c.Claim(ctx, g, batch(g, n)); err != nil {
				t.Fatal(err)
			}
		}
		g := read(t, c, "Visits!A1:D", claim.Ask{Fence: true})
		if len(g.Fence) != 4 {
			t.Fatalf("fence %v", g.Fence)
		}
		if err := c.Prune(ctx, g, g.Fence[:2]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(g.Fence[2:], read(t, c, "Visits!A1:D", claim.Ask{Fence: true}).Fence); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("rows moved between read and claim", func(t *testing.T) {
		emu.Edit("S1", func(b *sheetsemu.Book) { b.Tab("Visits").InsertRows(2, 1) })
		after, err := c.Claim(ctx, g, batch(g, 9, claim.BatchCell{Row: 2, Column: 3, Text: "sending 1/a.1"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(after)[2]; got != "|||sending 1/a.1" {
			t.Errorf("row 2 shows %q: it does not tell that the claim lies beside its row", got)
		}
	})
	t.Run("the tab was renamed meanwhile", func(t *testing.T) {
		emu.Edit("S1", func(b *sheetsemu.Book) { b.RenameTab("Visits", "Old") })
		if _, err := c.Claim(ctx, g, batch(g, 20, claim.BatchCell{Row: 3, Column: 3, Text: "x"})); !isUnclear(err) {
			t.Errorf("with rows to answer: %v", err)
		}
		if _, err := c.Claim(ctx, g, batch(g, 20)); err != nil {
			t.Errorf("the number cannot be used up: %v", err)
		}
	})
}

func TestWritesOverFaults(t *testing.T) {
	for name, fault := range map[string]sheetsemu.Fault{
		"GS02 stored and answered 503": {Answer: sheetsemu.Status(503, "")},
		"not stored and answered 503":  {Apply: sheetsemu.Never, Answer: sheetsemu.Status(503, "")},
		"stored, answer lost":          {Answer: sheetsemu.Lost},
		"stored late, answer lost":     {Apply: sheetsemu.Late(time.Minute), Answer: sheetsemu.Lost},
		"cut":                          {Answer: sheetsemu.Cut},
		"a page":                       {Answer: sheetsemu.HTML},
		"silent":                       {Answer: sheetsemu.Silent},
		"slow on the way":              {Delay: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				emu, c := emulated(t, "Visits", header, []any{"k1"})
				g := read(t, c, "Visits!A1:D", claim.Ask{Fence: true})
				emu.Script(sheetsemu.Rule{Match: sheetsemu.Match{Writes: true, Count: 1}, Fault: fault})
				b := batch(g, 1, claim.BatchCell{Row: 2, Column: 3, Text: "sending 1/a.1"})
				if _, err := c.Claim(context.Background(), g, b); !isUnclear(err) {
					t.Errorf("err = %v", err)
				}
				if n := emu.Counts("").Writes; n != 1 {
					t.Errorf("sent %d times", n)
				}
				emu.Wait()
				// Using the number up tells what became of it.
				_, err := c.Claim(context.Background(), g, batch(g, 1))
				stored := read(t, c, "Visits!A1:D", claim.Ask{}).Rows[0].Cell(3).Shown != ""
				if errors.Is(err, claim.ErrFenced) != stored || err != nil && !stored {
					t.Errorf("err = %v, stored %v", err, stored)
				}
			})
		})
	}
}

func TestGS08(t *testing.T) {
	emu, c := emulated(t, "Visits", header, []any{"k1"})
	emu.SetAccess("S1", "run-1", sheetsemu.CanRead)
	g := read(t, c, "Visits!A1:D", claim.Ask{Fence: true})
	_, err := c.Claim(context.Background(), g, batch(g, 1, claim.BatchCell{Row: 2, Column: 3, Text: "x"}))
	if words := sheetError(t, err); isUnclear(err) || !words.Setup || words.Problem != "the account may not write to the spreadsheet" {
		t.Errorf("err = %v", err)
	}
}

// TestCallsOfARun counts what one run over one chunk costs: the method's list.
func TestCallsOfARun(t *testing.T) {
	ctx := context.Background()
	_, c := emulated(t, "Visits", header, []any{"k1"})
	view, made := c.Counting()
	g := read(t, view, "Visits!A1:D", claim.Ask{Columns: []int{0, 3}})
	g = read(t, view, "Visits!A1:D", claim.Ask{Tab: &g.Tab, Columns: []int{0, 3}, Rows: []int{2}, Fence: true})
	if _, err := view.Claim(ctx, g, batch(g, 1, claim.BatchCell{Row: 2, Column: 3, Text: "a"})); err != nil {
		t.Fatal(err)
	}
	read(t, view, "Visits!A1:D", claim.Ask{Tab: &g.Tab})
	if _, err := view.Replace(ctx, g, []claim.Replacement{{Column: 3, From: "a", To: "sent"}}); err != nil {
		t.Fatal(err)
	}
	read(t, view, "Visits!A1:D", claim.Ask{Tab: &g.Tab})
	if made() != (claim.APICalls{Reads: 4, Writes: 2}) {
		t.Errorf("%+v", made())
	}
}
