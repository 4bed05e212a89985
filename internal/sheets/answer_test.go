package sheets

import (
	"testing"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// What stands past the header belongs to no row, whichever columns are kept: a sum
// beside the table is not a row without a key.
func TestNotesPastTheHeaderMakeNoRow(t *testing.T) {
	_, c := emulated(t, "Visits", header,
		[]any{"k1", "a@x.test"},
		[]any{"", "", "", "", "", "Total: 1"},
		[]any{"", "", "only a due cell"})
	keep := func([]string) []int { return []int{0, 1, 3} }
	for name, ask := range map[string]claim.Ask{"all": {}, "kept": {Keep: keep}} {
		g := read(t, c, "Visits!A1:Z", ask)
		blank := map[int]bool{}
		for _, r := range g.Rows {
			blank[r.Number] = r.IsBlank()
		}
		if len(blank) != 3 || blank[2] || !blank[3] || blank[4] {
			t.Errorf("%s: blank rows %v", name, blank)
		}
	}
}
