package sheetsemu

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
)

// longestCell is how many characters a cell can hold (probed, inclusive).
const longestCell = 50_000

const (
	inputRaw   = "RAW"
	inputTyped = "USER_ENTERED"
)

func (t *txn) parser() parser {
	return parser{locale: t.book.locale, now: t.now.In(zone(t.book.timeZone))}
}

// put gives a cell a value; its format stays.
func (b *book) put(s *sheet, r, c int, v value) error {
	if len(utf16.Encode([]rune(v.text))) > longestCell {
		return invalid("Your input contains more than the maximum of %d characters in a single cell.", longestCell)
	}
	if v.kind == kindEmpty && s.at(r, c).bare() {
		return nil
	}
	cl := s.edit(r, c)
	cl.entered, cl.effective, cl.pinned, cl.inherited = v, v, false, nil
	if v.kind == kindFormula {
		cl.effective = value{}
		b.formulas = true
	}
	return nil
}

// putTyped parses a text as if typed. A cell whose format is plain text keeps
// what was typed as text; a format that the text brings yields to one that the
// cell has.
func (b *book) putTyped(p parser, s *sheet, r, c int, text string) error {
	nf := s.at(r, c).numberFormat()
	if nf.kind == "TEXT" {
		return b.put(s, r, c, textValue(text))
	}
	in := p.parse(text)
	if err := b.put(s, r, c, in.value); err != nil {
		return err
	}
	if in.format.kind != "" && nf.kind == "" {
		cl := s.edit(r, c)
		format := object{}
		mergeInto(format, cl.format)
		format["numberFormat"] = in.format.render()
		cl.format = format
	}
	return nil
}

// putJSON writes a value of a values call: null skips the cell, "" empties it
// (documented), RAW keeps a text as it is.
func (t *txn) putJSON(s *sheet, r, c int, v any, input string) (counted bool, err error) {
	switch v := v.(type) {
	case nil:
		return false, nil
	case string:
		if input == inputTyped {
			return true, t.book.putTyped(t.parser(), s, r, c, v)
		}
		return true, t.book.put(s, r, c, textValue(v))
	case bool:
		return true, t.book.put(s, r, c, boolValue(v))
	case float64:
		return true, t.book.put(s, r, c, numberValue(v))
	}
	return false, invalid("%s", structText(v))
}

func structText(v any) string {
	if _, isList := v.([]any); isList {
		return "list_value {\n}\n"
	}
	return "struct_value {\n}\n"
}

// guard refuses a write by somebody who may not edit the area. The owner of
// the spreadsheet always may (probed).
func (t *txn) guard(s *sheet, a area) error {
	if t.user == t.book.creator {
		return nil
	}
	for i := range s.protected {
		p := &s.protected[i]
		if !p.warningOnly && p.covers(t.book, s, a) && !p.allows(t.user) {
			return invalid("You are trying to edit a protected cell or object. " +
				"Please contact the spreadsheet owner to remove protection if you need to edit.")
		}
	}
	return nil
}

// decodeValues decodes the values of a ValueRange; what is not a list of lists is
// refused in Google's words (recorded).
func decodeValues(raw json.RawMessage) ([][]any, error) {
	var outer any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &outer); err != nil {
			return nil, invalid("Invalid JSON payload received. %v", err)
		}
	}
	if outer == nil {
		return nil, nil
	}
	list, ok := outer.([]any)
	if !ok {
		return nil, notAList("data.values", outer)
	}
	out := make([][]any, len(list))
	for i, v := range list {
		if out[i], ok = v.([]any); !ok {
			return nil, notAList("data.values["+strconv.Itoa(i)+"]", v)
		}
	}
	return out, nil
}

func notAList(field string, v any) *apiError {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("?")
	}
	msg := fmt.Sprintf("Invalid value at '%s' (type.googleapis.com/google.protobuf.ListValue), %s", field, text)
	return invalidField(msg, field, msg)
}

// transpose turns a list of columns into a list of rows.
func transpose(in [][]any) [][]any {
	rows := 0
	for _, col := range in {
		rows = max(rows, len(col))
	}
	out := make([][]any, rows)
	for r := range out {
		out[r] = make([]any, len(in))
		for c, col := range in {
			if r < len(col) {
				out[r][c] = col[r]
			}
		}
	}
	return out
}
