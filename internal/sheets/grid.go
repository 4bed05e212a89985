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
// comes as a block of its own, placed by startRow and startColumn, with zeros left
// out (observed).
type assembly struct {
	area   Range
	at     []int // the columns of the header that rows hold, ascending; nil: all
	header []claim.Cell
	rows   map[int]*claim.Row // by number, counted from 1
}

func assemble(area Range, blocks []block, columns []int) *assembly {
	a := &assembly{area: area, rows: map[int]*claim.Row{}}
	if columns != nil {
		a.at = slices.Sorted(slices.Values(columns))
	}
	for _, b := range blocks {
		if b.keep != nil {
			a.at = b.keep
		}
	}
	for _, b := range blocks {
		a.place(b)
	}
	return a
}

// place puts one block where it belongs.
func (a *assembly) place(b block) {
	left := b.startCol - a.area.StartCol
	for i, cells := range b.rows {
		row := b.startRow + i
		switch {
		case cells == nil:
		case row == a.area.StartRow:
			a.placeHeader(left, cells)
		case b.keep != nil:
			a.row(row).Cells = cells
		default:
			a.placeRow(a.row(row), left, cells)
		}
	}
	for _, i := range b.hidden {
		a.row(b.startRow + i).Hidden = true
	}
	for _, i := range b.dropped {
		a.row(b.startRow + i).Other = true
	}
}

// row is the row at an index, counted from 0.
func (a *assembly) row(index int) *claim.Row {
	r, ok := a.rows[index+1]
	if !ok {
		r = &claim.Row{Number: index + 1, At: a.at}
		a.rows[index+1] = r
	}
	return r
}

func (a *assembly) placeHeader(left int, cells []claim.Cell) {
	for i, c := range cells {
		if at := left + i; a.inside(at) && c != (claim.Cell{}) {
			a.header = put(a.header, at, c)
		}
	}
}

func (a *assembly) placeRow(r *claim.Row, left int, cells []claim.Cell) {
	for i, c := range cells {
		at, kept := left+i, true
		if !a.inside(at) || c == (claim.Cell{}) {
			continue
		}
		if a.at != nil {
			at, kept = slices.BinarySearch(a.at, at)
		}
		if kept {
			r.Cells = put(r.Cells, at, c)
		}
	}
}

// inside reports whether a column, counted from the range's first, lies in the range.
func (a *assembly) inside(column int) bool {
	return column >= 0 && (a.area.EndCol == 0 || a.area.StartCol+column < a.area.EndCol)
}

// put sets a cell, after blank ones where the row is shorter.
func put(cells []claim.Cell, at int, c claim.Cell) []claim.Cell {
	if len(cells) <= at {
		cells = append(cells, make([]claim.Cell, at+1-len(cells))...)
	}
	cells[at] = c
	return cells
}

// head is the first row of the range without the blank cells at its end. Columns
// past it have no name, so that nothing in them can be meant.
func (a *assembly) head() []claim.Cell {
	return a.header[:widthOf(a.header)]
}

// list are the rows that were asked for, or all below the header up to the last that
// holds something. Blank rows between keep their place. Cells past the header are
// left out.
func (a *assembly) list(width int, asked []int) []claim.Row {
	numbers := a.numbers(asked)
	out := make([]claim.Row, len(numbers))
	for i, n := range numbers {
		out[i] = claim.Row{Number: n, At: a.at}
		if r, ok := a.rows[n]; ok {
			out[i] = *r
		}
		if cells := out[i].Cells; a.at == nil && len(cells) > width {
			out[i].Cells = cells[:width]
		}
	}
	if asked == nil {
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
	for n := range a.rows {
		last = max(last, n)
	}
	for n := a.area.StartRow + 2; n <= last && a.area.below(n); n++ {
		out = append(out, n)
	}
	return out
}

// newGrid makes the grid of one tab's answer.
func newGrid(t claim.Target, area Range, zone string, s *tabAnswer, ask claim.Ask) *claim.Grid {
	a := assemble(area, s.blocks, ask.Columns)
	header := a.head()
	g := &claim.Grid{
		Target:   t,
		Tab:      claim.Tab{ID: s.Properties.SheetId, Title: s.Properties.Title},
		Zone:     zone,
		FirstCol: area.StartCol,
		FirstRow: area.StartRow + 1,
		Header:   header,
		Rows:     a.list(len(header), ask.Rows),
	}
	if ask.Fence {
		g.Fence = stamps(s.DeveloperMetadata)
	}
	return g
}
