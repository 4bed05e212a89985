package sheetsemu

// valuesAppend writes after the table that lies in the range.
func (t *txn) valuesAppend() (object, error) {
	var v valueRangeIn
	if err := decode(t.call.Body, &v, "data"); err != nil {
		return nil, err
	}
	q := t.call.Query
	if err := checkInput(q.Get("valueInputOption")); err != nil {
		return nil, err
	}
	rows, err := v.matrix()
	if err != nil {
		return nil, err
	}
	s, a, err := t.book.lookup(t.call.Arg)
	if err != nil {
		return nil, err
	}
	o := object{"spreadsheetId": t.book.id}
	at := area{r0: a.r0, c0: a.c0}
	if table, ok := s.table(a); ok {
		o["tableRange"] = rangeText(s, table)
		at = area{r0: table.r1, c0: table.c0}
	}
	h, w := size(rows)
	at.r1, at.c1 = at.r0+h, at.c0+w
	if q.Get("insertDataOption") == "INSERT_ROWS" && at.r0 < s.rowCount() {
		t.book.insertLines(s, true, at.r0, h)
	}
	s.grow(at.r1, at.c1)
	written, err := t.writeCells(s, at, rows, q.Get("valueInputOption"))
	if err != nil {
		return nil, err
	}
	t.book.recalc(t.now)
	updates := written.render(t.book)
	if truthy(q.Get("includeValuesInResponse")) {
		updates["updatedData"] = t.book.valueRange(s, at, t.responseRendering())
	}
	o["updates"] = updates
	return o, nil
}

// table finds the last block of filled cells that touches the area: from its
// last filled cell the block grows to all neighbours, diagonal ones included.
func (s *sheet) table(in area) (area, bool) {
	block, found := area{}, false
	s.cellsIn(in, func(r, c int, cl *cell) {
		if !cl.blank() && (!found || r > block.r0) {
			block, found = area{r, c, r + 1, c + 1}, true
		}
	})
	for grown := found; grown; {
		around := area{max(block.r0-1, 0), max(block.c0-1, 0), block.r1 + 1, block.c1 + 1}
		grown = false
		s.cellsIn(around, func(r, c int, cl *cell) {
			if cl.blank() || block.contains(r, c) {
				return
			}
			block = area{min(block.r0, r), min(block.c0, c), max(block.r1, r+1), max(block.c1, c+1)}
			grown = true
		})
	}
	return block, found
}

// grow makes the grid at least so large.
func (s *sheet) grow(rows, cols int) {
	for len(s.rows) < rows {
		s.rows = append(s.rows, nil)
	}
	for len(s.cols) < cols {
		s.cols = append(s.cols, nil)
	}
}
