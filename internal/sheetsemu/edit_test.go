package sheetsemu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/sheets/v4"
)

// TestPerson goes through what a person can do.
func TestPerson(t *testing.T) {
	emu := letters(t, Options{})
	emu.Edit("S1", func(b *Book) {
		b.SetTitle("Post")
		b.SetLocale("it_IT")
		b.SetTimeZone("Europe/Rome")
		b.AddTab("Gone")
		b.DeleteTab("Gone")
		b.RenameTab("Letters", "Lettere")
		tab := b.Tab("Lettere")
		tab.Append("k4", "d@example.org", "true")
		tab.SetRaw("D1", "007")
		tab.SetRaw("D2", 7)
		tab.SetFormula("D3", "=QUERY(A:A)", "from elsewhere")
		for _, row := range []string{"2", "3", "4"} {
			tab.Set("E"+row, "=A"+row)
		}
		tab.InsertColumns("A", 2)
		tab.DeleteColumns("A", 1)
		tab.ClearRange("C2:C3")
		tab.SortBy("B", false, 2)
		if got := tab.FindRow("B", "k1"); got != 5 {
			t.Errorf("k1 in row %d", got)
		}
		if diff := cmp.Diff([]string{"Lettere"}, b.Tabs()); diff != "" {
			t.Error(diff)
		}
	})
	want := [][]string{
		{"", "key", "email", "status", "007"},
		{"", "k4", "d@example.org", "VERO"},
		{"", "k3", "c@example.org", "", "", "k3"},
		{"", "k2", "", "sent", "from elsewhere", "k2"},
		{"", "k1", "", "", "7", "k1"},
	}
	if diff := cmp.Diff(want, emu.Grid("S1", "Lettere")); diff != "" {
		t.Error(diff)
	}
	if got := emu.Snapshot("S1").Tabs[0].Cells["F3"].Entered; got != "=B3" {
		t.Errorf("a formula in a sorted row: %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a tab that does not exist was found")
		}
	}()
	emu.Edit("S1", func(b *Book) { b.Tab("Gone") })
}

// TestAfterHook sees what became of a call.
func TestAfterHook(t *testing.T) {
	emu := letters(t, Options{})
	var applied []bool
	emu.After(func(c *Call) { applied = append(applied, c.Applied) })
	srv := client(t, emu, "w1")
	for range 2 {
		_, _ = batch(t, srv, sheetMetadata(7, "1 1"))
	}
	if diff := cmp.Diff([]bool{true, false}, applied); diff != "" {
		t.Error(diff)
	}
}

func TestMergesAndSort(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	block := func(r0, r1, c0, c1 int64) *sheets.GridRange {
		return &sheets.GridRange{StartRowIndex: r0, EndRowIndex: r1, StartColumnIndex: c0, EndColumnIndex: c1}
	}
	mustBatch(t, srv, &sheets.Request{MergeCells: &sheets.MergeCellsRequest{Range: block(2, 4, 0, 1), MergeType: "MERGE_ALL"}})
	if got := emu.Grid("S1", "Letters")[3][0]; got != "" {
		t.Errorf("a merged cell keeps %q", got)
	}
	emu.Edit("S1", func(b *Book) { b.Tab("Letters").InsertRows(1, 1) })
	sort := &sheets.Request{SortRange: &sheets.SortRangeRequest{Range: block(1, 5, 0, 3), SortSpecs: []*sheets.SortSpec{{DimensionIndex: 1}}}}
	_, err := batch(t, srv, sort)
	wantRefusal(t, err, 400, "Invalid requests[0].sortRange: You can't sort a range containing vertical merges. There is a vertical merge at A4:A5")
	mustBatch(t, srv, &sheets.Request{UnmergeCells: &sheets.UnmergeCellsRequest{Range: block(3, 5, 0, 1)}})
	emu.Edit("S1", func(b *Book) { b.Tab("Letters").HideRow(4, true) })
	sort.SortRange.Range = block(2, 5, 0, 3)
	sort.SortRange.SortSpecs[0].SortOrder = "DESCENDING"
	mustBatch(t, srv, sort)
	got := emu.Grid("S1", "Letters")
	if got[2][1] != "c@example.org" || got[3][1] != "b@example.org" || got[4][1] != "a@example.org" {
		t.Errorf("hidden rows keep their place: %q", got)
	}
}

func TestChangingNamesAndProtection(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	added := mustBatch(t, srv,
		&sheets.Request{AddNamedRange: &sheets.AddNamedRangeRequest{NamedRange: &sheets.NamedRange{Name: "A_ONE_", Range: &sheets.GridRange{}}}},
		&sheets.Request{AddProtectedRange: &sheets.AddProtectedRangeRequest{ProtectedRange: &sheets.ProtectedRange{Range: &sheets.GridRange{}}}})
	name, guard := added.Replies[0].AddNamedRange.NamedRange, added.Replies[1].AddProtectedRange.ProtectedRange
	mustBatch(t, srv,
		&sheets.Request{UpdateNamedRange: &sheets.UpdateNamedRangeRequest{Fields: "name,range", NamedRange: &sheets.NamedRange{
			NamedRangeId: name.NamedRangeId, Name: "Other", Range: &sheets.GridRange{StartColumnIndex: 2},
		}}},
		&sheets.Request{UpdateProtectedRange: &sheets.UpdateProtectedRangeRequest{Fields: "editors,description", ProtectedRange: &sheets.ProtectedRange{
			ProtectedRangeId: guard.ProtectedRangeId, Description: "ours", Editors: &sheets.Editors{Users: []string{"friend@example.org"}},
		}}})
	if v, err := srv.Spreadsheets.Values.Get("S1", "other").Do(); err != nil || v.Range != "Letters!C1:Z1000" {
		t.Errorf("the name stands for %+v %v", v, err)
	}
	if err := write(t.Context(), client(t, emu, "friend@example.org"), "x"); err != nil {
		t.Errorf("an editor writes: %v", err)
	}
	if err := write(t.Context(), client(t, emu, "stranger@example.org"), "x"); err == nil {
		t.Error("a stranger writes")
	}
	_, err := batch(t, srv, &sheets.Request{UpdateNamedRange: &sheets.UpdateNamedRangeRequest{Fields: "name", NamedRange: &sheets.NamedRange{NamedRangeId: "token", Name: "N"}}})
	if err == nil {
		t.Error("a name that is gone was updated")
	}
}

// TestLookupByPlace searches metadata by where it is.
func TestLookupByPlace(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	mustBatch(t, srv, sheetMetadata(5, "s"), rowMetadata(6, 2, "r2"), rowMetadata(7, 3, "r3"),
		&sheets.Request{CreateDeveloperMetadata: &sheets.CreateDeveloperMetadataRequest{DeveloperMetadata: &sheets.DeveloperMetadata{
			MetadataId: 8, MetadataKey: "all", Visibility: "PROJECT", Location: &sheets.DeveloperMetadataLocation{Spreadsheet: true},
		}}},
		&sheets.Request{CreateDeveloperMetadata: &sheets.CreateDeveloperMetadataRequest{DeveloperMetadata: &sheets.DeveloperMetadata{
			MetadataId: 9, MetadataKey: "col", Visibility: "DOCUMENT", Location: &sheets.DeveloperMetadataLocation{
				DimensionRange: &sheets.DimensionRange{Dimension: "COLUMNS", StartIndex: 2, EndIndex: 3},
			},
		}}})
	rows := &sheets.DeveloperMetadataLocation{DimensionRange: &sheets.DimensionRange{Dimension: "ROWS", StartIndex: 1, EndIndex: 2}}
	tab := &sheets.DeveloperMetadataLocation{ForceSendFields: []string{"SheetId"}}
	tests := []struct {
		name   string
		filter sheets.DataFilter
		want   []int64
	}{
		{"kind", sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{LocationType: "ROW"}}, []int64{6, 7}},
		{"visibility", sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{Visibility: "PROJECT"}}, []int64{8}},
		{"row exactly", sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataLocation: rows, LocationMatchingStrategy: "EXACT_LOCATION"}}, []int64{6}},
		{"tab exactly", sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataLocation: tab, LocationMatchingStrategy: "EXACT_LOCATION"}}, []int64{5}},
		{"tab and in it", sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataLocation: tab}}, []int64{5, 6, 7, 9}},
		{"cells", sheets.DataFilter{GridRange: &sheets.GridRange{StartRowIndex: 2, EndRowIndex: 3, EndColumnIndex: 1}}, []int64{5, 7}},
		{"A1", sheets.DataFilter{A1Range: "Letters!C2"}, []int64{5, 6, 9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, err := srv.Spreadsheets.DeveloperMetadata.Search("S1", &sheets.SearchDeveloperMetadataRequest{DataFilters: []*sheets.DataFilter{&tt.filter}}).Do()
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, m := range found.MatchedDeveloperMetadata {
				got = append(got, m.DeveloperMetadata.MetadataId)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
