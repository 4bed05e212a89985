package sheetsemu

import (
	"encoding/json"
)

// valueRangeIn is the ValueRange message coming in.
type valueRangeIn struct {
	Range          string          `json:"range"`
	MajorDimension *string         `json:"majorDimension"`
	Values         json.RawMessage `json:"values"`
}

// matrix gives the values by rows.
func (v *valueRangeIn) matrix() ([][]any, error) {
	rows, err := decodeValues(v.Values)
	if err == nil && v.MajorDimension != nil && *v.MajorDimension == "COLUMNS" {
		rows = transpose(rows)
	}
	return rows, err
}

// written says what a write touched.
type written struct {
	sheet              *sheet
	area               area
	rows, cols, counts int
}

func (w written) render(b *book) object {
	o := object{"spreadsheetId": b.id, "updatedRange": rangeText(w.sheet, w.area)}
	if w.counts > 0 {
		o["updatedRows"], o["updatedColumns"], o["updatedCells"] = w.rows, w.cols, w.counts
	}
	return o
}

func checkInput(option string) error {
	switch option {
	case inputRaw, inputTyped:
		return nil
	case "", "INPUT_VALUE_OPTION_UNSPECIFIED":
		return invalid("'valueInputOption' is required but not specified")
	}
	return invalid("Invalid value at 'value_input_option' (type.googleapis.com/google.apps.sheets.v4.ValueInputOption), %q", option)
}

func (t *txn) valuesUpdate() (object, error) {
	var v valueRangeIn
	if err := decode(t.call.Body, &v, "data"); err != nil {
		return nil, err
	}
	q := t.call.Query
	if _, err := v.matrix(); err != nil {
		return nil, err
	}
	if err := checkInput(q.Get("valueInputOption")); err != nil {
		return nil, err
	}
	if v.Range != "" {
		if err := t.sameRange(t.call.Arg, v.Range); err != nil {
			return nil, err
		}
	}
	w, err := t.writeRange(t.call.Arg, &v, q.Get("valueInputOption"))
	if err != nil {
		return nil, err
	}
	t.book.recalc(t.now)
	o := w.render(t.book)
	if truthy(q.Get("includeValuesInResponse")) {
		o["updatedData"] = t.book.valueRange(w.sheet, w.area, t.responseRendering())
	}
	return o, nil
}

func (t *txn) responseRendering() rendering {
	q := t.call.Query
	return rendering{values: q.Get("responseValueRenderOption"), dates: q.Get("responseDateTimeRenderOption")}
}

// sameRange wants the range of the path and that of the body to be one (probed).
func (t *txn) sameRange(path, body string) error {
	s, span, err := t.book.lookupSpan(path)
	if err != nil {
		return err
	}
	s2, span2, err := t.book.lookupSpan(body)
	if err != nil {
		return err
	}
	a, a2 := span.resolve(s.rowCount(), s.colCount()), span2.resolve(s2.rowCount(), s2.colCount())
	if s == s2 && a == a2 {
		return nil
	}
	return invalid("Request range[%s] does not match value's range[%s]", rangeText(s, a), rangeText(s2, a2))
}

// writeRange writes values at a range. One cell is only an origin; a larger
// range bounds the values (probed).
func (t *txn) writeRange(text string, v *valueRangeIn, input string) (written, error) {
	rows, err := v.matrix()
	if err != nil {
		return written{}, err
	}
	s, a, err := t.book.lookup(text)
	if err != nil {
		return written{}, err
	}
	h, w := size(rows)
	if h == 0 || w == 0 {
		return written{sheet: s, area: a}, nil
	}
	target := area{a.r0, a.c0, a.r0 + h, a.c0 + w}
	switch {
	case a.single():
		if target.r1 > s.rowCount() || target.c1 > s.colCount() {
			return written{}, exceeds(s, target)
		}
	case target.c1 > a.c1:
		return written{}, invalid("Requested writing within range [%s], but tried writing to column [%s]", rangeText(s, a), columnName(a.c1))
	case target.r1 > a.r1:
		return written{}, invalid("Requested writing within range [%s], but tried writing to row [%d]", rangeText(s, a), a.r1+1)
	}
	return t.writeCells(s, target, rows, input)
}

func size(rows [][]any) (h, w int) {
	for _, r := range rows {
		w = max(w, len(r))
	}
	return len(rows), w
}

func (t *txn) writeCells(s *sheet, a area, rows [][]any, input string) (written, error) {
	if err := t.guard(s, a); err != nil {
		return written{}, err
	}
	out := written{sheet: s, area: a, rows: a.r1 - a.r0, cols: a.c1 - a.c0}
	for i, r := range rows {
		for j, v := range r {
			counted, err := t.putJSON(s, a.r0+i, a.c0+j, v, input)
			if _, nested := v.([]any); nested || isObject(v) {
				return written{}, prefixed(err, "Invalid values[%d][%d]: ", i, j)
			}
			if err != nil {
				return written{}, err
			}
			if counted {
				out.counts++
			}
		}
	}
	return out, nil
}

func isObject(v any) bool {
	_, ok := v.(object)
	return ok
}

func (t *txn) valuesBatchUpdate() (object, error) {
	var req struct {
		ValueInputOption             string         `json:"valueInputOption"`
		Data                         []valueRangeIn `json:"data"`
		IncludeValuesInResponse      bool           `json:"includeValuesInResponse"`
		ResponseValueRenderOption    string         `json:"responseValueRenderOption"`
		ResponseDateTimeRenderOption string         `json:"responseDateTimeRenderOption"`
	}
	if err := decode(t.call.Body, &req, ""); err != nil {
		return nil, err
	}
	if err := checkInput(req.ValueInputOption); err != nil {
		return nil, err
	}
	var all []written
	for i := range req.Data {
		w, err := t.writeRange(req.Data[i].Range, &req.Data[i], req.ValueInputOption)
		if err != nil {
			return nil, prefixed(err, "Invalid data[%d]: ", i)
		}
		all = append(all, w)
	}
	t.book.recalc(t.now)
	o := t.book.totals(all)
	if req.IncludeValuesInResponse {
		how := rendering{values: req.ResponseValueRenderOption, dates: req.ResponseDateTimeRenderOption}
		for i, w := range all {
			o["responses"].([]any)[i].(object)["updatedData"] = t.book.valueRange(w.sheet, w.area, how)
		}
	}
	return o, nil
}

// totals sums up what several writes touched: rows and columns count once
// (recorded).
func (b *book) totals(all []written) object {
	type line struct {
		s *sheet
		n int
	}
	rows, cols, sheets, cells := map[line]bool{}, map[line]bool{}, map[*sheet]bool{}, 0
	responses := []any{}
	for _, w := range all {
		responses = append(responses, w.render(b))
		if w.counts == 0 {
			continue
		}
		for r := w.area.r0; r < w.area.r1; r++ {
			rows[line{w.sheet, r}] = true
		}
		for c := w.area.c0; c < w.area.c1; c++ {
			cols[line{w.sheet, c}] = true
		}
		sheets[w.sheet] = true
		cells += w.counts
	}
	o := object{"spreadsheetId": b.id}
	if cells > 0 {
		o["totalUpdatedRows"], o["totalUpdatedColumns"] = len(rows), len(cols)
		o["totalUpdatedCells"], o["totalUpdatedSheets"] = cells, len(sheets)
	}
	if len(responses) > 0 {
		o["responses"] = responses
	}
	return o
}

func (t *txn) valuesClear() (object, error) {
	text, err := t.clearRange(t.call.Arg)
	if err != nil {
		return nil, err
	}
	t.book.recalc(t.now)
	return object{"spreadsheetId": t.book.id, "clearedRange": text}, nil
}

func (t *txn) valuesBatchClear() (object, error) {
	var req struct {
		Ranges []string `json:"ranges"`
	}
	if err := decode(t.call.Body, &req, ""); err != nil {
		return nil, err
	}
	cleared := []any{}
	for i, r := range req.Ranges {
		text, err := t.clearRange(r)
		if err != nil {
			return nil, prefixed(err, "Invalid range[%d]: ", i)
		}
		cleared = append(cleared, text)
	}
	t.book.recalc(t.now)
	return object{"spreadsheetId": t.book.id, "clearedRanges": cleared}, nil
}

// clearRange empties cells; formats, notes and validation stay (documented).
func (t *txn) clearRange(text string) (string, error) {
	s, a, err := t.book.lookup(text)
	if err != nil {
		return "", err
	}
	if err := t.guard(s, a); err != nil {
		return "", err
	}
	s.cellsIn(a, func(r, c int, cl *cell) {
		if !cl.blank() {
			_ = t.book.put(s, r, c, value{}) // a blank is never too long
		}
	})
	return rangeText(s, a), nil
}
