package sheets

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/sheetsemu"
)

// emulated is a client over an emulator that holds one tab.
func emulated(t *testing.T, tab string, rows ...[]any) (*sheetsemu.Emulator, *Client) {
	t.Helper()
	emu := sheetsemu.New(sheetsemu.Options{TimeZone: "Europe/Berlin"})
	if err := emu.Put("S1", tab, rows); err != nil {
		t.Fatal(err)
	}
	return emu, newClient(t, Config{Transport: emu.Transport("run-1")})
}

func read(t *testing.T, c *Client, cells string, ask claim.Ask) *claim.Grid {
	t.Helper()
	g, err := c.Read(context.Background(), claim.Target{Spreadsheet: "S1", Range: cells}, ask)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// shown are the numbers and texts of a grid's rows.
func shown(g *claim.Grid) map[int]string {
	out := map[int]string{}
	for _, r := range g.Rows {
		var cells []string
		for i := range g.Header {
			cells = append(cells, r.Cell(i).Shown)
		}
		out[r.Number] = strings.Join(cells, "|")
	}
	return out
}

var header = []any{"key", "email", "due", "status"}

func TestReadCases(t *testing.T) {
	t.Run("SH05", func(t *testing.T) {
		emu, c := emulated(t, "O'Brien Kunden 2026 é", header, []any{"k1", "a@x.test"})
		g := read(t, c, "'O''Brien Kunden 2026 é'!A1:Z", claim.Ask{})
		if g.Tab.Title != "O'Brien Kunden 2026 é" || g.Zone != "Europe/Berlin" {
			t.Errorf("%+v", g)
		}
		if _, err := c.Claim(context.Background(), g, batch(g, 1, claim.BatchCell{Row: 2, Column: 3, Text: "sending 1/a.1"})); err != nil {
			t.Fatal(err)
		}
		if got := emu.Grid("S1", g.Tab.Title)[1][3]; got != "sending 1/a.1" {
			t.Errorf("D2 holds %q", got)
		}
	})
	t.Run("SH06", func(t *testing.T) {
		_, c := emulated(t, "Visits", header, []any{"k1", "a@x.test", "2026-11-01"})
		g := read(t, c, "Visits!A1:D", claim.Ask{})
		if len(g.Rows) != 1 || !g.Rows[0].Cell(3).IsBlank() || g.Rows[0].Cell(0).Shown != "k1" {
			t.Errorf("%+v", g.Rows)
		}
	})
	t.Run("SH07", func(t *testing.T) {
		_, c := emulated(t, "Visits", header, []any{"k1", "a@x.test"}, nil, []any{"k2", "b@x.test"})
		want := map[int]string{2: "k1|a@x.test||", 3: "|||", 4: "k2|b@x.test||"}
		for name, ask := range map[string]claim.Ask{"all": {}, "columns": {Columns: []int{0, 1, 3}}, "rows": {Rows: []int{4, 2, 3}}} {
			if diff := cmp.Diff(want, shown(read(t, c, "Visits", ask))); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
	t.Run("SH15", func(t *testing.T) {
		emu, c := emulated(t, "Visits", header, []any{"k1", "a@x.test", 46027.375}, []any{"k2", "a@x.test", 0.375}, []any{"k3", "", 46027.375})
		emu.Edit("S1", func(b *sheetsemu.Book) {
			b.Tab("Visits").SetFormat("C2", "DATE_TIME", "dd/mm/yyyy hh:mm")
			b.Tab("Visits").SetFormat("C3", "TIME", "hh:mm")
		})
		g := read(t, c, "Visits!A1:D", claim.Ask{Columns: []int{2}})
		c2 := g.Rows[0].Cell(2)
		if c2.Kind != claim.Date || !c2.Civil().Equal(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)) || c2.Shown != "05/01/2026 09:00" {
			t.Errorf("C2 is %+v", c2)
		}
		if g.Rows[1].Cell(2).Kind != claim.Number || g.Rows[2].Cell(2).Kind != claim.Number {
			t.Errorf("C3 is %+v, C4 is %+v", g.Rows[1].Cell(2), g.Rows[2].Cell(2))
		}
	})
	t.Run("SH17", func(t *testing.T) {
		emu, c := emulated(t, "Visits", []any{"approve"}, []any{false}, []any{true}, []any{"'FALSE"}, []any{"no"}, []any{nil}, []any{"end"})
		emu.Edit("S1", func(b *sheetsemu.Book) { b.SetLocale("it_IT") })
		var kinds []claim.CellKind
		var ticked []bool
		for _, r := range read(t, c, "Visits", claim.Ask{}).Rows {
			kinds, ticked = append(kinds, r.Cell(0).Kind), append(ticked, r.Cell(0).Bool)
		}
		if diff := cmp.Diff([]claim.CellKind{claim.Bool, claim.Bool, claim.Text, claim.Text, claim.Blank, claim.Text}, kinds); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]bool{false, true, false, false, false, false}, ticked); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("SH19", func(t *testing.T) {
		_, c := emulated(t, "Visits", header, []any{"k1", "a@x.test", nil, `=IF(F2<>"","done","")`}, []any{"k2", "a@x.test", nil, `=IF(A3<>"","done","")`}, []any{"k3"})
		g := read(t, c, "Visits!A1:D", claim.Ask{})
		if !g.Rows[0].Cell(3).Formula || !g.Rows[0].Cell(3).IsBlank() || !g.Rows[1].Cell(3).Formula || g.Rows[1].Cell(3).Shown != "done" || g.Rows[2].Cell(3).Formula {
			t.Errorf("%+v", g.Rows)
		}
	})
	t.Run("SH21", func(t *testing.T) {
		emu, c := emulated(t, "Visits")
		_, err := c.Read(context.Background(), claim.Target{Spreadsheet: "S1", Range: "Visits!A1:D"}, claim.Ask{Fence: true})
		if words := sheetError(t, err); !words.Setup || !strings.Contains(words.Problem, `no header row: row 1 of the tab "Visits"`) || words.Advice == "" {
			t.Errorf("empty tab: %v", err)
		}
		emu.Edit("S1", func(b *sheetsemu.Book) {
			b.Tab("Visits").Set("A1", "key")
			b.Tab("Visits").DeleteRows(2, 999)
		})
		for _, ask := range []claim.Ask{{}, {Columns: []int{0}}} {
			if g := read(t, c, "Visits!A1:D", ask); len(g.Rows) != 0 || len(g.Header) != 1 {
				t.Errorf("header only: %+v", g)
			}
		}
		emu.Edit("S1", func(b *sheetsemu.Book) { b.Tab("Visits").Append(`=""`) })
		if g := read(t, c, "Visits!A1:D", claim.Ask{}); len(g.Rows) != 0 {
			t.Errorf("a formula that shows nothing makes a row: %+v", g.Rows)
		}
		if n := emu.Counts("").Writes; n != 0 {
			t.Errorf("%d writes", n)
		}
	})
}

func TestReadParts(t *testing.T) {
	emu, c := emulated(t, "Other", []any{"x"})
	rows := [][]any{nil, {nil, "key", "a", "b", "status"}}
	for i := range 90 {
		rows = append(rows, []any{"left", string(rune('A' + i%26)), i, i, nil, "right"})
	}
	if err := emu.Put("S1", "Visits", rows); err != nil {
		t.Fatal(err)
	}
	emu.Edit("S1", func(b *sheetsemu.Book) {
		b.Tab("Visits").HideRow(4, true)
		b.Tab("Visits").FilterRow(5, true)
	})
	t.Run("a range inside the tab", func(t *testing.T) {
		g := read(t, c, "Visits!B2:E9", claim.Ask{})
		if g.FirstCol != 1 || g.FirstRow != 2 || g.Tab.ID == 0 {
			t.Errorf("%+v", g)
		}
		if diff := cmp.Diff([]string{"key", "a", "b", "status"}, g.HeaderTexts()); diff != "" {
			t.Error(diff)
		}
		if len(g.Rows) != 7 || g.Rows[0].Number != 3 || shown(g)[3] != "A|0|0|" {
			t.Errorf("%v", shown(g))
		}
		if !g.Rows[1].Hidden || !g.Rows[2].Hidden || g.Rows[0].Hidden || g.Rows[3].Hidden {
			t.Error("hidden rows")
		}
	})
	t.Run("columns and rows", func(t *testing.T) {
		g := read(t, c, "Visits!B2:E", claim.Ask{Columns: []int{0, 2}, Rows: []int{6, 4, 1, 199}})
		if diff := cmp.Diff(map[int]string{4: "B||1|", 6: "D||3|", 199: "|||"}, shown(g)); diff != "" {
			t.Error(diff)
		}
		if !g.Rows[0].Hidden {
			t.Error("row 4 is hidden")
		}
	})
	t.Run("the first tab", func(t *testing.T) {
		if g := read(t, c, "A1:B", claim.Ask{Columns: []int{0}}); g.Tab.Title != "Other" || g.Header[0].Shown != "x" {
			t.Errorf("%+v", g)
		}
	})
	t.Run("many rows, with the fence, in one answer", func(t *testing.T) {
		g := read(t, c, "Visits!B2:E", claim.Ask{})
		if _, err := c.Claim(context.Background(), g, batch(g, 7)); err != nil {
			t.Fatal(err)
		}
		var some []int
		for n := 3; n < 93; n += 2 {
			some = append(some, n)
		}
		g = read(t, c, "Visits!B2:E", claim.Ask{Tab: &g.Tab, Columns: []int{0, 2, 3}, Rows: some, Fence: true})
		log := emu.Log()
		if log[len(log)-1].Kind != sheetsemu.KindGetByDataFilter {
			t.Errorf("read by %s", log[len(log)-1].Kind)
		}
		if len(g.Rows) != len(some) || shown(g)[5] != "C||2|" || len(g.Fence) != 1 || g.Fence[0].N != 7 {
			t.Errorf("%v, fence %v", shown(g), g.Fence)
		}
	})
	t.Run("rows that are gone", func(t *testing.T) {
		emu.Edit("S1", func(b *sheetsemu.Book) { b.Tab("Visits").DeleteRows(20, 981) })
		g := read(t, c, "Visits!B2:E", claim.Ask{Columns: []int{0}, Rows: []int{19, 30}})
		if diff := cmp.Diff(map[int]string{19: "Q|||", 30: "|||"}, shown(g)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnknownTab(t *testing.T) {
	emu, c := emulated(t, "Visits", header)
	ctx := context.Background()
	target := claim.Target{Spreadsheet: "S1", Range: "Visits!A1:D"}
	tab := read(t, c, target.Range, claim.Ask{}).Tab

	emu.ResetLog()
	_, err := c.Read(ctx, claim.Target{Spreadsheet: "S1", Range: "Vists!A1:D"}, claim.Ask{})
	words := sheetError(t, err)
	if n := emu.Counts("").Reads; n != 2 {
		t.Errorf("%d reads, want the one that failed and the one for the tabs", n)
	}
	if !strings.Contains(words.Problem, `there is no tab "Vists"`) || !strings.Contains(words.Advice, `the spreadsheet has "Visits"`) || !words.Setup {
		t.Errorf("%v", words)
	}
	_, err = c.Read(ctx, claim.Target{Spreadsheet: "S1", Range: "Visits!AB2:AD"}, claim.Ask{})
	if words := sheetError(t, err); !strings.Contains(words.Problem, "past the end of the tab") {
		t.Errorf("%v", words)
	}
	// A tab that was read before is followed by its id: renamed, also when another tab
	// takes its title, and until it is deleted.
	for _, edit := range []func(b *sheetsemu.Book){
		func(b *sheetsemu.Book) { b.RenameTab("Visits", "Old") },
		func(b *sheetsemu.Book) { b.AddTab("Visits").Set("A1", "key") },
	} {
		emu.Edit("S1", edit)
		g, err := c.Read(ctx, target, claim.Ask{Tab: &tab})
		if err != nil || g.Tab != (claim.Tab{ID: tab.ID, Title: "Old"}) {
			t.Errorf("%+v %v", g, err)
		}
	}
	emu.Edit("S1", func(b *sheetsemu.Book) { b.DeleteTab("Old") })
	_, err = c.Read(ctx, target, claim.Ask{Tab: &tab})
	if words := sheetError(t, err); !words.Gone || !strings.Contains(words.Problem, "was deleted") {
		t.Errorf("%v", words)
	}
}
