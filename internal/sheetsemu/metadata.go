package sheetsemu

// metadata is one developer metadata entry; where it is follows from what holds it.
type metadata struct {
	id         int64
	key, value string
	visibility string
}

// placed is an entry with its place at the moment.
type placed struct {
	metadata
	kind  string // SPREADSHEET, SHEET, ROW, COLUMN
	sheet *sheet
	index int // of the row or column
}

// allMetadata lists every entry: of the spreadsheet, then tab by tab.
func (b *book) allMetadata() []placed {
	var all []placed
	for _, m := range b.meta {
		all = append(all, placed{metadata: m, kind: "SPREADSHEET"})
	}
	for _, s := range b.sheets {
		for _, m := range s.meta {
			all = append(all, placed{m, "SHEET", s, 0})
		}
		for i, r := range s.rows {
			if r != nil {
				for _, m := range r.meta {
					all = append(all, placed{m, "ROW", s, i})
				}
			}
		}
		for i, c := range s.cols {
			if c != nil {
				for _, m := range c.meta {
					all = append(all, placed{m, "COLUMN", s, i})
				}
			}
		}
	}
	return all
}

// holder is the list that an entry is in, ready to be changed.
func (p placed) holder(b *book) *[]metadata {
	switch p.kind {
	case "SHEET":
		return &p.sheet.meta
	case "ROW":
		return &p.sheet.editRow(p.index).meta
	case "COLUMN":
		return &p.sheet.editCol(p.index).meta
	}
	return &b.meta
}

// area is the region that the entry marks.
func (p placed) area() area {
	a := p.sheet.whole()
	switch p.kind {
	case "ROW":
		a.r0, a.r1 = p.index, p.index+1
	case "COLUMN":
		a.c0, a.c1 = p.index, p.index+1
	}
	return a
}

func (p placed) render() object {
	location := object{"locationType": p.kind}
	switch p.kind {
	case "SPREADSHEET":
		location["spreadsheet"] = true
	case "SHEET":
		location["sheetId"] = p.sheet.id
	case "ROW":
		location["dimensionRange"] = dimensionObject(p.sheet.id, "ROWS", p.index, p.index+1)
	case "COLUMN":
		location["dimensionRange"] = dimensionObject(p.sheet.id, "COLUMNS", p.index, p.index+1)
	}
	o := object{"metadataId": p.id, "location": location, "visibility": p.visibility}
	if p.key != "" {
		o["metadataKey"] = p.key
	}
	if p.value != "" {
		o["metadataValue"] = p.value
	}
	return o
}

// dimensionObject writes a DimensionRange; a sheetId of 0 is left out (recorded).
func dimensionObject(sheetID int64, dimension string, start, end int) object {
	o := object{"dimension": dimension, "startIndex": start, "endIndex": end}
	if sheetID != 0 {
		o["sheetId"] = sheetID
	}
	return o
}

func renderMetadata(kind string, s *sheet, index int, list []metadata) []any {
	out := make([]any, len(list))
	for i, m := range list {
		out[i] = placed{m, kind, s, index}.render()
	}
	return out
}

// metadataLocation is the DeveloperMetadataLocation message.
type metadataLocation struct {
	LocationType   string          `json:"locationType"`
	Spreadsheet    bool            `json:"spreadsheet"`
	SheetID        *int64          `json:"sheetId"`
	DimensionRange *dimensionRange `json:"dimensionRange"`
}

// dimensionRange is the DimensionRange message.
type dimensionRange struct {
	SheetID    int64  `json:"sheetId"`
	Dimension  string `json:"dimension"`
	StartIndex *int   `json:"startIndex"`
	EndIndex   *int   `json:"endIndex"`
}

// locate finds the place that an entry is to be put at.
func (l *metadataLocation) locate(b *book) (placed, error) {
	switch {
	case l == nil:
		return placed{}, invalid("Location must be specified.")
	case l.DimensionRange != nil:
		return l.DimensionRange.locate(b)
	case l.SheetID != nil:
		s := b.sheetByID(*l.SheetID)
		if s == nil {
			return placed{}, invalid("No grid with id: %d", *l.SheetID)
		}
		return placed{kind: "SHEET", sheet: s}, nil
	case l.Spreadsheet || l.LocationType == "SPREADSHEET":
		return placed{kind: "SPREADSHEET"}, nil
	}
	return placed{}, invalid("Location must be specified.")
}

// locate allows one row or column only (probed texts).
func (d *dimensionRange) locate(b *book) (placed, error) {
	s := b.sheetByID(d.SheetID)
	if s == nil {
		return placed{}, invalid("No grid with id: %d", d.SheetID)
	}
	if d.StartIndex == nil || d.EndIndex == nil {
		return placed{}, invalid("DimensionRange must specify both a startIndex and an endIndex")
	}
	if *d.EndIndex-*d.StartIndex != 1 {
		return placed{}, invalid("DimensionRange must represent a single row or column")
	}
	kind, count := "ROW", s.rowCount()
	if d.Dimension == "COLUMNS" {
		kind, count = "COLUMN", s.colCount()
	}
	if *d.StartIndex < 0 || *d.StartIndex >= count {
		return placed{}, exceeds(s, placed{kind: kind, sheet: s, index: *d.StartIndex}.area())
	}
	return placed{kind: kind, sheet: s, index: *d.StartIndex}, nil
}
