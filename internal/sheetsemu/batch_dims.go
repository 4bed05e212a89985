package sheetsemu

import "slices"

// lines resolves a DimensionRange. Neither bound may lie outside of the grid.
func (d *dimensionRange) lines(b *book) (s *sheet, rows bool, start, end int, err error) {
	if d == nil {
		return nil, false, 0, 0, invalid("DimensionRange must be specified.")
	}
	if s = b.sheetByID(d.SheetID); s == nil {
		return nil, false, 0, 0, invalid("No grid with id: %d", d.SheetID)
	}
	if d.Dimension != "ROWS" && d.Dimension != "COLUMNS" {
		return nil, false, 0, 0, invalid("No dimension specified.")
	}
	rows = d.Dimension == "ROWS"
	count := s.colCount()
	if rows {
		count = s.rowCount()
	}
	start, end = bounds(d.StartIndex, d.EndIndex, count)
	if start < 0 || end <= start {
		return nil, false, 0, 0, invalid("range must have a startIndex below its endIndex")
	}
	return s, rows, start, end, nil
}

// inGrid refuses a range that begins outside and clips its end.
func inGrid(s *sheet, rows bool, start, end int) (int, error) {
	count := s.colCount()
	if rows {
		count = s.rowCount()
	}
	if start >= count {
		a := s.whole()
		if rows {
			a.r0, a.r1 = start, end
		} else {
			a.c0, a.c1 = start, end
		}
		return 0, exceeds(s, a)
	}
	return min(end, count), nil
}

type insertDimensionRequest struct {
	Range             *dimensionRange `json:"range"`
	InheritFromBefore bool            `json:"inheritFromBefore"`
}

func (t *txn) insertDimension(req *insertDimensionRequest) (object, error) {
	s, rows, start, end, err := req.Range.lines(t.book)
	if err != nil {
		return nil, err
	}
	count, across := s.colCount(), s.rowCount()
	if rows {
		count, across = across, count
	}
	if start > count { // at the very end is allowed
		_, err := inGrid(s, rows, start, end)
		return nil, err
	}
	if err := t.roomFor(cellCount(end-start, across)); err != nil {
		return nil, err
	}
	t.book.insertLines(s, rows, start, end-start)
	return nil, nil
}

type deleteDimensionRequest struct {
	Range *dimensionRange `json:"range"`
}

func (t *txn) deleteDimension(req *deleteDimensionRequest) (object, error) {
	s, rows, start, end, err := req.Range.lines(t.book)
	if err != nil {
		return nil, err
	}
	if end, err = inGrid(s, rows, start, end); err != nil {
		return nil, err
	}
	if rows && end-start == s.rowCount() || !rows && end-start == s.colCount() {
		return nil, invalid("You can't delete all the %s on the sheet.", map[bool]string{true: "rows", false: "columns"}[rows])
	}
	a := s.whole()
	if rows {
		a.r0, a.r1 = start, end
	} else {
		a.c0, a.c1 = start, end
	}
	if err := t.guard(s, a); err != nil {
		return nil, err
	}
	t.book.deleteLines(s, rows, start, end)
	return nil, nil
}

type moveDimensionRequest struct {
	Source           *dimensionRange `json:"source"`
	DestinationIndex int             `json:"destinationIndex"`
}

func (t *txn) moveDimension(req *moveDimensionRequest) (object, error) {
	s, rows, start, end, err := req.Source.lines(t.book)
	if err != nil {
		return nil, err
	}
	if end, err = inGrid(s, rows, start, end); err != nil {
		return nil, err
	}
	if _, err = inGrid(s, rows, max(req.DestinationIndex-1, 0), req.DestinationIndex); err != nil {
		return nil, err
	}
	t.book.moveLines(s, rows, start, end, req.DestinationIndex)
	return nil, nil
}

type appendDimensionRequest struct {
	SheetID   int64  `json:"sheetId"`
	Dimension string `json:"dimension"`
	Length    int    `json:"length"`
}

func (t *txn) appendDimension(req *appendDimensionRequest) (object, error) {
	s := t.book.sheetByID(req.SheetID)
	if s == nil {
		return nil, invalid("No grid with id: %d", req.SheetID)
	}
	if req.Length <= 0 {
		return nil, invalid("length must be greater than zero")
	}
	rows, cols := s.rowCount(), s.colCount()
	switch req.Dimension {
	case "ROWS":
		rows += req.Length
	case "COLUMNS":
		cols += req.Length
	default:
		return nil, invalid("No dimension specified.")
	}
	if err := t.roomFor(cellCount(rows, cols) - cellCount(s.rowCount(), s.colCount())); err != nil {
		return nil, err
	}
	s.grow(rows, cols)
	return nil, nil
}

type updateDimensionRequest struct {
	Range      *dimensionRange `json:"range"`
	Properties struct {
		HiddenByUser   bool `json:"hiddenByUser"`
		HiddenByFilter bool `json:"hiddenByFilter"` // read only, ignored
		PixelSize      int  `json:"pixelSize"`
	} `json:"properties"`
	Fields string `json:"fields"`
}

func (t *txn) updateDimensionProperties(req *updateDimensionRequest) (object, error) {
	m, err := updateMask(req.Fields, anySchema)
	if err != nil {
		return nil, err
	}
	s, rows, start, end, err := req.Range.lines(t.book)
	if err != nil {
		return nil, err
	}
	if end, err = inGrid(s, rows, start, end); err != nil {
		return nil, err
	}
	for i := start; i < end; i++ {
		var p *lineProps
		if rows {
			p = &s.editRow(i).lineProps
		} else {
			p = &s.editCol(i).lineProps
		}
		if m.wants("hiddenByUser") {
			p.hiddenByUser = req.Properties.HiddenByUser
		}
		if m.wants("pixelSize") && req.Properties.PixelSize > 0 {
			p.pixelSize = req.Properties.PixelSize
		}
	}
	return nil, nil
}

// dimensionGroup is a group of rows or columns; groups are stored and shown,
// with the depth that their nesting gives.
type dimensionGroup struct{ start, end, depth int }

func renderGroups(sheetID int64, dimension string, groups []dimensionGroup) []any {
	list := make([]any, len(groups))
	for i, g := range groups {
		list[i] = object{"range": dimensionObject(sheetID, dimension, g.start, g.end), "depth": g.depth}
	}
	return list
}

func (s *sheet) groups(rows bool) (list *[]dimensionGroup, dimension, control string) {
	if rows {
		return &s.rowGroups, "ROWS", "rowGroupControlAfter"
	}
	return &s.colGroups, "COLUMNS", "columnGroupControlAfter"
}

type dimensionGroupRequest struct {
	Range *dimensionRange `json:"range"`
}

func (t *txn) addDimensionGroup(req *dimensionGroupRequest) (object, error) {
	s, rows, start, end, err := req.Range.lines(t.book)
	if err != nil {
		return nil, err
	}
	list, dimension, control := s.groups(rows)
	g := dimensionGroup{start, end, 1}
	for _, other := range *list {
		if other.start <= start && other.end >= end {
			g.depth = max(g.depth, other.depth+1)
		}
	}
	*list = append(*list, g)
	props := object{}
	mergeInto(props, s.gridProps)
	props[control] = true // recorded: the property appears with the first group
	s.gridProps = props
	return object{"dimensionGroups": renderGroups(s.id, dimension, *list)}, nil
}

func (t *txn) deleteDimensionGroup(req *dimensionGroupRequest) (object, error) {
	s, rows, start, end, err := req.Range.lines(t.book)
	if err != nil {
		return nil, err
	}
	list, dimension, _ := s.groups(rows)
	i := slices.IndexFunc(*list, func(g dimensionGroup) bool { return g.start == start && g.end == end })
	if i < 0 {
		return nil, invalid("You can't delete a group that does not exist.")
	}
	*list = slices.Delete(*list, i, i+1)
	if len(*list) == 0 {
		return object{}, nil
	}
	return object{"dimensionGroups": renderGroups(s.id, dimension, *list)}, nil
}
