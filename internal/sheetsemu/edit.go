package sheetsemu

import (
	"fmt"
	"slices"
	"strings"
)

// Edit plays a person who works in a spreadsheet: f changes it through b, and
// everything it did becomes visible at once. The lock is held meanwhile, so f
// must not call the emulator. Mistakes in f, such as a tab that does not
// exist, panic: they are mistakes of a test.
func (e *Emulator) Edit(id string, f func(b *Book)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &txn{call: &Call{}, now: e.opts.Now(), book: e.mustFile(id).current.draft()}
	t.user = t.book.creator
	f(&Book{t})
	t.book.recalc(t.now)
	e.publish(t.book)
}

// Book is a spreadsheet under a person's hands.
type Book struct{ t *txn }

// Tab finds a tab by its title.
func (b *Book) Tab(title string) *Tab {
	s := b.t.book.sheetByTitle(title)
	if s == nil {
		panic(fmt.Sprintf("sheetsemu: no tab %q", title))
	}
	return &Tab{b.t, s}
}

// Tabs are the titles in their order.
func (b *Book) Tabs() []string {
	titles := make([]string, len(b.t.book.sheets))
	for i, s := range b.t.book.sheets {
		titles[i] = s.title
	}
	return titles
}

// AddTab adds an empty tab of 1000 x 26.
func (b *Book) AddTab(title string) *Tab {
	s, err := b.t.newTab(&sheetProperties{Title: title})
	must(err)
	return &Tab{b.t, s}
}

// DeleteTab removes a tab.
func (b *Book) DeleteTab(title string) {
	_, err := b.t.deleteSheet(&deleteSheetRequest{SheetID: b.Tab(title).s.id})
	must(err)
}

// RenameTab gives a tab another title.
func (b *Book) RenameTab(title, to string) { b.Tab(title).s.title = to }

// SetTitle renames the spreadsheet.
func (b *Book) SetTitle(title string) { b.t.book.title = title }

// SetLocale changes how dates are read and what TRUE is called.
func (b *Book) SetLocale(locale string) { b.t.book.locale = locale }

// SetTimeZone changes the zone, by its name in the zone database.
func (b *Book) SetTimeZone(name string) { b.t.book.timeZone = name }

// Tab is one tab under a person's hands. Rows are numbered as in A1.
type Tab struct {
	t *txn
	s *sheet
}

func must(err error) {
	if err != nil {
		panic("sheetsemu: " + err.Error())
	}
}

func (tab *Tab) area(a1 string) area {
	span, ok := parseCells(a1)
	if !ok {
		panic(fmt.Sprintf("sheetsemu: no range %q", a1))
	}
	a := span.resolve(tab.s.rowCount(), tab.s.colCount())
	if a.r1 > tab.s.rowCount() || a.c1 > tab.s.colCount() {
		panic(exceeds(tab.s, a).Error())
	}
	return a
}

func (tab *Tab) each(a1 string, change func(r, c int)) {
	a := tab.area(a1)
	for r := a.r0; r < a.r1; r++ {
		for c := a.c0; c < a.c1; c++ {
			change(r, c)
		}
	}
}

// ID is the tab's sheetId.
func (tab *Tab) ID() int64 { return tab.s.id }

// Set types a text into a cell, or into every cell of a range.
func (tab *Tab) Set(a1, text string) {
	tab.each(a1, func(r, c int) { must(tab.t.book.putTyped(tab.t.parser(), tab.s, r, c, text)) })
}

// SetRaw puts a string, a number or a boolean into a cell unparsed.
func (tab *Tab) SetRaw(a1 string, v any) {
	tab.each(a1, func(r, c int) { must(tab.t.book.put(tab.s, r, c, plainValue(v))) })
}

// SetFormula puts a formula into a cell together with what it is to show,
// which then stays whatever the formula would come to.
func (tab *Tab) SetFormula(a1, formula string, shows any) {
	tab.each(a1, func(r, c int) {
		must(tab.t.book.put(tab.s, r, c, value{kind: kindFormula, text: formula}))
		cl := tab.s.edit(r, c)
		cl.effective, cl.pinned = plainValue(shows), true
	})
}

func plainValue(v any) value {
	switch v := v.(type) {
	case nil:
		return value{}
	case string:
		return textValue(v)
	case bool:
		return boolValue(v)
	case int:
		return numberValue(float64(v))
	case float64:
		return numberValue(v)
	}
	panic(fmt.Sprintf("sheetsemu: a cell cannot hold %T", v))
}

// Get is what a cell shows.
func (tab *Tab) Get(a1 string) string {
	a := tab.area(a1)
	return tab.s.at(a.r0, a.c0).shown(tab.t.book.locale)
}

// Rows are the texts that the tab shows, down to the last filled row.
func (tab *Tab) Rows() [][]string { return tab.t.book.grid(tab.s) }

// Append types texts into the first row below everything.
func (tab *Tab) Append(texts ...string) {
	r := len(tab.Rows())
	tab.s.grow(r+1, len(texts))
	for c, text := range texts {
		must(tab.t.book.putTyped(tab.t.parser(), tab.s, r, c, text))
	}
}

// ClearRange empties cells; what else they have stays.
func (tab *Tab) ClearRange(a1 string) {
	tab.each(a1, func(r, c int) { must(tab.t.book.put(tab.s, r, c, value{})) })
}

// InsertRows inserts n blank rows above row at.
func (tab *Tab) InsertRows(at, n int) { tab.t.book.insertLines(tab.s, true, at-1, n) }

// DeleteRows deletes n rows from row at on.
func (tab *Tab) DeleteRows(at, n int) { tab.t.book.deleteLines(tab.s, true, at-1, at-1+n) }

// MoveRows moves n rows from row at on to above row before.
func (tab *Tab) MoveRows(at, n, before int) {
	tab.t.book.moveLines(tab.s, true, at-1, at-1+n, before-1)
}

// InsertColumns inserts n blank columns left of a column, such as "C".
func (tab *Tab) InsertColumns(column string, n int) {
	tab.t.book.insertLines(tab.s, false, columnIndex(column), n)
}

// DeleteColumns deletes n columns from a column on.
func (tab *Tab) DeleteColumns(column string, n int) {
	c := columnIndex(column)
	tab.t.book.deleteLines(tab.s, false, c, c+n)
}

func columnIndex(name string) int {
	c, r, ok := parseCorner(name)
	if !ok || r != open {
		panic(fmt.Sprintf("sheetsemu: no column %q", name))
	}
	return c
}

// SortBy sorts the rows from firstRow on by a column, such as "C".
func (tab *Tab) SortBy(column string, ascending bool, firstRow int) {
	order := "DESCENDING"
	if ascending {
		order = "ASCENDING"
	}
	a := tab.s.whole()
	a.r0 = firstRow - 1
	tab.t.book.sortRows(tab.s, a, []sortSpec{{DimensionIndex: columnIndex(column), SortOrder: order}})
}

// HideRow hides a row or shows it again.
func (tab *Tab) HideRow(n int, hidden bool) { tab.s.editRow(n - 1).hiddenByUser = hidden }

// FilterRow hides a row as a filter does, or shows it again.
func (tab *Tab) FilterRow(n int, hidden bool) { tab.s.editRow(n - 1).hiddenByFilter = hidden }

// SetFormat gives cells a number format, such as "DATE" with "dd/mm/yyyy".
func (tab *Tab) SetFormat(a1, kind, pattern string) {
	tab.each(a1, func(r, c int) {
		format := object{}
		mergeInto(format, tab.s.at(r, c).format)
		format["numberFormat"] = numberFormat{kind, pattern}.render()
		tab.s.edit(r, c).format = format
	})
}

// Protect lets only these addresses, and the owner, edit a range.
func (tab *Tab) Protect(a1 string, editors ...string) {
	a := tab.area(a1)
	tab.s.protected = append(tab.s.protected, protectedRange{
		id: tab.t.book.nextID(), sheetID: tab.s.id, span: cellSpan(a),
		creator: tab.t.book.creator, users: slices.Clone(editors),
	})
}

// CopyRow copies a row's cells over another row, as copy and paste do: the
// metadata stays where it is.
func (tab *Tab) CopyRow(from, to int) {
	for c := range tab.s.colCount() {
		if src := *tab.s.at(from-1, c); !src.bare() || !tab.s.at(to-1, c).bare() {
			if src.entered.kind == kindFormula {
				src.entered.text = shiftFormula(src.entered.text, to-from)
			}
			*tab.s.edit(to-1, c) = src
		}
	}
}

// FindRow is the number of the first row whose cell in a column shows a text, or 0.
func (tab *Tab) FindRow(column, text string) int {
	c := columnIndex(column)
	for r := range tab.s.rows {
		if strings.TrimSpace(tab.s.at(r, c).shown(tab.t.book.locale)) == text {
			return r + 1
		}
	}
	return 0
}
