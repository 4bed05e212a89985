package sheetsemu

// rendering says how values are shown.
type rendering struct {
	values  string // FORMATTED_VALUE, UNFORMATTED_VALUE, FORMULA
	dates   string // SERIAL_NUMBER, FORMATTED_STRING
	columns bool
}

func (t *txn) rendering() rendering {
	q := t.call.Query
	return rendering{q.Get("valueRenderOption"), q.Get("dateTimeRenderOption"), q.Get("majorDimension") == "COLUMNS"}
}

func (t *txn) valuesGet() (object, error) {
	return t.readRange(t.call.Arg, t.rendering())
}

func (t *txn) valuesBatchGet() (object, error) {
	list := []any{}
	for _, r := range t.call.Query["ranges"] {
		o, err := t.readRange(r, t.rendering())
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	if len(list) == 0 {
		return nil, invalid("Must specify at least one range.")
	}
	return object{"spreadsheetId": t.book.id, "valueRanges": list}, nil
}

func (t *txn) readRange(text string, how rendering) (object, error) {
	s, a, err := t.book.lookup(text)
	if err != nil {
		return nil, err
	}
	return t.book.valueRange(s, a, how), nil
}

// valueRange writes the ValueRange message. Blank cells at the end of a row
// and blank rows at the end are left out, and without any value so is values
// itself (recorded).
func (b *book) valueRange(s *sheet, a area, how rendering) object {
	o := object{"range": rangeText(s, a), "majorDimension": "ROWS"}
	rows := b.valueRows(s, a, how)
	if how.columns {
		o["majorDimension"] = "COLUMNS"
		rows = transpose(rows)
	}
	for i := range rows {
		rows[i] = trimBlanks(rows[i])
	}
	for len(rows) > 0 && len(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	if len(rows) > 0 {
		o["values"] = rows
	}
	return o
}

func (b *book) valueRows(s *sheet, a area, how rendering) [][]any {
	last := a.r0 - 1
	s.cellsIn(a, func(r, _ int, c *cell) {
		if !c.blank() {
			last = r
		}
	})
	rows := make([][]any, last+1-a.r0)
	for r := range rows {
		cells := []any{}
		for c := a.c0; c < a.c1; c++ {
			cells = append(cells, b.rendered(s.at(a.r0+r, c), how))
		}
		rows[r] = cells
	}
	return rows
}

// trimBlanks drops nil at the end and writes "" for those in between.
func trimBlanks(cells []any) []any {
	end := len(cells)
	for end > 0 && cells[end-1] == nil {
		end--
	}
	out := make([]any, end)
	for i := range out {
		if out[i] = cells[i]; out[i] == nil {
			out[i] = ""
		}
	}
	return out
}

// rendered is one value, nil for a blank cell. A formula that came to "" is no
// blank cell.
func (b *book) rendered(c *cell, how rendering) any {
	if c.blank() {
		return nil
	}
	if how.values == "FORMULA" && c.entered.kind == kindFormula {
		return c.entered.text
	}
	plain := how.values == "UNFORMATTED_VALUE" || how.values == "FORMULA"
	switch v := c.effective; {
	case !plain, v.kind == kindError:
		return c.shown(b.locale)
	case v.kind == kindNumber && how.dates == "FORMATTED_STRING" && c.numberFormat().isDate():
		return c.shown(b.locale)
	case v.kind == kindNumber:
		return v.num
	case v.kind == kindBool:
		return v.truth
	default:
		return v.text
	}
}
