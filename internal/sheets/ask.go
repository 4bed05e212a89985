package sheets

import (
	"net/url"
	"slices"

	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// maxQuery is how many bytes of ranges a URL may carry. Servers and proxies cut
// or refuse URLs from 2 kB up; what does not fit goes as data filters in a body.
const maxQuery = 1800

// header is the first row of the range.
func (r Range) header() Range {
	r.EndRow = r.StartRow + 1
	return r
}

// asked lists the ranges of one read: the header over the full width, which must
// always come, and what ask names below it. Whole columns begin at the header
// row, since a range that begins past the last row is refused (probed), and a tab
// may have only its header.
func (r Range) asked(ask claim.Ask) []Range {
	if ask.Columns == nil && ask.Rows == nil {
		return []Range{r}
	}
	cols := []run{{r.StartCol, r.EndCol}}
	if ask.Columns != nil {
		cols = runs(ask.Columns, func(i int) (int, bool) {
			col := r.StartCol + i
			return col, i >= 0 && col < maxCols && (r.EndCol == 0 || col < r.EndCol)
		})
	}
	rows := []run{{r.StartRow, r.EndRow}}
	if ask.Rows != nil {
		rows = runs(ask.Rows, func(number int) (int, bool) { return number - 1, r.below(number) })
	}
	list := []Range{r.header()}
	for _, row := range rows {
		for _, col := range cols {
			list = append(list, Range{r.Tab, row.start, row.end, col.start, col.end})
		}
	}
	return list
}

// below reports whether a row number lies below the header and inside the range.
func (r Range) below(number int) bool {
	return number > r.StartRow+1 && number <= maxRows && (r.EndRow == 0 || number <= r.EndRow)
}

// run is a half-open run of rows or columns.
type run struct{ start, end int }

// runs merges numbers into runs; place turns each into a row or column of the
// sheet, counted from 0, or drops it.
func runs(numbers []int, place func(int) (int, bool)) []run {
	var at []int
	for _, n := range numbers {
		if i, ok := place(n); ok {
			at = append(at, i)
		}
	}
	slices.Sort(at)
	var out []run
	for _, i := range slices.Compact(at) {
		if last := len(out) - 1; last >= 0 && out[last].end == i {
			out[last].end++
			continue
		}
		out = append(out, run{i, i + 1})
	}
	return out
}

// rowRuns merges row numbers, counted from 1, into runs counted from 0.
func rowRuns(numbers []int) []run {
	return runs(numbers, func(n int) (int, bool) { return n - 1, n > 0 })
}

func texts(list []Range) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.String()
	}
	return out
}

func queryLength(ranges []string) int {
	return len(url.Values{"ranges": ranges}.Encode())
}

// filters are the ranges as data filters of one tab.
func filters(tab int64, list []Range) []*api.DataFilter {
	out := make([]*api.DataFilter, len(list))
	for i, r := range list {
		out[i] = &api.DataFilter{GridRange: r.grid(tab)}
	}
	return out
}

// grid is the range as a GridRange. Tab 0 and starts at 0 are sent in words,
// since the generated client leaves zeros out; an end of 0 must stay out, for
// that is how an open end is written (documented: GridRange).
func (r Range) grid(tab int64) *api.GridRange {
	return &api.GridRange{
		SheetId:          tab,
		StartRowIndex:    int64(r.StartRow),
		EndRowIndex:      int64(r.EndRow),
		StartColumnIndex: int64(r.StartCol),
		EndColumnIndex:   int64(r.EndCol),
		ForceSendFields:  []string{"SheetId", "StartRowIndex", "StartColumnIndex"},
	}
}
