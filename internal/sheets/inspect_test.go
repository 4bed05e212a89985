package sheets

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func TestInspectReadsTheColumnsThatAreAskedFor(t *testing.T) {
	emu, c := emulated(t, "Visits", header, []any{"k1"}, []any{"k2"})
	g := read(t, c, "Visits!A1:D", claim.Ask{})
	boss := newClient(t, Config{Transport: emu.Transport("boss")})
	rule := &api.DataValidationRule{Strict: true, Condition: &api.BooleanCondition{Type: "BOOLEAN"}}
	cells := &api.GridRange{SheetId: g.Tab.ID, StartRowIndex: 2, EndRowIndex: 10, StartColumnIndex: 3, EndColumnIndex: 4}
	_, err := boss.service.Spreadsheets.BatchUpdate("S1", &api.BatchUpdateSpreadsheetRequest{Requests: []*api.Request{
		{SetDataValidation: &api.SetDataValidationRequest{Range: cells, Rule: rule}},
		{AddProtectedRange: &api.AddProtectedRangeRequest{ProtectedRange: &api.ProtectedRange{Range: cells, Description: "finance"}}},
	}}).Do()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.Inspect(context.Background(), g, []int{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]ColumnRules{1: {}, 3: {Strict: 8, StrictRow: 3, Rule: "a tick box", Protected: "finance"}}
	if diff := cmp.Diff(want, in.Columns); diff != "" {
		t.Error(diff)
	}
	// The one who made the protection may write.
	if in, err = boss.Inspect(context.Background(), g, []int{3}); err != nil || in.Columns[3].Protected != "" {
		t.Errorf("%+v %v", in, err)
	}
}

func TestInspectRules(t *testing.T) {
	g := &claim.Grid{FirstCol: 1, FirstRow: 2, Tab: claim.Tab{Title: "Visits"}}
	area := func(row, endRow, col, endCol int64) *api.GridRange {
		return &api.GridRange{StartRowIndex: row, EndRowIndex: endRow, StartColumnIndex: col, EndColumnIndex: endCol}
	}
	for name, tc := range map[string]struct {
		sheet api.Sheet
		want  ColumnRules
	}{
		"the whole tab":     {api.Sheet{ProtectedRanges: []*api.ProtectedRange{{}}}, ColumnRules{Protected: "a protected range"}},
		"with a gap for us": {api.Sheet{ProtectedRanges: []*api.ProtectedRange{{UnprotectedRanges: []*api.GridRange{area(0, 0, 3, 4)}}}}, ColumnRules{}},
		"a warning only":    {api.Sheet{ProtectedRanges: []*api.ProtectedRange{{WarningOnly: true}}}, ColumnRules{}},
		"the header":        {api.Sheet{ProtectedRanges: []*api.ProtectedRange{{Range: area(0, 2, 0, 0)}}}, ColumnRules{}},
		"another column":    {api.Sheet{ProtectedRanges: []*api.ProtectedRange{{Range: area(0, 0, 4, 5)}}}, ColumnRules{}},
		"a typed column": {api.Sheet{Tables: []*api.Table{{Name: "Visits", Range: area(1, 9, 1, 4), ColumnProperties: []*api.TableColumnProperties{
			{ColumnIndex: 1, ColumnType: "DROPDOWN"}, {ColumnIndex: 2, ColumnType: "DATE"},
		}}}}, ColumnRules{Typed: "Visits"}},
		"a column of text": {api.Sheet{Tables: []*api.Table{{Name: "Visits", Range: area(1, 9, 1, 4), ColumnProperties: []*api.TableColumnProperties{{ColumnIndex: 2, ColumnType: "TEXT"}}}}}, ColumnRules{}},
	} {
		if diff := cmp.Diff(tc.want, inspect(&tc.sheet, g, []int{2}).Columns[2]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestClockIsReadFromRefusalsToo(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 7, 0, time.UTC)
	s := &script{answers: []answer{reply(403, `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}`, "Date", "Tue, 01 Dec 2026 09:00:00 GMT")}}
	c := newClient(t, Config{Transport: s, Now: func() time.Time { return now }})
	if _, ok := c.Clock(); ok {
		t.Error("a clock before any answer")
	}
	_, err := c.Read(context.Background(), claim.Target{Spreadsheet: "S1", Range: "A1:B"}, claim.Ask{})
	clock, ok := c.Clock()
	if err == nil || !ok || clock.Ours.Sub(clock.Theirs) != 7*time.Second {
		t.Errorf("%v %+v %t", err, clock, ok)
	}
	if IsLogin(err) || !strings.Contains(err.Error(), "share the sheet") {
		t.Errorf("%v", err)
	}
}
