package sheetsemu

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/sheets/v4"
)

// TestValuesWithGooglesClient goes through the methods of spreadsheets.values.
func TestValuesWithGooglesClient(t *testing.T) {
	emu := letters(t, Options{})
	values := client(t, emu, "w1").Spreadsheets.Values

	up, err := values.Update("S1", "Letters!D1", &sheets.ValueRange{Values: [][]any{{"n", nil, "007"}, {1.5, true, ""}}}).
		ValueInputOption("USER_ENTERED").IncludeValuesInResponse(true).ResponseValueRenderOption("UNFORMATTED_VALUE").Do()
	if err != nil {
		t.Fatal(err)
	}
	if up.UpdatedRange != "Letters!D1:F2" || up.UpdatedRows != 2 || up.UpdatedColumns != 3 || up.UpdatedCells != 5 {
		t.Errorf("update: %+v", up)
	}
	if diff := cmp.Diff([][]any{{"n", "", 7.0}, {1.5, true}}, up.UpdatedData.Values); diff != "" {
		t.Errorf("updatedData:\n%s", diff)
	}

	got, err := values.BatchGet("S1").Ranges("Letters!A2:B", "Letters!D:D").MajorDimension("COLUMNS").Do()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]any{{"k1", "k2", "k3"}, {"a@example.org", "b@example.org", "c@example.org"}}, got.ValueRanges[0].Values); diff != "" {
		t.Errorf("batchGet:\n%s", diff)
	}
	if got.ValueRanges[1].Range != "Letters!D1:D1000" {
		t.Errorf("range %s", got.ValueRanges[1].Range)
	}

	batch, err := values.BatchUpdate("S1", &sheets.BatchUpdateValuesRequest{
		ValueInputOption: "RAW", IncludeValuesInResponse: true,
		Data: []*sheets.ValueRange{{Range: "Letters!A5", Values: [][]any{{"=1"}}}, {Range: "Letters!A6:B6", Values: [][]any{{"x", "y"}}}},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if batch.TotalUpdatedCells != 3 || batch.TotalUpdatedRows != 2 || batch.TotalUpdatedColumns != 2 || batch.Responses[0].UpdatedData.Values[0][0] != "=1" {
		t.Errorf("batchUpdate: %+v", batch)
	}

	added, err := values.Append("S1", "Letters!A1:C3", &sheets.ValueRange{Values: [][]any{{"k9"}}}).ValueInputOption("RAW").Do()
	if err != nil {
		t.Fatal(err)
	}
	if added.TableRange != "Letters!A1:F6" || added.Updates.UpdatedRange != "Letters!A7" {
		t.Errorf("append: %+v %+v", added, added.Updates)
	}

	cleared, err := values.Clear("S1", "Letters!D:F", &sheets.ClearValuesRequest{}).Do()
	if err != nil || cleared.ClearedRange != "Letters!D1:F1000" {
		t.Errorf("clear: %+v %v", cleared, err)
	}
	all, err := values.BatchClear("S1", &sheets.BatchClearValuesRequest{Ranges: []string{"Letters!A5:B5", "Letters!A6:B7"}}).Do()
	if err != nil || len(all.ClearedRanges) != 2 {
		t.Errorf("batchClear: %+v %v", all, err)
	}
	want := [][]string{{"key", "email", "status"}, {"k1", "a@example.org"}, {"k2", "b@example.org", "sent"}, {"k3", "c@example.org"}}
	if diff := cmp.Diff(want, emu.Grid("S1", "Letters")); diff != "" {
		t.Errorf("in the end:\n%s", diff)
	}
}

// TestRenderOptions is the recorded example of a formula, a date, a text and a
// number.
func TestRenderOptions(t *testing.T) {
	emu := New(Options{})
	emu.Create("S1", "x")
	values := client(t, emu, "w1").Spreadsheets.Values
	row := []any{"=4/2", "2020-01-01", "string", 53}
	if _, err := values.Update("S1", "A1", &sheets.ValueRange{Values: [][]any{row}}).ValueInputOption("USER_ENTERED").Do(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		value, date string
		want        []any
	}{
		{"FORMATTED_VALUE", "", []any{"2", "2020-01-01", "string", "53"}},
		{"UNFORMATTED_VALUE", "SERIAL_NUMBER", []any{2.0, 43831.0, "string", 53.0}},
		{"UNFORMATTED_VALUE", "FORMATTED_STRING", []any{2.0, "2020-01-01", "string", 53.0}},
		{"FORMULA", "SERIAL_NUMBER", []any{"=4/2", 43831.0, "string", 53.0}},
	}
	for _, tt := range tests {
		call := values.Get("S1", "A1:D1").ValueRenderOption(tt.value)
		if tt.date != "" {
			call = call.DateTimeRenderOption(tt.date)
		}
		got, err := call.Do()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]any{tt.want}, got.Values); diff != "" {
			t.Errorf("%s %s:\n%s", tt.value, tt.date, diff)
		}
	}
}

const gridFields = "properties(timeZone,locale),sheets(properties(sheetId,title,gridProperties),developerMetadata(metadataId,metadataKey,metadataValue)," +
	"data(startRow,startColumn,rowMetadata(hiddenByUser,hiddenByFilter,developerMetadata),rowData(values(effectiveValue,formattedValue,userEnteredValue,effectiveFormat(numberFormat)))))"

// TestGetWithGridData reads several windows of one tab under a mask.
func TestGetWithGridData(t *testing.T) {
	emu := letters(t, Options{TimeZone: "Europe/Rome", Locale: "it_IT"})
	srv := client(t, emu, "w1")
	mustBatch(t, srv, sheetMetadata(5, "1 1"), rowMetadata(6, 3, "k2"))
	emu.Edit("S1", func(b *Book) {
		b.Tab("Letters").HideRow(2, true)
		b.Tab("Letters").FilterRow(3, true)
		b.Tab("Letters").Set("D2", "2026-11-30")
		b.AddTab("Other")
	})
	got, err := srv.Spreadsheets.Get("S1").Ranges("Letters!A2:D3", "Letters!B1:C1", "'Letters'!D2").Fields(googleapi.Field(gridFields)).Do()
	if err != nil {
		t.Fatal(err)
	}
	if got.Properties.TimeZone != "Europe/Rome" || got.SpreadsheetId != "" || len(got.Sheets) != 1 {
		t.Fatalf("spreadsheet: %+v", got)
	}
	s := got.Sheets[0]
	if len(s.Data) != 3 || s.DeveloperMetadata[0].MetadataValue != "1 1" || s.DeveloperMetadata[0].Visibility != "" {
		t.Fatalf("sheet: %+v", s)
	}
	first := s.Data[0]
	if first.StartRow != 1 || len(first.RowData) != 2 || len(first.RowData[1].Values) != 3 || first.RowMetadata[0].PixelSize != 0 {
		t.Errorf("first window: %+v", first)
	}
	if !first.RowMetadata[0].HiddenByUser || !first.RowMetadata[1].HiddenByFilter || first.RowMetadata[1].DeveloperMetadata[0].MetadataId != 6 {
		t.Errorf("rows: %+v %+v", first.RowMetadata[0], first.RowMetadata[1])
	}
	if second := s.Data[1]; second.StartColumn != 1 || second.StartRow != 0 || second.RowData[0].Values[1].FormattedValue != "status" {
		t.Errorf("second window: %+v", second)
	}
	date := s.Data[2].RowData[0].Values[0]
	if *date.EffectiveValue.NumberValue != 46356 || date.EffectiveFormat.NumberFormat.Type != "DATE" || date.FormattedValue != "2026-11-30" {
		t.Errorf("date: %+v", date)
	}
}

func TestDataFiltersAndMetadata(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	mustBatch(t, srv, sheetMetadata(5, "1 1"), rowMetadata(6, 3, "k2"))
	got, err := srv.Spreadsheets.GetByDataFilter("S1", &sheets.GetSpreadsheetByDataFilterRequest{DataFilters: []*sheets.DataFilter{
		{GridRange: &sheets.GridRange{EndRowIndex: 1}},
		{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataKey: "claim", MetadataValue: "k2"}},
	}}).Fields("sheets(data(startRow,rowData(values(formattedValue))))").Do()
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Sheets[0].Data; len(d) != 2 || d[1].StartRow != 2 || d[1].RowData[0].Values[0].FormattedValue != "k2" {
		t.Errorf("data: %+v", d)
	}

	meta := srv.Spreadsheets.DeveloperMetadata
	one, err := meta.Get("S1", 6).Do()
	if err != nil {
		t.Fatal(err)
	}
	if one.Location.LocationType != "ROW" || one.Location.DimensionRange.StartIndex != 2 || one.MetadataKey != "claim" {
		t.Errorf("get: %+v %+v", one, one.Location)
	}
	_, err = meta.Get("S1", 99).Do()
	wantRefusal(t, err, 404, "No developer metadata with ID 99")
	found, err := meta.Search("S1", &sheets.SearchDeveloperMetadataRequest{DataFilters: []*sheets.DataFilter{
		{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{}},
	}}).Do()
	if err != nil || len(found.MatchedDeveloperMetadata) != 2 {
		t.Errorf("search: %+v %v", found, err)
	}
	resp := mustBatch(t, srv, &sheets.Request{UpdateDeveloperMetadata: &sheets.UpdateDeveloperMetadataRequest{
		DataFilters:       []*sheets.DataFilter{{DeveloperMetadataLookup: &sheets.DeveloperMetadataLookup{MetadataId: 6, MetadataValue: "k2"}}},
		DeveloperMetadata: &sheets.DeveloperMetadata{MetadataValue: "taken"}, Fields: "metadataValue",
	}})
	if m := resp.Replies[0].UpdateDeveloperMetadata.DeveloperMetadata; len(m) != 1 || m[0].MetadataValue != "taken" || m[0].MetadataKey != "claim" {
		t.Errorf("update: %+v", m)
	}
}

// TestClaimBatch is a fence, texts into cells, and the rows in the reply.
func TestClaimBatch(t *testing.T) {
	emu := letters(t, Options{})
	srv := client(t, emu, "w1")
	resp, err := srv.Spreadsheets.BatchUpdate("S1", &sheets.BatchUpdateSpreadsheetRequest{
		Requests: []*sheets.Request{
			sheetMetadata(7, "1 1"), writeCell(1, 2, "sending a.1"),
			{FindReplace: &sheets.FindReplaceRequest{
				Find: "sent", Replacement: "sending a.2", MatchEntireCell: true,
				Range: &sheets.GridRange{StartColumnIndex: 2, EndColumnIndex: 3},
			}},
		},
		IncludeSpreadsheetInResponse: true, ResponseIncludeGridData: true, ResponseRanges: []string{"Letters!A1:C1", "Letters!A2:C3"},
	}).Fields("replies,updatedSpreadsheet(sheets(developerMetadata(metadataId),data(startRow,rowData(values(formattedValue)))))").Do()
	if err != nil {
		t.Fatal(err)
	}
	if resp.Replies[2].FindReplace.OccurrencesChanged != 1 || resp.SpreadsheetId != "" {
		t.Errorf("replies: %+v", resp.Replies[2].FindReplace)
	}
	s := resp.UpdatedSpreadsheet.Sheets[0]
	rows := s.Data[1].RowData
	if s.DeveloperMetadata[0].MetadataId != 7 || rows[0].Values[2].FormattedValue != "sending a.1" || rows[1].Values[2].FormattedValue != "sending a.2" {
		t.Errorf("reply shows %+v", s)
	}
}

func TestCreateAndTabs(t *testing.T) {
	emu := New(Options{Now: func() time.Time { return time.Unix(0, 0) }})
	srv := client(t, emu, "w1")
	made, err := srv.Spreadsheets.Create(&sheets.Spreadsheet{
		Properties: &sheets.SpreadsheetProperties{Title: "New", TimeZone: "Europe/Rome"},
		Sheets:     []*sheets.Sheet{{Properties: &sheets.SheetProperties{Title: "One/two's", GridProperties: &sheets.GridProperties{RowCount: 5, ColumnCount: 3}}}},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if made.SpreadsheetId == "" || made.Properties.TimeZone != "Europe/Rome" || made.Sheets[0].Properties.GridProperties.RowCount != 5 {
		t.Errorf("create: %+v", made)
	}
	do := func(reqs ...*sheets.Request) *sheets.BatchUpdateSpreadsheetResponse {
		t.Helper()
		resp, err := srv.Spreadsheets.BatchUpdate(made.SpreadsheetId, &sheets.BatchUpdateSpreadsheetRequest{Requests: reqs}).Do()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if _, err := srv.Spreadsheets.Values.Update(made.SpreadsheetId, "'One/two''s'!A1", &sheets.ValueRange{Values: [][]any{{"x"}}}).ValueInputOption("RAW").Do(); err != nil {
		t.Fatal(err)
	}
	id := made.Sheets[0].Properties.SheetId
	copied := do(&sheets.Request{DuplicateSheet: &sheets.DuplicateSheetRequest{SourceSheetId: id, InsertSheetIndex: 1}}).Replies[0].DuplicateSheet.Properties
	do(&sheets.Request{AppendDimension: &sheets.AppendDimensionRequest{SheetId: id, Dimension: "ROWS", Length: 7}},
		&sheets.Request{DeleteSheet: &sheets.DeleteSheetRequest{SheetId: copied.SheetId}})
	if copied.Title != "Copy of One/two's" {
		t.Errorf("copy: %+v", copied)
	}
	if tabs := emu.Snapshot(made.SpreadsheetId).Tabs; len(tabs) != 1 || tabs[0].Rows != 12 || tabs[0].Cells["A1"].Shown != "x" {
		t.Errorf("tabs: %+v", tabs)
	}
}

func TestNamesAndProtection(t *testing.T) {
	emu := letters(t, Options{Users: map[string]string{"w1": "robot@example.org"}})
	srv := client(t, emu, "w1")
	guard := &sheets.Request{AddNamedRange: &sheets.AddNamedRangeRequest{NamedRange: &sheets.NamedRange{
		NamedRangeId: "token", Name: "GUARD",
		Range: &sheets.GridRange{EndRowIndex: 2, EndColumnIndex: 1, ForceSendFields: []string{"StartRowIndex", "StartColumnIndex"}},
	}}}
	mustBatch(t, srv, guard)
	guard.AddNamedRange.NamedRange.NamedRangeId = "other"
	_, err := batch(t, srv, guard)
	wantRefusal(t, err, 400, "Invalid requests[0].addNamedRange: Cannot add named range with name: GUARD, a named range with that name already exists.")
	emu.Edit("S1", func(b *Book) { b.Tab("Letters").InsertRows(1, 1) })
	if v, err := srv.Spreadsheets.Values.Get("S1", "GUARD").Do(); err != nil || v.Range != "Letters!A2:A3" {
		t.Errorf("the name stands for %+v %v", v, err)
	}
	mustBatch(t, srv, &sheets.Request{DeleteNamedRange: &sheets.DeleteNamedRangeRequest{NamedRangeId: "token"}})

	added := mustBatch(t, srv, &sheets.Request{AddProtectedRange: &sheets.AddProtectedRangeRequest{ProtectedRange: &sheets.ProtectedRange{
		Range: &sheets.GridRange{StartColumnIndex: 2, EndColumnIndex: 3},
	}}}).Replies[0].AddProtectedRange.ProtectedRange
	if err := write(t.Context(), srv, "mine"); err != nil {
		t.Errorf("the one who protected may write: %v", err)
	}
	err = write(t.Context(), client(t, emu, "w2"), "theirs")
	wantRefusal(t, err, 400, "Invalid requests[0].updateCells: You are trying to edit a protected cell or object. Please contact the spreadsheet owner to remove protection if you need to edit.")
	mustBatch(t, srv, &sheets.Request{DeleteProtectedRange: &sheets.DeleteProtectedRangeRequest{ProtectedRangeId: added.ProtectedRangeId}})
	if err := write(t.Context(), client(t, emu, "w2"), "theirs"); err != nil {
		t.Errorf("after the protection: %v", err)
	}
}
