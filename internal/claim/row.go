package claim

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// CellKind tells how a cell's value was stored. The zero value is a blank cell.
type CellKind uint8

const (
	Blank  CellKind = iota
	Text            // a string
	Number          // a number without a date format
	Date            // a number with a date or date-time format
	Bool            // a checkbox or TRUE/FALSE
	Error           // #REF!, #N/A and the like
)

// Cell is one cell as it was read.
type Cell struct {
	Kind    CellKind
	Shown   string  // the text that the sheet displays; of a text cell, the text itself
	Number  float64 // Number and Date: the stored number; of a date, days since 30 December 1899
	Bool    bool
	Formula bool // the value comes from a formula
}

// IsBlank reports whether the cell is empty or holds only white space.
func (c Cell) IsBlank() bool {
	return c.Kind == Blank || c.Kind == Text && strings.TrimSpace(c.Shown) == ""
}

// Civil is the wall clock time that a date stands for, in UTC for want of a zone: the
// number counts days, the fraction being the time of day (documented:
// DateTimeRenderOption). A fraction of a day is seldom exact in binary or in the
// decimals of JSON, so it is rounded to the millisecond, and to the second when no
// more than that is missing.
func (c Cell) Civil() time.Time {
	day := math.Floor(c.Number)
	ms := math.Round((c.Number - day) * 24 * 60 * 60 * 1000)
	if second := math.Round(ms/1000) * 1000; math.Abs(ms-second) <= 1 {
		ms = second
	}
	return time.Date(1899, time.December, 30+int(day), 0, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
}

// Value is the cell as text for comparing: a number in its shortest decimal form,
// whatever its format, and anything else as the sheet shows it.
func (c Cell) Value() string {
	switch c.Kind {
	case Number, Date:
		return strconv.FormatFloat(c.Number, 'f', -1, 64)
	case Blank:
		return ""
	case Text, Bool, Error:
		return c.Shown
	}
	return c.Shown
}

// Row is one row as it was read. A cell that was not asked for, or lies past the
// row's end, is blank.
type Row struct {
	Number int // counted from 1, as people see it
	Hidden bool
	Other  bool // a cell that was not kept holds something
	Cells  []Cell
	At     []int // the columns of the header that Cells stand for, ascending; nil: in its order
}

// Cell returns the cell of column i of the header; blank when i is -1.
func (r Row) Cell(i int) Cell {
	if r.At != nil {
		at, kept := slices.BinarySearch(r.At, i)
		if !kept {
			return Cell{}
		}
		i = at
	}
	if i < 0 || i >= len(r.Cells) {
		return Cell{}
	}
	return r.Cells[i]
}

// IsBlank reports whether no cell of the row holds anything.
func (r Row) IsBlank() bool {
	if r.Other {
		return false
	}
	for _, c := range r.Cells {
		if !c.IsBlank() {
			return false
		}
	}
	return true
}

// Target names the rows of a job: a spreadsheet and an A1 range whose first row is
// the header. The range may be a tab alone, a range without a tab (the first tab),
// or both.
type Target struct {
	Spreadsheet string
	Range       string
}

// Tab is one tab of a spreadsheet; its id stays when it is renamed.
type Tab struct {
	ID    int64
	Title string
}

// Grid is what one read showed.
type Grid struct {
	Target
	Tab      Tab
	Zone     string    // the spreadsheet's own time zone
	FirstCol int       // sheet column of Header[0], counted from 0
	FirstRow int       // number of the header row, counted from 1
	Header   []Cell    // the first row of the range
	Rows     []Row     // the rows below it, blank ones included, or those that were asked for
	Fence    []Stamp   // the fence's entries on this tab, oldest first, when asked for
	Began    time.Time // when the read began, by the worker's clock; every age counts from here
}

// HeaderTexts returns the header as the sheet shows it.
func (g *Grid) HeaderTexts() []string {
	texts := make([]string, len(g.Header))
	for i, c := range g.Header {
		texts[i] = c.Shown
	}
	return texts
}

// Columns says where a job's columns are in a header; -1 where one is not mapped.
type Columns struct {
	Key                                         []int
	Email, Status, Due                          int
	Note, SentAt, ClaimedAt, ClaimedBy, Attempt int
}

// Names of the columns that sheetclaim writes, as Before uses them.
const (
	colStatus    = "status"
	colNote      = "note"
	colSentAt    = "sent_at"
	colClaimedAt = "claimed_at"
	colClaimedBy = "claimed_by"
	colAttempts  = "attempts"
)

// writtenColumn is a column that sheetclaim writes.
type writtenColumn struct {
	name  string
	index int
}

// written returns the mapped columns that sheetclaim writes, the status first.
func (c Columns) written() []writtenColumn {
	all := []writtenColumn{
		{colStatus, c.Status},
		{colNote, c.Note},
		{colSentAt, c.SentAt},
		{colClaimedAt, c.ClaimedAt},
		{colClaimedBy, c.ClaimedBy},
		{colAttempts, c.Attempt},
	}
	var mapped []writtenColumn
	for _, w := range all {
		if w.index >= 0 {
			mapped = append(mapped, w)
		}
	}
	return mapped
}

// Written answers the columns that sheetclaim writes, the status first.
func (c Columns) Written() []int {
	var at []int
	for _, w := range c.written() {
		at = append(at, w.index)
	}
	return at
}

// before notes what stands in the cells of a row that a claim writes over. The cell
// of an optional column that could not be put back as it was is not written at all.
func (c Columns) before(r Row) Before {
	b := Before{}
	for _, w := range c.written() {
		cell := r.Cell(w.index)
		switch {
		case w.name != colStatus && ParseStatus(cell.Shown).Token != "":
			b[w.name] = "" // a claim's text on its way out: putting it back would keep it for ever
		case w.name == colStatus, cell.restorable():
			b[w.name] = cell.Shown
		}
	}
	return b
}

// restorable reports whether typing what a cell shows makes the same cell again: the
// API puts text back as if it was typed, so that "=1+1" would become a formula, 007
// the number 7, and a date what its format is taken for.
func (c Cell) restorable() bool {
	switch c.Kind {
	case Blank:
		return true
	case Number:
		return c.Shown == c.Value()
	case Text:
		if _, err := time.Parse(time.RFC3339, c.Shown); err == nil {
			return true
		}
		first, _ := utf8.DecodeRuneInString(c.Shown)
		return unicode.IsLetter(first) && !strings.EqualFold(c.Shown, "true") && !strings.EqualFold(c.Shown, "false")
	case Date:
		for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02 15:04"} {
			if t, err := time.Parse(layout, c.Shown); err == nil && t.Equal(c.Civil()) {
				return true // ISO 8601 means one thing in every locale
			}
		}
	case Bool, Error:
	}
	return false
}
