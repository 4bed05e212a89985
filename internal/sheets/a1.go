package sheets

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The sizes of the largest sheet (documented: 10 million cells, columns to ZZZ).
const (
	maxRows = 10_000_000
	maxCols = 18_278
)

// Range is a rectangle of a tab: half-open, counted from 0. An end of 0 is open,
// and an empty tab means the first one, so that the zero Range is the whole
// first tab.
type Range struct {
	Tab              string
	StartRow, EndRow int
	StartCol, EndCol int
}

// ParseRange reads a range as people write it, and refuses one that has no room
// for a header and a row below it:
//
//	Visits!A1:H
//	'O''Brien Kunden'!A2:H500
//	Visits                  the whole tab
//	A1:H, A:H, 2:500        the first tab
func ParseRange(text string) (Range, error) {
	tab, cells, err := splitTab(strings.TrimSpace(text))
	if err != nil {
		return Range{}, fmt.Errorf("range %q: %w", text, err)
	}
	r := Range{Tab: tab}
	if cells != "" {
		if err := r.parseCells(cells); err != nil {
			return Range{}, fmt.Errorf("range %q: %w", text, err)
		}
	}
	if r.EndRow == r.StartRow+1 {
		return Range{}, fmt.Errorf("range %q: it has room for the header only; write it as %s", text, r.opened())
	}
	return r, nil
}

// opened is the range with an open end, for advice.
func (r Range) opened() string {
	r.EndRow = 0
	if r.EndCol == r.StartCol+1 {
		r.EndCol = r.StartCol + 8
	}
	return r.String()
}

// splitTab takes the tab's title off a range. Text without a title is cells when
// it has a colon and looks like cells, and a title otherwise: a tab may well be
// named Q1.
func splitTab(text string) (tab, cells string, err error) {
	if strings.HasPrefix(text, "'") {
		return splitQuoted(text)
	}
	if i := strings.LastIndexByte(text, '!'); i >= 0 {
		if i == 0 {
			return "", "", errors.New("the tab before the ! is missing")
		}
		if i == len(text)-1 {
			return "", "", fmt.Errorf("no cells after the !; for the whole tab write %s", quoteTab(text[:i]))
		}
		return text[:i], text[i+1:], nil
	}
	if text == "" {
		return "", "", errors.New("empty; write a tab, cells or both, such as Visits!A1:H")
	}
	if looksLikeCells(text) {
		return "", text, nil
	}
	return text, "", nil
}

func splitQuoted(text string) (tab, cells string, err error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != '\'' {
			b.WriteByte(text[i])
			continue
		}
		if strings.HasPrefix(text[i+1:], "'") {
			b.WriteByte('\'')
			i++
			continue
		}
		cells, found := strings.CutPrefix(text[i+1:], "!")
		switch {
		case b.Len() == 0:
			return "", "", errors.New("no tab between the apostrophes")
		case found && cells == "":
			return "", "", fmt.Errorf("no cells after the !; for the whole tab write %s", quoteTab(b.String()))
		case !found && text[i+1:] != "":
			return "", "", errors.New("after the tab's closing apostrophe comes !; an apostrophe inside its name is written twice")
		}
		return b.String(), cells, nil
	}
	return "", "", errors.New("the closing apostrophe after the tab's name is missing")
}

// looksLikeCells reports whether text has the form A1:H, right or wrong.
func looksLikeCells(text string) bool {
	from, to, two := strings.Cut(text, ":")
	return two && cornerShaped(from) && cornerShaped(to)
}

func cornerShaped(s string) bool {
	s = strings.ReplaceAll(s, "$", "")
	letters := len(s) - len(strings.TrimLeft(s, letters))
	return s != "" && strings.Trim(s[letters:], "0123456789") == ""
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// parseCells reads the part after the !. A corner may lack its row (A:H, A2:H) or
// its column (2:500); one that has what the first corner lacks would leave a
// range without a beginning.
func (r *Range) parseCells(text string) error {
	from, to, two := strings.Cut(text, ":")
	if !two {
		return fmt.Errorf("%q is not a range of cells; write it as A1:H", text)
	}
	c0, r0, err := parseCorner(from)
	if err != nil {
		return err
	}
	c1, r1, err := parseCorner(to)
	if err != nil {
		return err
	}
	if c0 == 0 && c1 != 0 || r0 == 0 && r1 != 0 {
		return fmt.Errorf("%q has no beginning: %q lacks what %q has", text, from, to)
	}
	r.StartCol, r.EndCol = span(c0, c1)
	r.StartRow, r.EndRow = span(r0, r1)
	return nil
}

// span makes a half-open span from 0 of two numbers counted from 1, in either
// order; 0 stands for one that is not there.
func span(a, b int) (start, end int) {
	if b != 0 && b < a {
		a, b = b, a
	}
	return max(a-1, 0), b
}

// parseCorner reads A1, A or 1, with or without $; what is not there is 0.
func parseCorner(text string) (col, row int, err error) {
	rest := strings.TrimPrefix(text, "$")
	digits := strings.TrimLeft(rest, letters)
	name := rest[:len(rest)-len(digits)]
	digits = strings.TrimPrefix(digits, "$")
	if name == "" && digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, 0, fmt.Errorf("%q is not a cell", text)
	}
	if len(name) > 3 {
		return 0, 0, fmt.Errorf("column %q is past ZZZ, the last that a sheet can have", name)
	}
	for _, l := range strings.ToUpper(name) {
		col = col*26 + int(l-'A') + 1
	}
	if digits != "" {
		row, err = strconv.Atoi(digits)
		if err != nil || row < 1 || row > maxRows {
			return 0, 0, fmt.Errorf("row %s is not between 1 and %d", digits, maxRows)
		}
	}
	return col, row, nil
}

// String writes the range in A1 notation, its tab always quoted: a bare title
// may also be a named range or look like a cell.
func (r Range) String() string {
	cells := r.cells()
	switch {
	case r.Tab == "" && cells == "":
		return "A:" + columnName(maxCols-1)
	case r.Tab == "":
		return cells
	case cells == "":
		return quoteTab(r.Tab)
	}
	return quoteTab(r.Tab) + "!" + cells
}

func (r Range) cells() string {
	allRows, allCols := r.StartRow == 0 && r.EndRow == 0, r.StartCol == 0 && r.EndCol == 0
	switch {
	case allRows && allCols:
		return ""
	case allCols && r.EndRow != 0:
		return fmt.Sprintf("%d:%d", r.StartRow+1, r.EndRow)
	case allRows && r.EndCol != 0:
		return columnName(r.StartCol) + ":" + columnName(r.EndCol-1)
	}
	endCol, endRow := columnName(maxCols-1), ""
	if r.EndCol != 0 {
		endCol = columnName(r.EndCol - 1)
	}
	if r.EndRow != 0 {
		endRow = strconv.Itoa(r.EndRow)
		if r.EndCol == 0 {
			endCol = ""
		}
	}
	return columnName(r.StartCol) + strconv.Itoa(r.StartRow+1) + ":" + endCol + endRow
}

func quoteTab(title string) string { return "'" + strings.ReplaceAll(title, "'", "''") + "'" }

// columnName is A for 0, Z for 25, AA for 26.
func columnName(col int) string {
	name := ""
	for n := col + 1; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}
