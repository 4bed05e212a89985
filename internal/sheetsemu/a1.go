package sheetsemu

import (
	"strconv"
	"strings"
	"unicode"
)

// area is a half-open rectangle of a grid, counted from zero.
type area struct{ r0, c0, r1, c1 int }

func (a area) contains(r, c int) bool { return r >= a.r0 && r < a.r1 && c >= a.c0 && c < a.c1 }

func (a area) overlaps(b area) bool {
	return a.r0 < b.r1 && b.r0 < a.r1 && a.c0 < b.c1 && b.c0 < a.c1
}

func (a area) single() bool { return a.r1-a.r0 == 1 && a.c1-a.c0 == 1 }

// columnName is A for 0, Z for 25, AA for 26.
func columnName(c int) string {
	name := ""
	for c++; c > 0; c = (c - 1) / 26 {
		name = string(rune('A'+(c-1)%26)) + name
	}
	return name
}

// a1 writes the area without a title.
func (a area) a1() string {
	first := columnName(a.c0) + strconv.Itoa(a.r0+1)
	if a.single() {
		return first
	}
	return first + ":" + columnName(a.c1-1) + strconv.Itoa(a.r1)
}

// rangeText is the form in which replies name a range: the title quoted only
// when needed (recorded).
func rangeText(s *sheet, a area) string { return quoteTitle(s.title) + "!" + a.a1() }

func quoteTitle(title string) string {
	plain := title != ""
	for i, r := range title {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			plain = false
		}
	}
	if _, looksLikeCells := parseCells(title); plain && !looksLikeCells {
		return title
	}
	return "'" + strings.ReplaceAll(title, "'", "''") + "'"
}

// cellSpan is a range as written, with open for a side that was left out.
type cellSpan struct{ r0, c0, r1, c1 int }

const open = -1

// resolve fills the open sides from the grid.
func (p cellSpan) resolve(rows, cols int) area {
	a := area{max(p.r0, 0), max(p.c0, 0), p.r1, p.c1}
	if a.r1 == open {
		a.r1 = max(rows, a.r0+1)
	}
	if a.c1 == open {
		a.c1 = max(cols, a.c0+1)
	}
	return a
}

// parseCells reads A1, A1:B2, A:C, 2:4, A2:C, A1:1, with or without $.
func parseCells(text string) (cellSpan, bool) {
	from, to, two := strings.Cut(strings.ReplaceAll(text, "$", ""), ":")
	c0, r0, ok := parseCorner(from)
	if !ok {
		return cellSpan{}, false
	}
	if !two {
		if c0 == open || r0 == open {
			return cellSpan{}, false
		}
		return cellSpan{r0, c0, r0 + 1, c0 + 1}, true
	}
	c1, r1, ok := parseCorner(to)
	if !ok {
		return cellSpan{}, false
	}
	r0, r1 = ordered(r0, r1)
	c0, c1 = ordered(c0, c1)
	return cellSpan{r0, c0, r1, c1}, true
}

// ordered puts two corners in order and makes the end exclusive. In A2:C the
// row end is open, in A1:1 the column end is.
func ordered(a, b int) (int, int) {
	if b == open {
		return a, open
	}
	if a == open {
		return open, b + 1
	}
	return min(a, b), max(a, b) + 1
}

func parseCorner(s string) (col, rw int, ok bool) {
	i := 0
	for i < len(s) && (s[i]|0x20) >= 'a' && (s[i]|0x20) <= 'z' {
		i++
	}
	letters, digits := s[:i], s[i:]
	col, rw = open, open
	if letters != "" {
		if len(letters) > 3 {
			return 0, 0, false
		}
		col = 0
		for _, l := range strings.ToUpper(letters) {
			col = col*26 + int(l-'A') + 1
		}
		col--
	}
	if digits != "" {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || digits[0] == '+' || digits[0] == '-' {
			return 0, 0, false
		}
		rw = n - 1
	}
	return col, rw, letters != "" || digits != ""
}

// splitTitle takes the title off a range. hasTitle is false for bare text,
// which may be cells, a name or a title.
func splitTitle(text string) (title, rest string, hasTitle, quoted bool) {
	if strings.HasPrefix(text, "'") {
		for i := 1; i < len(text); i++ {
			if text[i] != '\'' {
				continue
			}
			if i+1 < len(text) && text[i+1] == '\'' {
				i++
				continue
			}
			title = strings.ReplaceAll(text[1:i], "''", "'")
			rest, found := strings.CutPrefix(text[i+1:], "!")
			return title, rest, found || text[i+1:] == "", true
		}
	}
	if i := strings.LastIndex(text, "!"); i >= 0 {
		return text[:i], text[i+1:], true, false
	}
	return "", text, false, false
}

// lookup resolves a range of a values call. A bare word is a named range
// first, then cells of the first tab, then a title (probed).
func (b *book) lookup(text string) (*sheet, area, error) {
	s, span, err := b.lookupSpan(text)
	if err != nil {
		return nil, area{}, err
	}
	a := span.resolve(s.rowCount(), s.colCount())
	if a.r0 >= s.rowCount() || a.c0 >= s.colCount() {
		return nil, area{}, exceeds(s, a)
	}
	a.r1, a.c1 = min(a.r1, s.rowCount()), min(a.c1, s.colCount())
	return s, a, nil
}

func (b *book) lookupSpan(text string) (*sheet, cellSpan, error) {
	unparsable := invalid("Unable to parse range: %s", text)
	all := cellSpan{open, open, open, open}
	title, rest, hasTitle, quoted := splitTitle(text)
	if hasTitle {
		s := b.sheetByTitle(title)
		if s == nil {
			return nil, all, unparsable
		}
		if rest == "" && quoted {
			return s, all, nil
		}
		if span, ok := parseCells(rest); ok {
			return s, span, nil
		}
		if n := b.namedByName(rest); n != nil && n.sheetID == s.id {
			return s, n.span, nil
		}
		return nil, all, unparsable
	}
	if n := b.namedByName(text); n != nil {
		if s := b.sheetByID(n.sheetID); s != nil {
			return s, n.span, nil
		}
	}
	if span, ok := parseCells(text); ok && len(b.sheets) > 0 {
		return b.sheets[0], span, nil
	}
	if s := b.sheetByTitle(text); s != nil {
		return s, all, nil
	}
	return nil, all, unparsable
}

// exceeds is the refusal of a range that starts outside the grid (probed).
func exceeds(s *sheet, a area) *apiError {
	return invalid("Range (%s) exceeds grid limits. Max rows: %d, max columns: %d", rangeText(s, a), s.rowCount(), s.colCount())
}

// gridRange is the GridRange message; a missing bound is open.
type gridRange struct {
	SheetID          int64 `json:"sheetId"`
	StartRowIndex    *int  `json:"startRowIndex"`
	EndRowIndex      *int  `json:"endRowIndex"`
	StartColumnIndex *int  `json:"startColumnIndex"`
	EndColumnIndex   *int  `json:"endColumnIndex"`
}

func (g *gridRange) span() cellSpan {
	get := func(p *int) int {
		if p == nil {
			return open
		}
		return *p
	}
	return cellSpan{get(g.StartRowIndex), get(g.StartColumnIndex), get(g.EndRowIndex), get(g.EndColumnIndex)}
}

// resolve finds the sheet and the area, clipped to the grid. An area that
// starts outside is refused, one that only ends outside is not (probed).
func (g *gridRange) resolve(b *book) (*sheet, area, error) {
	s := b.sheetByID(g.SheetID)
	if s == nil {
		return nil, area{}, invalid("No grid with id: %d", g.SheetID)
	}
	a := g.span().resolve(s.rowCount(), s.colCount())
	if a.r1 <= a.r0 || a.c1 <= a.c0 {
		return nil, area{}, invalid("GridRange is empty: rows %d to %d, columns %d to %d.", a.r0, a.r1, a.c0, a.c1)
	}
	if a.r0 >= s.rowCount() || a.c0 >= s.colCount() {
		return nil, area{}, exceeds(s, a)
	}
	a.r1, a.c1 = min(a.r1, s.rowCount()), min(a.c1, s.colCount())
	return s, a, nil
}

// render writes a GridRange as Google does: a sheetId of 0 is left out, a
// start of 0 is not (recorded), an open bound is left out.
func (p cellSpan) render(sheetID int64) object {
	o := object{}
	if sheetID != 0 {
		o["sheetId"] = sheetID
	}
	for name, n := range map[string]int{"startRowIndex": p.r0, "endRowIndex": p.r1, "startColumnIndex": p.c0, "endColumnIndex": p.c1} {
		if n != open {
			o[name] = n
		}
	}
	return o
}
