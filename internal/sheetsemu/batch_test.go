package sheetsemu

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/sheets/v4"
)

func TestFenceIsAtomic(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	mustBatch(t, srv, sheetMetadata(7, "1 1"), writeCell(1, 2, "sending run/aa.1"))
	before := emu.Snapshot("S1")
	_, err := batch(t, srv, writeCell(3, 2, "sending run/bb.1"), sheetMetadata(7, "1 1 other"))
	wantRefusal(t, err, 400, "Invalid requests[1].createDeveloperMetadata: Cannot add developer metadata with ID [7] because developer metadata with that ID already exists.")
	if diff := cmp.Diff(before, emu.Snapshot("S1")); diff != "" {
		t.Errorf("a refused batch changed the sheet:\n%s", diff)
	}
	if got := emu.Grid("S1", "Letters")[1][2]; got != "sending run/aa.1" {
		t.Errorf("status %q", got)
	}
}

func TestMetadataFollowsItsRow(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Tab)
		want int // row of the entry that began in row 3; 0 for gone
	}{
		{"insert above", func(tab *Tab) { tab.InsertRows(2, 2) }, 5},
		{"insert below", func(tab *Tab) { tab.InsertRows(4, 2) }, 3},
		{"delete above", func(tab *Tab) { tab.DeleteRows(2, 1) }, 2},
		{"delete the row", func(tab *Tab) { tab.DeleteRows(3, 1) }, 0},
		{"move the row up", func(tab *Tab) { tab.MoveRows(3, 1, 2) }, 2},
		{"move the row down", func(tab *Tab) { tab.MoveRows(3, 1, 5) }, 4},
		{"move another over it", func(tab *Tab) { tab.MoveRows(4, 1, 2) }, 4},
		{"sort with its values", func(tab *Tab) { tab.SortBy("A", false, 2) }, 3},
		{"sort away", func(tab *Tab) { tab.Set("A3", "k9"); tab.SortBy("A", false, 2) }, 2},
		{"overwrite", func(tab *Tab) { tab.Set("A3:C3", "x") }, 3},
		{"copy over another", func(tab *Tab) { tab.CopyRow(3, 4) }, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			emu := letters(t, Options{})
			mustBatch(t, client(t, emu, "w1"), rowMetadata(11, 3, "k2"))
			emu.Edit("S1", func(b *Book) { tt.edit(b.Tab("Letters")) })
			got := 0
			for _, m := range emu.Snapshot("S1").Tabs[0].Metadata {
				got = m.Index
			}
			if got != tt.want {
				t.Errorf("entry in row %d, want %d", got, tt.want)
			}
		})
	}
}

func TestDimensionRequestsMoveMetadata(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	mustBatch(t, srv, rowMetadata(11, 3, "k2"))
	rows := func(start, end int64) *sheets.DimensionRange {
		return &sheets.DimensionRange{Dimension: "ROWS", StartIndex: start, EndIndex: end, ForceSendFields: []string{"StartIndex"}}
	}
	where := func() int { return emu.Snapshot("S1").Tabs[0].Metadata[0].Index }
	mustBatch(t, srv, &sheets.Request{InsertDimension: &sheets.InsertDimensionRequest{Range: rows(0, 2)}})
	if got := where(); got != 5 {
		t.Errorf("after insert row %d, want 5", got)
	}
	mustBatch(t, srv, &sheets.Request{DeleteDimension: &sheets.DeleteDimensionRequest{Range: rows(0, 1)}})
	if got := where(); got != 4 {
		t.Errorf("after delete row %d, want 4", got)
	}
	mustBatch(t, srv, &sheets.Request{MoveDimension: &sheets.MoveDimensionRequest{Source: rows(3, 4), DestinationIndex: 1}})
	if got := where(); got != 2 {
		t.Errorf("after move row %d, want 2", got)
	}
	mustBatch(t, srv, &sheets.Request{SortRange: &sheets.SortRangeRequest{
		Range:     &sheets.GridRange{StartRowIndex: 1, EndRowIndex: 6, EndColumnIndex: 3},
		SortSpecs: []*sheets.SortSpec{{SortOrder: "DESCENDING"}},
	}})
	// blank rows sort to the end: key, k3, k2, k1 without the header's own order
	if got := emu.Grid("S1", "Letters")[where()-1][0]; got != "k2" {
		t.Errorf("after sort the entry is at %q, want k2", got)
	}
	resp := mustBatch(t, srv, &sheets.Request{DeleteDeveloperMetadata: &sheets.DeleteDeveloperMetadataRequest{
		DataFilter: &sheets.DataFilter{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataId: 11}},
	}})
	if n := len(resp.Replies[0].DeleteDeveloperMetadata.DeletedDeveloperMetadata); n != 1 {
		t.Errorf("%d entries deleted, want 1", n)
	}
	if n := len(emu.Snapshot("S1").Tabs[0].Metadata); n != 0 {
		t.Errorf("%d entries left", n)
	}
}

func TestFindReplace(t *testing.T) {
	column := &sheets.GridRange{StartColumnIndex: 2, EndColumnIndex: 3}
	tests := []struct {
		name string
		req  sheets.FindReplaceRequest
		want *sheets.FindReplaceResponse
		cell string // C3 afterwards, before it was "sent"
	}{
		{
			"whole cell",
			sheets.FindReplaceRequest{Find: "sent", Replacement: "x", MatchEntireCell: true, MatchCase: true, Range: column},
			&sheets.FindReplaceResponse{ValuesChanged: 1, RowsChanged: 1, SheetsChanged: 1, OccurrencesChanged: 1}, "x",
		},
		{
			"part of a cell",
			sheets.FindReplaceRequest{Find: "EN", Replacement: "_", Range: column},
			&sheets.FindReplaceResponse{ValuesChanged: 1, RowsChanged: 1, SheetsChanged: 1, OccurrencesChanged: 1}, "s_t",
		},
		{
			"part is not whole",
			sheets.FindReplaceRequest{Find: "sen", Replacement: "x", MatchEntireCell: true, Range: column},
			&sheets.FindReplaceResponse{}, "sent",
		},
		{
			"case",
			sheets.FindReplaceRequest{Find: "SENT", Replacement: "x", MatchCase: true, Range: column},
			&sheets.FindReplaceResponse{}, "sent",
		},
		{
			"outside the range",
			sheets.FindReplaceRequest{Find: "b@example.org", Replacement: "x", Range: column},
			&sheets.FindReplaceResponse{}, "sent",
		},
		{
			"expression",
			sheets.FindReplaceRequest{Find: "^s(.)nt$", Replacement: "$1$1", SearchByRegex: true, AllSheets: true},
			&sheets.FindReplaceResponse{ValuesChanged: 1, RowsChanged: 1, SheetsChanged: 1, OccurrencesChanged: 1}, "ee",
		},
		{
			"blank cells never match",
			sheets.FindReplaceRequest{Find: "^$", Replacement: "x", SearchByRegex: true, Range: column},
			&sheets.FindReplaceResponse{}, "sent",
		},
		{
			"to blank",
			sheets.FindReplaceRequest{Find: "sent", Range: column, ForceSendFields: []string{"Replacement"}},
			&sheets.FindReplaceResponse{ValuesChanged: 1, RowsChanged: 1, SheetsChanged: 1, OccurrencesChanged: 1}, "",
		},
		{
			"dollar is a dollar",
			sheets.FindReplaceRequest{Find: "sent", Replacement: "a$1b", SheetId: 0, ForceSendFields: []string{"SheetId"}},
			&sheets.FindReplaceResponse{ValuesChanged: 1, RowsChanged: 1, SheetsChanged: 1, OccurrencesChanged: 1}, "a$1b",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			emu := letters(t, Options{})
			resp := mustBatch(t, client(t, emu, "w1"), &sheets.Request{FindReplace: &tt.req})
			if diff := cmp.Diff(tt.want, resp.Replies[0].FindReplace); diff != "" {
				t.Error(diff)
			}
			emu.Edit("S1", func(b *Book) {
				if got := b.Tab("Letters").Get("C3"); got != tt.cell {
					t.Errorf("C3 is %q, want %q", got, tt.cell)
				}
			})
		})
	}
}

func TestFindReplaceParsesAndSkipsFormulas(t *testing.T) {
	emu := letters(t, Options{})
	emu.Edit("S1", func(b *Book) {
		b.Tab("Letters").Set("D2", "41")
		b.Tab("Letters").Set("D3", "=40+1")
	})
	srv := client(t, emu, "w1")
	req := &sheets.FindReplaceRequest{Find: "41", Replacement: "42", MatchEntireCell: true, AllSheets: true}
	if got := mustBatch(t, srv, &sheets.Request{FindReplace: req}).Replies[0].FindReplace.OccurrencesChanged; got != 1 {
		t.Errorf("%d occurrences, want the number alone", got)
	}
	cells := emu.Snapshot("S1").Tabs[0].Cells
	if got := cells["D2"].Entered; got != 42.0 {
		t.Errorf("D2 holds %#v, want the number 42", got)
	}
	req = &sheets.FindReplaceRequest{Find: "40", Replacement: "50", IncludeFormulas: true, AllSheets: true}
	reply := mustBatch(t, srv, &sheets.Request{FindReplace: req}).Replies[0].FindReplace
	if reply.FormulasChanged != 1 || emu.Snapshot("S1").Tabs[0].Cells["D3"].Shown != "51" {
		t.Errorf("formula: %+v, shows %q", reply, emu.Snapshot("S1").Tabs[0].Cells["D3"].Shown)
	}
	_, err := batch(t, srv, &sheets.Request{FindReplace: &sheets.FindReplaceRequest{Find: "x", Replacement: "y"}})
	wantRefusal(t, err, 400, "Invalid requests[0].findReplace: Must specify exactly one of range, sheetId or allSheets.")
}

func TestRefusedRequests(t *testing.T) {
	emu := letters(t, Options{})
	emu.Edit("S1", func(b *Book) { b.Tab("Letters").Protect("C1:C10", "boss@example.org") })
	mustBatch(t, client(t, emu, "boss@example.org"), writeCell(1, 2, "mine"))
	tests := []struct {
		name, body, want string
	}{
		{"empty", `{"requests":[]}`, "Must specify at least one request."},
		{
			"unknown kind", `{"requests":[{"frobnicate":{}}]}`,
			`Invalid JSON payload received. Unknown name "frobnicate" at 'requests[0]': Cannot find field.`,
		},
		{
			"unknown field", `{"requests":[{"deleteSheet":{"frob":1}}]}`,
			`Invalid JSON payload received. Unknown name "frob" at 'requests[0].delete_sheet': Cannot find field.`,
		},
		{
			"outside the grid", `{"requests":[{"repeatCell":{"range":{"startRowIndex":4999,"endRowIndex":5001},"cell":{},"fields":"note"}}]}`,
			"Invalid requests[0].repeatCell: Range (Letters!A5000:Z5001) exceeds grid limits. Max rows: 1000, max columns: 26",
		},
		{
			"protected", `{"requests":[{"updateCells":{"start":{"rowIndex":1,"columnIndex":2},"rows":[{"values":[{}]}],"fields":"*"}}]}`,
			"Invalid requests[0].updateCells: You are trying to edit a protected cell or object. Please contact the spreadsheet owner to remove protection if you need to edit.",
		},
		{
			"title in use", `{"requests":[{"addSheet":{"properties":{"title":"letters"}}}]}`,
			`Invalid requests[0].addSheet: A sheet with the name "letters" already exists. Please enter another name.`,
		},
		{
			"two rows", `{"requests":[{"createDeveloperMetadata":{"developerMetadata":{"metadataKey":"k","visibility":"DOCUMENT","location":{"dimensionRange":{"dimension":"ROWS","startIndex":0,"endIndex":2}}}}}]}`,
			"Invalid requests[0].createDeveloperMetadata: DimensionRange must represent a single row or column",
		},
		{
			"half a row", `{"requests":[{"createDeveloperMetadata":{"developerMetadata":{"metadataKey":"k","visibility":"DOCUMENT","location":{"dimensionRange":{"dimension":"ROWS","endIndex":1}}}}}]}`,
			"Invalid requests[0].createDeveloperMetadata: DimensionRange must specify both a startIndex and an endIndex",
		},
		{
			"name", `{"requests":[{"addNamedRange":{"namedRange":{"name":"has space","range":{}}}}]}`,
			"Invalid requests[0].addNamedRange: The name given to this range is invalid.",
		},
		{
			"long", `{"requests":[{"updateCells":{"start":{"columnIndex":9},"rows":[{"values":[{"userEnteredValue":{"stringValue":"` + long(50_001) + `"}}]}],"fields":"*"}}]}`,
			"Invalid requests[0].updateCells: Your input contains more than the maximum of 50000 characters in a single cell.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := raw(t, emu, "POST", "/v4/spreadsheets/S1:batchUpdate", tt.body)
			if got := messageOf(t, body); status != 400 || got != tt.want {
				t.Errorf("got %d %s\nwant %s", status, got, tt.want)
			}
		})
	}
}
