package sheetsemu

// Snapshot is the content of a spreadsheet at a moment, for exact comparison.
type Snapshot struct {
	Title, Locale, TimeZone string
	Metadata                []Metadata // in no tab
	Tabs                    []TabSnapshot
}

// TabSnapshot is the content of a tab.
type TabSnapshot struct {
	ID         int64
	Title      string
	Rows, Cols int
	Cells      map[string]CellSnapshot // by A1; blank cells are left out
	Metadata   []Metadata
	HiddenRows []int // numbered as in A1
}

// CellSnapshot is a cell: as entered, as shown, and its number format.
type CellSnapshot struct {
	Entered any // string, float64 or bool; a formula is a string with its =
	Formula bool
	Shown   string
	Format  string // type and pattern
}

// Metadata is a developer metadata entry.
type Metadata struct {
	ID         int64
	Key, Value string
	Visibility string
	Location   string // SPREADSHEET, SHEET, ROW or COLUMN
	Index      int    // of the row, numbered as in A1, or of the column from 1
}

// Snapshot takes a snapshot of a spreadsheet.
func (e *Emulator) Snapshot(id string) Snapshot {
	e.mu.Lock()
	b := e.mustFile(id).current
	e.mu.Unlock()
	out := Snapshot{Title: b.title, Locale: b.locale, TimeZone: b.timeZone}
	bySheet := map[*sheet][]Metadata{}
	for _, p := range b.allMetadata() {
		m := Metadata{p.id, p.key, p.value, p.visibility, p.kind, 0}
		if p.kind == "ROW" || p.kind == "COLUMN" {
			m.Index = p.index + 1
		}
		bySheet[p.sheet] = append(bySheet[p.sheet], m)
	}
	out.Metadata = bySheet[nil]
	for _, s := range b.sheets {
		out.Tabs = append(out.Tabs, b.tabSnapshot(s, bySheet[s]))
	}
	return out
}

func (b *book) tabSnapshot(s *sheet, meta []Metadata) TabSnapshot {
	tab := TabSnapshot{
		ID: s.id, Title: s.title, Rows: s.rowCount(), Cols: s.colCount(),
		Cells: map[string]CellSnapshot{}, Metadata: meta,
	}
	s.cellsIn(s.whole(), func(r, c int, cl *cell) {
		nf := cl.numberFormat()
		if cl.blank() && nf.kind == "" {
			return
		}
		shot := CellSnapshot{Shown: cl.shown(b.locale), Format: nf.kind + " " + nf.pattern, Formula: cl.entered.kind == kindFormula}
		if nf.kind == "" {
			shot.Format = ""
		}
		switch cl.entered.kind {
		case kindNumber:
			shot.Entered = cl.entered.num
		case kindBool:
			shot.Entered = cl.entered.truth
		case kindText, kindFormula, kindError:
			shot.Entered = cl.entered.text
		case kindEmpty:
		}
		tab.Cells[area{r, c, r + 1, c + 1}.a1()] = shot
	})
	for i, r := range s.rows {
		if r != nil && (r.hiddenByUser || r.hiddenByFilter) {
			tab.HiddenRows = append(tab.HiddenRows, i+1)
		}
	}
	return tab
}

// Grid is what a tab shows, as values.get gives it: down to the last filled
// row, each row up to its last filled cell.
func (e *Emulator) Grid(id, tab string) [][]string {
	e.mu.Lock()
	b := e.mustFile(id).current
	e.mu.Unlock()
	s := b.sheetByTitle(tab)
	if s == nil {
		panic("sheetsemu: no tab " + tab)
	}
	return b.grid(s)
}

func (b *book) grid(s *sheet) [][]string {
	rows := b.valueRows(s, s.whole(), rendering{})
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = []string{}
		for _, v := range trimBlanks(r) {
			out[i] = append(out[i], v.(string)) // formatted values are strings
		}
	}
	return out
}
