package sheetsemu

import (
	"testing"
	"time"
)

// FuzzTyping types anything into a cell: whatever it is, the sheet recalculates,
// shows it, and finds nothing to panic about.
func FuzzTyping(f *testing.F) {
	for _, seed := range []string{"=A1", "=IF(A1<>\"\",", "='x", "1/2/3", "12:", "'", "=A1:B", "=SUM(A:A)", "=\"", "1e999", "=A1+D1", "$", "%"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, text, pattern string) {
		emu := New(Options{Now: func() time.Time { return time.Unix(0, 0) }})
		emu.Create("S1", "x")
		if len(text) > longestCell {
			return
		}
		emu.Edit("S1", func(b *Book) {
			tab := b.Tab("Sheet1")
			tab.Set("A1:B2", text)
			tab.InsertRows(1, 1)
			tab.SetFormat("A2", "DATE", pattern)
			tab.SetFormat("B2", "NUMBER", pattern)
			tab.SortBy("B", true, 1)
		})
		emu.Snapshot("S1")
	})
}

// FuzzWire sends anything as range, mask and body.
func FuzzWire(f *testing.F) {
	f.Add("Sheet1!A1:B", "sheets(data(rowData))", `{"requests":[{"findReplace":{"find":"(","searchByRegex":true,"allSheets":true}}]}`)
	f.Add("'", "a(b", `{"requests":[{"updateCells":{"range":{"startRowIndex":-1},"rows":[{}],"fields":"*"}}]}`)
	f.Add("A1:A1", "*", `{"requests":[{"moveDimension":{"source":{"dimension":"ROWS","startIndex":0,"endIndex":2},"destinationIndex":-5}}]}`)
	f.Add("A1", "", `{"requests":[{"insertDimension":{"range":{"dimension":"COLUMNS","startIndex":3,"endIndex":4}}},{"mergeCells":{"range":{}}}]}`)
	f.Fuzz(func(t *testing.T, text, fields, body string) {
		emu := letters(t, Options{})
		for _, c := range []*Call{
			{Kind: KindValuesGet, Arg: text},
			{Kind: KindGet, Query: map[string][]string{"ranges": {text}, "fields": {fields}}},
			{Kind: KindBatchUpdate, Body: []byte(body), Write: true},
			{Kind: KindValuesUpdate, Arg: text, Body: []byte(body), Write: true, Query: map[string][]string{"valueInputOption": {"USER_ENTERED"}}},
			{Kind: KindMetadataSearch, Body: []byte(body)},
		} {
			c.Spreadsheet = "S1"
			if _, err := emu.serve(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
	})
}
