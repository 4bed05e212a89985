package sheets

import (
	"slices"
	"strings"

	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// sheetFields is the mask of one tab's rows, below sheets or updatedSpreadsheet.
const sheetFields = "properties(sheetId,title),data(startRow,startColumn," +
	"rowData(values(" + cellFields + ")),rowMetadata(hiddenByUser,hiddenByFilter))"

const metadataFields = ",developerMetadata(metadataId,metadataKey,metadataValue)"

// findSheet picks the tab that was asked for out of an answer: by its id, by its
// title, or else the one that came with data.
func findSheet(list []*api.Sheet, tab *claim.Tab, title string) *api.Sheet {
	find := func(is func(*api.Sheet) bool) *api.Sheet {
		for _, s := range list {
			if s.Properties != nil && is(s) {
				return s
			}
		}
		return nil
	}
	if tab != nil {
		if s := find(func(s *api.Sheet) bool { return s.Properties.SheetId == tab.ID }); s != nil {
			return s
		}
	}
	if title != "" {
		return find(func(s *api.Sheet) bool { return strings.EqualFold(s.Properties.Title, title) })
	}
	return find(func(s *api.Sheet) bool { return len(s.Data) > 0 })
}

// assembly puts the blocks of an answer together: every range that was asked for
// comes as a block of its own, placed by startRow and startColumn, with zeros,
// trailing blank cells and trailing blank rows left out (observed).
type assembly struct {
	area   Range
	cells  map[int][]claim.Cell // by row, counted from 0; in the order of the header
	hidden map[int]bool
}

func assemble(area Range, blocks []*api.GridData) *assembly {
	a := &assembly{area: area, cells: map[int][]claim.Cell{}, hidden: map[int]bool{}}
	for _, b := range blocks {
		for i, row := range b.RowData {
			if row != nil {
				a.place(int(b.StartRow)+i, int(b.StartColumn), row.Values)
			}
		}
		for i, m := range b.RowMetadata {
			if m != nil && (m.HiddenByUser || m.HiddenByFilter) {
				a.hidden[int(b.StartRow)+i] = true
			}
		}
	}
	return a
}

func (a *assembly) place(row, col int, values []*api.CellData) {
	for i, d := range values {
		at := col + i - a.area.StartCol
		if at < 0 || a.area.EndCol != 0 && col+i >= a.area.EndCol {
			continue
		}
		if c := toCell(d); c != (claim.Cell{}) {
			cells := a.cells[row]
			if len(cells) <= at {
				cells = append(cells, make([]claim.Cell, at+1-len(cells))...)
			}
			cells[at] = c
			a.cells[row] = cells
		}
	}
}

// header is the first row of the range without the blank cells at its end. Columns
// past it have no name, so that nothing in them can be meant.
func (a *assembly) header() []claim.Cell {
	cells := a.cells[a.area.StartRow]
	for len(cells) > 0 && cells[len(cells)-1].IsBlank() {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// row is one row as wide as the header; only the asked columns are kept.
func (a *assembly) row(number, width int, columns []int) claim.Row {
	r := claim.Row{Number: number, Hidden: a.hidden[number-1]}
	cells := a.cells[number-1]
	if len(cells) == 0 {
		return r
	}
	r.Cells = make([]claim.Cell, width)
	copy(r.Cells, cells)
	if columns != nil {
		for i := range r.Cells {
			if !slices.Contains(columns, i) {
				r.Cells[i] = claim.Cell{}
			}
		}
	}
	return r
}

// rows are the rows that were asked for, or all below the header up to the last
// that holds something. Blank rows between keep their place.
func (a *assembly) rows(width int, ask claim.Ask) []claim.Row {
	var out []claim.Row
	for _, number := range a.numbers(ask.Rows) {
		out = append(out, a.row(number, width, ask.Columns))
	}
	if ask.Rows == nil {
		for len(out) > 0 && out[len(out)-1].IsBlank() {
			out = out[:len(out)-1]
		}
	}
	return out
}

func (a *assembly) numbers(asked []int) []int {
	var out []int
	if asked != nil {
		for _, r := range rowRuns(asked) {
			for i := r.start; i < r.end; i++ {
				if a.area.below(i + 1) {
					out = append(out, i+1)
				}
			}
		}
		return out
	}
	last := 0
	for i := range a.cells {
		last = max(last, i+1)
	}
	for n := a.area.StartRow + 2; n <= last && a.area.below(n); n++ {
		out = append(out, n)
	}
	return out
}

// newGrid makes the grid of one tab's answer.
func newGrid(t claim.Target, area Range, zone string, s *api.Sheet, ask claim.Ask) *claim.Grid {
	a := assemble(area, s.Data)
	header := a.header()
	g := &claim.Grid{
		Target:   t,
		Tab:      claim.Tab{ID: s.Properties.SheetId, Title: s.Properties.Title},
		Zone:     zone,
		FirstCol: area.StartCol,
		FirstRow: area.StartRow + 1,
		Header:   header,
		Rows:     a.rows(len(header), ask),
	}
	if ask.Fence {
		g.Fence = stamps(s.DeveloperMetadata)
	}
	return g
}
