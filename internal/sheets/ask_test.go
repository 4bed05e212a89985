package sheets

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

func TestAsked(t *testing.T) {
	visits := Range{Tab: "Visits", EndCol: 8}
	for _, tt := range []struct {
		name string
		area Range
		ask  claim.Ask
		want []string
	}{
		{"everything", visits, claim.Ask{}, []string{"'Visits'!A:H"}},
		{
			"columns that touch are one", visits,
			claim.Ask{Columns: []int{3, 0, 2, 3}},
			[]string{"'Visits'!A1:H1", "'Visits'!A:A", "'Visits'!C:D"},
		},
		{
			"columns of the header, not of the sheet",
			Range{Tab: "Visits", StartRow: 4, EndRow: 90, StartCol: 2, EndCol: 6},
			claim.Ask{Columns: []int{0, 3, 4, -1}},
			[]string{"'Visits'!C5:F5", "'Visits'!C5:C90", "'Visits'!F5:F90"},
		},
		{"rows", visits, claim.Ask{Rows: []int{7, 3, 4}}, []string{"'Visits'!A1:H1", "'Visits'!A3:H4", "'Visits'!A7:H7"}},
		{
			"rows of columns", visits,
			claim.Ask{Rows: []int{7, 3}, Columns: []int{0, 3}},
			[]string{"'Visits'!A1:H1", "'Visits'!A3:A3", "'Visits'!D3:D3", "'Visits'!A7:A7", "'Visits'!D7:D7"},
		},
		{
			"rows outside",
			Range{Tab: "Visits", StartRow: 2, EndRow: 5, EndCol: 2},
			claim.Ask{Rows: []int{0, 1, 3, 4, 6}},
			[]string{"'Visits'!A3:B3", "'Visits'!A4:B4"},
		},
		{"none", visits, claim.Ask{Columns: []int{}}, []string{"'Visits'!A1:H1"}},
		{"a whole tab", Range{Tab: "Visits"}, claim.Ask{Columns: []int{1}}, []string{"'Visits'!1:1", "'Visits'!B:B"}},
		{"the first tab", Range{EndCol: 3}, claim.Ask{Columns: []int{1}}, []string{"A1:C1", "B:B"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, texts(tt.area.asked(tt.ask))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
