package sheetsemu

import "encoding/json"

// cellIn is the CellData message coming in, as raw fields.
type cellIn map[string]json.RawMessage

type rowIn struct {
	Values []cellIn `json:"values"`
}

type gridCoordinate struct {
	SheetID     int64 `json:"sheetId"`
	RowIndex    int   `json:"rowIndex"`
	ColumnIndex int   `json:"columnIndex"`
}

type updateCellsRequest struct {
	Rows   []rowIn         `json:"rows"`
	Fields string          `json:"fields"`
	Start  *gridCoordinate `json:"start"`
	Range  *gridRange      `json:"range"`
}

// updateCells writes rows of cells at a start or into a range; in a range the
// cells that no row covers lose the fields of the mask (documented).
func (t *txn) updateCells(req *updateCellsRequest) (object, error) {
	m, err := updateMask(req.Fields, cellSchema)
	if err != nil {
		return nil, err
	}
	s, a, err := t.cellsTarget(req)
	if err != nil {
		return nil, err
	}
	if err := t.guard(s, a); err != nil {
		return nil, err
	}
	for r := a.r0; r < a.r1; r++ {
		var values []cellIn
		if i := r - a.r0; i < len(req.Rows) {
			values = req.Rows[i].Values
		}
		end := a.c1
		if req.Range == nil {
			end = a.c0 + len(values)
		}
		for c := a.c0; c < end; c++ {
			var in cellIn
			if i := c - a.c0; i < len(values) {
				in = values[i]
			}
			if err := t.setCell(s, r, c, in, m); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// cellsTarget is the area that the request may write to.
func (t *txn) cellsTarget(req *updateCellsRequest) (*sheet, area, error) {
	h, w := len(req.Rows), 0
	for _, r := range req.Rows {
		w = max(w, len(r.Values))
	}
	switch {
	case (req.Start == nil) == (req.Range == nil):
		return nil, area{}, invalid("Must specify exactly one of start or range.")
	case req.Start != nil:
		s := t.book.sheetByID(req.Start.SheetID)
		if s == nil {
			return nil, area{}, invalid("No grid with id: %d", req.Start.SheetID)
		}
		a := area{req.Start.RowIndex, req.Start.ColumnIndex, req.Start.RowIndex + h, req.Start.ColumnIndex + w}
		if a.r0 < 0 || a.c0 < 0 || a.r1 > s.rowCount() || a.c1 > s.colCount() {
			return nil, area{}, exceeds(s, area{a.r0, a.c0, max(a.r1, a.r0+1), max(a.c1, a.c0+1)})
		}
		return s, a, nil
	}
	s, a, err := req.Range.resolve(t.book)
	switch {
	case err != nil:
		return nil, area{}, err
	case h > a.r1-a.r0:
		return nil, area{}, invalid("Attempting to write row: %d, beyond the last requested row of: %d", a.r1, a.r1-1)
	case w > a.c1-a.c0:
		return nil, area{}, invalid("Attempting to write column: %d, beyond the last requested column of: %d", a.c1, a.c1-1)
	}
	return s, a, nil
}

// settable are the fields of a cell that a write sets, in order.
var settable = []string{"userEnteredFormat", "userEnteredValue", "note", "dataValidation", "textFormatRuns", "pivotTable", "chipRuns"}

// setCell sets the fields of the mask, and clears those that the cell lacks.
func (t *txn) setCell(s *sheet, r, c int, in cellIn, m *mask) error {
	for _, field := range settable {
		below, ok := m.sub(field)
		if !ok {
			continue
		}
		raw := in[field]
		if string(raw) == "null" {
			raw = nil
		}
		if raw == nil && s.at(r, c).bare() {
			continue
		}
		if err := t.setField(s, r, c, field, raw, below); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) setField(s *sheet, r, c int, field string, raw json.RawMessage, m *mask) error {
	switch field {
	case "userEnteredValue":
		var v *extendedValue
		if err := decode(raw, &v, "user_entered_value"); err != nil {
			return err
		}
		return t.book.put(s, r, c, v.value())
	case "userEnteredFormat":
		var format object
		if err := decode(raw, &format, "user_entered_format"); err != nil {
			return err
		}
		cl := s.edit(r, c)
		cl.format = maskedSet(cl.format, normalFormat(format), m)
	case "note":
		var note string
		if err := decode(raw, &note, "note"); err != nil {
			return err
		}
		s.edit(r, c).note = note
	case "dataValidation":
		var rule object
		if err := decode(raw, &rule, "data_validation"); err != nil {
			return err
		}
		s.edit(r, c).validation = rule
	default:
		return t.setExtra(s, r, c, field, raw)
	}
	return nil
}

// setExtra keeps a field that has no effect here.
func (t *txn) setExtra(s *sheet, r, c int, field string, raw json.RawMessage) error {
	var v any
	if err := decode(raw, &v, field); err != nil {
		return err
	}
	cl := s.edit(r, c)
	extra := object{}
	mergeInto(extra, cl.extra)
	delete(extra, field)
	if v != nil {
		extra[field] = v
	}
	cl.extra = extra
	if len(extra) == 0 {
		cl.extra = nil
	}
	return nil
}

type repeatCellRequest struct {
	Range  *gridRange `json:"range"`
	Cell   cellIn     `json:"cell"`
	Fields string     `json:"fields"`
}

// repeatCell writes one cell to every cell of a range.
func (t *txn) repeatCell(req *repeatCellRequest) (object, error) {
	m, err := updateMask(req.Fields, cellSchema)
	if err != nil {
		return nil, err
	}
	s, a, err := t.target(req.Range)
	if err != nil {
		return nil, err
	}
	for r := a.r0; r < a.r1; r++ {
		for c := a.c0; c < a.c1; c++ {
			if err := t.setCell(s, r, c, req.Cell, m); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// target resolves a range that is to be written to.
func (t *txn) target(g *gridRange) (*sheet, area, error) {
	if g == nil {
		return nil, area{}, invalid("Range must be specified.")
	}
	s, a, err := g.resolve(t.book)
	if err == nil {
		err = t.guard(s, a)
	}
	return s, a, err
}

type setDataValidationRequest struct {
	Range   *gridRange `json:"range"`
	Rule    object     `json:"rule"`
	Exclude bool       `json:"filteredRowsIncluded"`
}

// setDataValidation stores the rule, or takes it away; writes through the API
// are not held to it (unknown at Google).
func (t *txn) setDataValidation(req *setDataValidationRequest) (object, error) {
	s, a, err := t.target(req.Range)
	if err != nil {
		return nil, err
	}
	for r := a.r0; r < a.r1; r++ {
		for c := a.c0; c < a.c1; c++ {
			if req.Rule != nil || s.at(r, c).validation != nil {
				s.edit(r, c).validation = req.Rule
			}
		}
	}
	return nil, nil
}
