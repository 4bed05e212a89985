package sheetsemu

import (
	"slices"
	"strings"
)

// owner marks the rows that a draft may change in place. Every draft has its
// own; a row with another owner belongs to a published state and is copied first.
type owner struct{ _ byte }

// book is one state of a spreadsheet. Published states never change: a write
// works on a draft and publishes it whole.
type book struct {
	id         string
	title      string
	locale     string
	timeZone   string
	autoRecalc string
	creator    string // address of the owner, who may edit everything
	sheets     []*sheet
	named      []namedRange
	meta       []metadata
	ids        uint64 // how many ids were given out
	formulas   bool   // some cell may hold a formula
	own        *owner
}

// sheet is one tab.
type sheet struct {
	id        int64
	title     string
	hidden    bool
	props     object // what is kept only to be shown again: tab colour, frozen rows …
	gridProps object
	rows      []*row
	cols      []*column
	merges    []area
	protected []protectedRange
	rowGroups []dimensionGroup
	colGroups []dimensionGroup
	meta      []metadata
	own       *owner
}

// lineProps are the properties of a row or a column. The developer metadata
// lives here, so that it follows its row by itself.
type lineProps struct {
	hiddenByUser   bool
	hiddenByFilter bool
	pixelSize      int
	meta           []metadata
}

type row struct {
	lineProps
	cells []cell
	own   *owner
}

type column struct {
	lineProps
	own *owner
}

// cell is one cell; the zero value is a blank one. Its maps are never changed,
// only replaced.
type cell struct {
	entered    value  // as entered; a formula has kind formula
	effective  value  // for formulas what they came to, else as entered
	pinned     bool   // the effective value was set by hand and stays
	format     object // userEnteredFormat
	inherited  object // number format that a formula takes from what it refers to
	note       string
	validation object
	extra      object // stored and shown again, without any effect
}

func (c *cell) blank() bool { return c.entered.kind == kindEmpty }

func (c *cell) bare() bool {
	return c.blank() && c.format == nil && c.note == "" && c.validation == nil && c.extra == nil
}

// draft returns a copy that may be changed, with b left as it is.
func (b *book) draft() *book {
	d := *b
	d.own = new(owner)
	d.sheets = make([]*sheet, len(b.sheets))
	for i, s := range b.sheets {
		d.sheets[i] = s.draft(d.own)
	}
	d.named = slices.Clone(b.named)
	d.meta = slices.Clone(b.meta)
	return &d
}

func (s *sheet) draft(own *owner) *sheet {
	d := *s
	d.own = own
	d.rows = slices.Clone(s.rows)
	d.cols = slices.Clone(s.cols)
	d.merges = slices.Clone(s.merges)
	d.protected = slices.Clone(s.protected)
	d.rowGroups = slices.Clone(s.rowGroups)
	d.colGroups = slices.Clone(s.colGroups)
	d.meta = slices.Clone(s.meta)
	return &d
}

// nextID gives a number that looks like Google's and is the same in every run.
func (b *book) nextID() int64 {
	b.ids++
	return int64(mix(hashText(b.id)+b.ids)%2_000_000_000) + 1
}

func newSheet(own *owner, id int64, title string, rows, cols int) *sheet {
	return &sheet{id: id, title: title, rows: make([]*row, rows), cols: make([]*column, cols), own: own}
}

func (b *book) sheetByID(id int64) *sheet {
	for _, s := range b.sheets {
		if s.id == id {
			return s
		}
	}
	return nil
}

// sheetByTitle compares as Google does when it refuses a second title: without case.
func (b *book) sheetByTitle(title string) *sheet {
	for _, s := range b.sheets {
		if strings.EqualFold(s.title, title) {
			return s
		}
	}
	return nil
}

func (b *book) sheetIndex(s *sheet) int { return slices.Index(b.sheets, s) }

func (s *sheet) rowCount() int { return len(s.rows) }
func (s *sheet) colCount() int { return len(s.cols) }

var blankCell cell

// at returns the cell to read; it must not be changed.
func (s *sheet) at(r, c int) *cell {
	if r < 0 || r >= len(s.rows) || s.rows[r] == nil || c < 0 || c >= len(s.rows[r].cells) {
		return &blankCell
	}
	return &s.rows[r].cells[c]
}

// edit returns the cell to change, in a row of this draft's own.
func (s *sheet) edit(r, c int) *cell {
	rw := s.editRow(r)
	for len(rw.cells) <= c {
		rw.cells = append(rw.cells, cell{})
	}
	return &rw.cells[c]
}

func (s *sheet) editRow(r int) *row {
	rw := s.rows[r]
	switch {
	case rw == nil:
		rw = &row{own: s.own}
	case rw.own != s.own:
		cp := *rw
		cp.cells = slices.Clone(rw.cells)
		cp.meta = slices.Clone(rw.meta)
		cp.own = s.own
		rw = &cp
	}
	s.rows[r] = rw
	return rw
}

func (s *sheet) editCol(c int) *column {
	col := s.cols[c]
	switch {
	case col == nil:
		col = &column{own: s.own}
	case col.own != s.own:
		cp := *col
		cp.meta = slices.Clone(col.meta)
		cp.own = s.own
		col = &cp
	}
	s.cols[c] = col
	return col
}

// whole is the area of the entire grid.
func (s *sheet) whole() area { return area{0, 0, s.rowCount(), s.colCount()} }

// cellsIn visits the cells of an area that exist, row by row.
func (s *sheet) cellsIn(a area, visit func(r, c int, cl *cell)) {
	for r := a.r0; r < min(a.r1, len(s.rows)); r++ {
		if s.rows[r] == nil {
			continue
		}
		cells := s.rows[r].cells
		for c := a.c0; c < min(a.c1, len(cells)); c++ {
			visit(r, c, &cells[c])
		}
	}
}
