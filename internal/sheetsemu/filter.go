package sheetsemu

// dataFilter is the DataFilter message: exactly one of three.
type dataFilter struct {
	A1Range   string          `json:"a1Range"`
	GridRange *gridRange      `json:"gridRange"`
	Lookup    *metadataLookup `json:"developerMetadataLookup"`
}

// metadataLookup is the DeveloperMetadataLookup message. An entry has to
// match everything that is set; an empty lookup matches all (documented, probed).
type metadataLookup struct {
	LocationType     string            `json:"locationType"`
	MetadataLocation *metadataLocation `json:"metadataLocation"`
	Strategy         string            `json:"locationMatchingStrategy"`
	MetadataID       *int64            `json:"metadataId"`
	MetadataKey      *string           `json:"metadataKey"`
	MetadataValue    *string           `json:"metadataValue"`
	Visibility       string            `json:"visibility"`
}

func (l *metadataLookup) matches(p placed) bool {
	return (l.LocationType == "" || l.LocationType == p.kind) &&
		(l.MetadataID == nil || *l.MetadataID == p.id) &&
		(l.MetadataKey == nil || *l.MetadataKey == p.key) &&
		(l.MetadataValue == nil || *l.MetadataValue == p.value) &&
		(l.Visibility == "" || l.Visibility == p.visibility) &&
		(l.MetadataLocation == nil || l.MetadataLocation.matches(p, l.Strategy == "EXACT_LOCATION"))
}

// matches compares places; unless exact, what lies inside or crosses counts
// too (documented default).
func (l *metadataLocation) matches(p placed, exact bool) bool {
	switch {
	case l.DimensionRange != nil:
		return l.DimensionRange.matches(p, exact)
	case l.SheetID != nil:
		return p.sheet != nil && p.sheet.id == *l.SheetID && (!exact || p.kind == "SHEET")
	}
	return !exact || p.kind == "SPREADSHEET"
}

func (d *dimensionRange) matches(p placed, exact bool) bool {
	if p.sheet == nil || p.sheet.id != d.SheetID {
		return false
	}
	same := (p.kind == "ROW" && d.Dimension == "ROWS") || (p.kind == "COLUMN" && d.Dimension == "COLUMNS")
	if !same {
		return !exact
	}
	start, end := bounds(d.StartIndex, d.EndIndex, p.index+1)
	if exact {
		return start == p.index && end == p.index+1
	}
	return p.index >= start && p.index < end
}

func bounds(start, end *int, count int) (int, int) {
	s, e := 0, count
	if start != nil {
		s = *start
	}
	if end != nil {
		e = *end
	}
	return s, e
}

// areaOn resolves the two filters that name cells.
func (f *dataFilter) areaOn(b *book) (*sheet, area, error) {
	if f.GridRange != nil {
		return f.GridRange.resolve(b)
	}
	return b.lookup(f.A1Range)
}

// find lists the entries that a filter selects.
func (f *dataFilter) find(b *book) ([]placed, error) {
	var s *sheet
	var a area
	if f.Lookup == nil {
		var err error
		if s, a, err = f.areaOn(b); err != nil {
			return nil, err
		}
	}
	var found []placed
	for _, p := range b.allMetadata() {
		if f.Lookup != nil && f.Lookup.matches(p) || f.Lookup == nil && p.sheet == s && p.area().overlaps(a) {
			found = append(found, p)
		}
	}
	return found, nil
}

// windows are the cells that a filter selects for a read.
func (f *dataFilter) windows(b *book) (windows, error) {
	if f.Lookup == nil {
		s, a, err := f.areaOn(b)
		if err != nil {
			return nil, err
		}
		return windows{{s, a}}, nil
	}
	found, err := f.find(b)
	if err != nil {
		return nil, err
	}
	var ws windows
	for _, p := range found {
		if p.sheet != nil {
			ws = append(ws, window{p.sheet, p.area()})
			continue
		}
		for _, s := range b.sheets {
			ws = append(ws, window{s, s.whole()})
		}
	}
	return ws, nil
}
