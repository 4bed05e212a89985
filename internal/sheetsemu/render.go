package sheetsemu

import "maps"

import "slices"

// window is a part of a tab that a reply shows.
type window struct {
	sheet *sheet
	area  area
}

type windows []window

// view says how much of a spreadsheet a reply shows.
type view struct {
	mask    *mask
	data    bool    // grid data, when no mask decides
	ranges  windows // nil: every tab, whole
	limited bool    // only the tabs of ranges
	user    string
}

// render writes the Spreadsheet message.
func (b *book) render(v view) object {
	o := object{
		"spreadsheetId":  b.id,
		"spreadsheetUrl": "https://docs.google.com/spreadsheets/d/" + b.id + "/edit",
	}
	if v.mask.wants("properties") {
		o["properties"] = object{
			"title": b.title, "locale": b.locale, "autoRecalc": b.autoRecalc, "timeZone": b.timeZone,
			"defaultFormat": defaultFormat, "spreadsheetTheme": defaultTheme,
		}
	}
	if m, ok := v.mask.sub("sheets"); ok {
		if list := b.renderSheets(v, m); len(list) > 0 {
			o["sheets"] = list
		}
	}
	if len(b.named) > 0 {
		list := make([]any, len(b.named))
		for i := range b.named {
			list[i] = b.named[i].render()
		}
		o["namedRanges"] = list
	}
	if len(b.meta) > 0 {
		o["developerMetadata"] = renderMetadata("SPREADSHEET", nil, 0, b.meta)
	}
	return o
}

func (b *book) renderSheets(v view, m *mask) []any {
	var list []any
	for i, s := range b.sheets {
		if v.limited && !slices.ContainsFunc(v.ranges, func(w window) bool { return w.sheet == s }) {
			continue
		}
		o := s.render(i, v.user)
		if v.mask == nil && v.data || v.mask != nil && m.wants("data") {
			below, _ := m.sub("data")
			o["data"] = s.renderWindows(b.locale, v, below)
		}
		list = append(list, o)
	}
	return list
}

// render writes the Sheet message without grid data.
func (s *sheet) render(index int, user string) object {
	o := object{"properties": s.renderProperties(index)}
	if len(s.merges) > 0 {
		list := make([]any, len(s.merges))
		for i, a := range s.merges {
			list[i] = cellSpan(a).render(s.id)
		}
		o["merges"] = list
	}
	if len(s.protected) > 0 {
		list := make([]any, len(s.protected))
		for i := range s.protected {
			list[i] = s.protected[i].render(user, true)
		}
		o["protectedRanges"] = list
	}
	if len(s.meta) > 0 {
		o["developerMetadata"] = renderMetadata("SHEET", s, 0, s.meta)
	}
	if len(s.rowGroups) > 0 {
		o["rowGroups"] = renderGroups(s.id, "ROWS", s.rowGroups)
	}
	if len(s.colGroups) > 0 {
		o["columnGroups"] = renderGroups(s.id, "COLUMNS", s.colGroups)
	}
	return o
}

// renderProperties writes SheetProperties; a sheetId and an index of 0 are
// printed (recorded).
func (s *sheet) renderProperties(index int) object {
	grid := object{"rowCount": s.rowCount(), "columnCount": s.colCount()}
	maps.Copy(grid, s.gridProps)
	o := object{"sheetId": s.id, "title": s.title, "index": index, "sheetType": "GRID", "gridProperties": grid}
	if s.hidden {
		o["hidden"] = true
	}
	maps.Copy(o, s.props)
	return o
}

// renderWindows gives one GridData per requested range, in their order.
func (s *sheet) renderWindows(locale string, v view, m *mask) []any {
	if !v.limited {
		return []any{s.gridData(s.whole(), locale, m)}
	}
	var list []any
	for _, w := range v.ranges {
		if w.sheet == s {
			list = append(list, s.gridData(w.area, locale, m))
		}
	}
	return list
}

// gridData writes the GridData message: rows and cells up to the last that
// holds something, but metadata for every row and column of the window (probed).
func (s *sheet) gridData(a area, locale string, m *mask) object {
	o := object{}
	if a.r0 > 0 {
		o["startRow"] = a.r0
	}
	if a.c0 > 0 {
		o["startColumn"] = a.c0
	}
	if below, ok := m.sub("rowData"); ok {
		if rows := s.rowData(a, locale, below); len(rows) > 0 {
			o["rowData"] = rows
		}
	}
	if below, ok := m.sub("rowMetadata"); ok {
		o["rowMetadata"] = s.renderLines("ROW", a.r0, a.r1, 21, below, func(i int) *lineProps {
			if s.rows[i] == nil {
				return nil
			}
			return &s.rows[i].lineProps
		})
	}
	if below, ok := m.sub("columnMetadata"); ok {
		o["columnMetadata"] = s.renderLines("COLUMN", a.c0, a.c1, 100, below, func(i int) *lineProps {
			if s.cols[i] == nil {
				return nil
			}
			return &s.cols[i].lineProps
		})
	}
	return o
}

// renderLines writes the DimensionProperties of rows or columns. Those without
// any of their own share one object.
func (s *sheet) renderLines(kind string, start, end, size int, m *mask, props func(int) *lineProps) []any {
	plain := m.apply(object{"pixelSize": size})
	list := make([]any, 0, end-start)
	for i := start; i < end; i++ {
		if p := props(i); p != nil {
			list = append(list, p.render(kind, s, i, size))
		} else {
			list = append(list, plain)
		}
	}
	return list
}

func (p *lineProps) render(kind string, s *sheet, index, size int) object {
	if p.pixelSize > 0 {
		size = p.pixelSize
	}
	o := object{"pixelSize": size}
	if p.hiddenByUser {
		o["hiddenByUser"] = true
	}
	if p.hiddenByFilter {
		o["hiddenByFilter"] = true
	}
	if len(p.meta) > 0 {
		o["developerMetadata"] = renderMetadata(kind, s, index, p.meta)
	}
	return o
}

func (s *sheet) rowData(a area, locale string, m *mask) []any {
	last := -1
	for r := a.r0; r < a.r1; r++ {
		if s.lastCell(r, a) >= a.c0 {
			last = r
		}
	}
	var rows []any
	below, _ := m.sub("values")
	for r := a.r0; r <= last; r++ {
		end := s.lastCell(r, a)
		if end < a.c0 {
			rows = append(rows, object{})
			continue
		}
		values := make([]any, 0, end-a.c0+1)
		for c := a.c0; c <= end; c++ {
			values = append(values, s.at(r, c).render(locale, below))
		}
		rows = append(rows, object{"values": values})
	}
	return rows
}

// lastCell is the column of the last cell of a row that holds anything.
func (s *sheet) lastCell(r int, a area) int {
	if s.rows[r] == nil {
		return -1
	}
	for c := min(a.c1, len(s.rows[r].cells)) - 1; c >= a.c0; c-- {
		if !s.rows[r].cells[c].bare() {
			return c
		}
	}
	return -1
}

// render writes the CellData message.
func (c *cell) render(locale string, m *mask) object {
	o := object{}
	maps.Copy(o, c.extra)
	if !c.blank() {
		o["userEnteredValue"] = c.entered.extended()
		if e := c.effective.extended(); e != nil {
			o["effectiveValue"] = e
		} else {
			o["effectiveValue"] = object{"stringValue": ""} // a formula that came to ""
		}
		if text := c.shown(locale); text != "" {
			o["formattedValue"] = text
		}
	}
	if c.format != nil {
		o["userEnteredFormat"] = c.format
	}
	if below, ok := m.sub("effectiveFormat"); ok && (!c.blank() || c.format != nil) {
		o["effectiveFormat"] = c.effectiveFormat(below)
	}
	if c.note != "" {
		o["note"] = c.note
	}
	if c.validation != nil {
		o["dataValidation"] = c.validation
	}
	return o
}

// effectiveFormat is the default format with the cell's own over it; when the
// mask asks for the number format alone, nothing else is put together.
func (c *cell) effectiveFormat(m *mask) object {
	out := object{}
	if m.all() || !m.only("numberFormat") {
		mergeInto(out, defaultFormat)
	}
	if c.inherited != nil {
		mergeInto(out, c.inherited)
	}
	mergeInto(out, c.format)
	return out
}

// only says whether the mask has that one part.
func (m *mask) only(name string) bool {
	return m != nil && len(m.parts) == 1 && m.parts[name] != nil
}

// mergeInto lays one object over another; dst is changed, src and what either
// holds are not.
func mergeInto(dst, src object) {
	for k, v := range src {
		sub, isObject := v.(object)
		old, wasObject := dst[k].(object)
		if isObject && wasObject {
			joined := object{}
			mergeInto(joined, old)
			mergeInto(joined, sub)
			v = joined
		}
		dst[k] = v
	}
}
