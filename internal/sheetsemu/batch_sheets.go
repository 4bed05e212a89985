package sheetsemu

import (
	"slices"
)

// sheetProperties is the SheetProperties message coming in.
type sheetProperties struct {
	SheetID        *int64 `json:"sheetId"`
	Title          string `json:"title"`
	Index          *int   `json:"index"`
	SheetType      string `json:"sheetType"`
	GridProperties object `json:"gridProperties"`
	Hidden         bool   `json:"hidden"`
	TabColor       object `json:"tabColor"`
	TabColorStyle  object `json:"tabColorStyle"`
	RightToLeft    bool   `json:"rightToLeft"`
}

type addSheetRequest struct {
	Properties *sheetProperties `json:"properties"`
}

func (t *txn) addSheet(req *addSheetRequest) (object, error) {
	props := req.Properties
	if props == nil {
		props = &sheetProperties{}
	}
	s, err := t.newTab(props)
	if err != nil {
		return nil, err
	}
	return object{"properties": s.renderProperties(t.book.sheetIndex(s))}, nil
}

// newTab adds a tab; a title or an id that is in use is refused (probed).
func (t *txn) newTab(props *sheetProperties) (*sheet, error) {
	title := props.Title
	for n := len(t.book.sheets) + 1; title == ""; n++ {
		if candidate := "Sheet" + itoa(n); t.book.sheetByTitle(candidate) == nil {
			title = candidate
		}
	}
	if t.book.sheetByTitle(title) != nil {
		return nil, sheetExists(title)
	}
	id := int64(0)
	if props.SheetID != nil {
		id = *props.SheetID
		if t.book.sheetByID(id) != nil {
			return nil, invalid("Sheet with id %d already exists", id)
		}
	} else {
		for id == 0 || t.book.sheetByID(id) != nil {
			id = t.book.nextID()
		}
	}
	rows, cols := gridSize(props.GridProperties, defaultRows, defaultCols)
	if err := t.roomFor(cellCount(rows, cols)); err != nil {
		return nil, err
	}
	s := newSheet(t.book.own, id, title, rows, cols)
	s.hidden = props.Hidden
	s.setGridProps(props.GridProperties, nil)
	s.setLooks(props, nil)
	at := len(t.book.sheets)
	if props.Index != nil {
		at = min(max(*props.Index, 0), at)
	}
	t.book.sheets = slices.Insert(t.book.sheets, at, s)
	return s, nil
}

func sheetExists(title string) *apiError {
	return invalid("A sheet with the name %q already exists. Please enter another name.", title)
}

// maxCells is the size limit of a spreadsheet (documented; the text is probed).
const maxCells = 10_000_000

// cellCount multiplies without overflow.
func cellCount(rows, cols int) int { return min(rows, maxCells+1) * min(cols, maxCells+1) }

func (t *txn) roomFor(more int) error {
	total := more
	for _, s := range t.book.sheets {
		total += s.rowCount() * s.colCount()
	}
	if total > maxCells {
		return invalid("This action would increase the number of cells in the workbook above the limit of %d cells.", maxCells)
	}
	return nil
}

func gridSize(grid object, rows, cols int) (int, int) {
	if n, ok := grid["rowCount"].(float64); ok && n > 0 {
		rows = int(n)
	}
	if n, ok := grid["columnCount"].(float64); ok && n > 0 {
		cols = int(n)
	}
	return rows, cols
}

// setGridProps keeps the grid properties besides the size; zeros are left out (recorded).
func (s *sheet) setGridProps(in object, m *mask) {
	out := object{}
	mergeInto(out, s.gridProps)
	for _, name := range []string{"frozenRowCount", "frozenColumnCount", "hideGridlines", "rowGroupControlAfter", "columnGroupControlAfter"} {
		if m != nil && !m.wants(name) {
			continue
		}
		switch v := in[name]; v {
		case nil, false, 0.0:
			delete(out, name)
		default:
			out[name] = v
		}
	}
	s.gridProps = out
}

// setLooks keeps the tab's colour and direction.
func (s *sheet) setLooks(in *sheetProperties, m *mask) {
	out := object{}
	mergeInto(out, s.props)
	if m.wants("tabColor") || m.wants("tabColorStyle") {
		delete(out, "tabColor")
		delete(out, "tabColorStyle")
		mergeInto(out, normalFormat(given(object{"tabColor": in.TabColor, "tabColorStyle": in.TabColorStyle})))
	}
	if m.wants("rightToLeft") {
		delete(out, "rightToLeft")
		if in.RightToLeft {
			out["rightToLeft"] = true
		}
	}
	s.props = out
}

// given drops the objects that did not come.
func given(in object) object {
	for k, v := range in {
		if o, ok := v.(object); ok && o == nil {
			delete(in, k)
		}
	}
	return in
}

type updateSheetRequest struct {
	Properties *sheetProperties `json:"properties"`
	Fields     string           `json:"fields"`
}

func (t *txn) updateSheetProperties(req *updateSheetRequest) (object, error) {
	m, err := updateMask(req.Fields, propertiesSchema)
	if err != nil {
		return nil, err
	}
	in := req.Properties
	if in == nil {
		in = &sheetProperties{}
	}
	id := int64(0)
	if in.SheetID != nil {
		id = *in.SheetID
	}
	s := t.book.sheetByID(id)
	if s == nil {
		return nil, invalid("No sheet with id: %d", id)
	}
	if m.wants("title") {
		if other := t.book.sheetByTitle(in.Title); other != nil && other != s {
			return nil, sheetExists(in.Title)
		}
		s.title = in.Title
	}
	if m.wants("hidden") {
		s.hidden = in.Hidden
	}
	if m.wants("index") && in.Index != nil {
		t.moveTab(s, *in.Index)
	}
	s.setLooks(in, m)
	if below, ok := m.sub("gridProperties"); ok {
		return nil, t.setGrid(s, in.GridProperties, below)
	}
	return nil, nil
}

// moveTab puts a tab before the one that now has the index (documented: the
// index counts before the move).
func (t *txn) moveTab(s *sheet, index int) {
	from := t.book.sheetIndex(s)
	if index > from {
		index--
	}
	t.book.sheets = slices.Delete(t.book.sheets, from, from+1)
	t.book.sheets = slices.Insert(t.book.sheets, min(max(index, 0), len(t.book.sheets)), s)
}

func (t *txn) setGrid(s *sheet, in object, m *mask) error {
	s.setGridProps(in, m)
	rows, cols := gridSize(in, s.rowCount(), s.colCount())
	if !m.wants("rowCount") {
		rows = s.rowCount()
	}
	if !m.wants("columnCount") {
		cols = s.colCount()
	}
	if err := t.roomFor(cellCount(rows, cols) - cellCount(s.rowCount(), s.colCount())); err != nil {
		return err
	}
	if rows < s.rowCount() {
		t.book.deleteLines(s, true, rows, s.rowCount())
	}
	if cols < s.colCount() {
		t.book.deleteLines(s, false, cols, s.colCount())
	}
	s.grow(rows, cols)
	return nil
}

type deleteSheetRequest struct {
	SheetID int64 `json:"sheetId"`
}

func (t *txn) deleteSheet(req *deleteSheetRequest) (object, error) {
	s := t.book.sheetByID(req.SheetID)
	if s == nil {
		return nil, invalid("No sheet with id: %d", req.SheetID)
	}
	if len(t.book.sheets) == 1 {
		return nil, invalid("You can't remove all the sheets in a document.")
	}
	t.book.sheets = slices.DeleteFunc(t.book.sheets, func(x *sheet) bool { return x == s })
	t.book.named = slices.DeleteFunc(t.book.named, func(n namedRange) bool { return n.sheetID == s.id })
	return nil, nil
}

type duplicateSheetRequest struct {
	SourceSheetID    int64  `json:"sourceSheetId"`
	InsertSheetIndex *int   `json:"insertSheetIndex"`
	NewSheetID       *int64 `json:"newSheetId"`
	NewSheetName     string `json:"newSheetName"`
}

// duplicateSheet copies cells, merges and looks. Developer metadata does not
// come along here (unknown at Google).
func (t *txn) duplicateSheet(req *duplicateSheetRequest) (object, error) {
	src := t.book.sheetByID(req.SourceSheetID)
	if src == nil {
		return nil, invalid("No sheet with id: %d", req.SourceSheetID)
	}
	title := req.NewSheetName
	for n := 0; title == ""; n++ {
		candidate := "Copy of " + src.title
		if n > 0 {
			candidate += " " + itoa(n)
		}
		if t.book.sheetByTitle(candidate) == nil {
			title = candidate
		}
	}
	s, err := t.newTab(&sheetProperties{
		SheetID: req.NewSheetID, Title: title, Index: req.InsertSheetIndex,
		GridProperties: object{"rowCount": float64(src.rowCount()), "columnCount": float64(src.colCount())},
	})
	if err != nil {
		return nil, err
	}
	for i, r := range src.rows {
		if r != nil {
			s.editRow(i).cells = slices.Clone(r.cells)
		}
	}
	s.props, s.gridProps, s.merges = src.props, src.gridProps, slices.Clone(src.merges)
	return object{"properties": s.renderProperties(t.book.sheetIndex(s))}, nil
}

type updateSpreadsheetRequest struct {
	Properties object `json:"properties"`
	Fields     string `json:"fields"`
}

func (t *txn) updateSpreadsheetProperties(req *updateSpreadsheetRequest) (object, error) {
	m, err := updateMask(req.Fields, anySchema)
	if err != nil {
		return nil, err
	}
	for field, to := range map[string]*string{
		"title": &t.book.title, "locale": &t.book.locale, "timeZone": &t.book.timeZone, "autoRecalc": &t.book.autoRecalc,
	} {
		if text, given := req.Properties[field].(string); given && m.wants(field) {
			*to = text
		}
	}
	return nil, nil
}
