package sheetsemu

import (
	"math"
	"strconv"
	"strings"
)

type valueKind uint8

const (
	kindEmpty valueKind = iota
	kindText
	kindNumber
	kindBool
	kindFormula // text holds the formula with its =
	kindError   // text holds the type, detail the message
)

// value is what a cell holds or shows (ExtendedValue).
type value struct {
	kind   valueKind
	text   string
	detail string
	num    float64
	truth  bool
}

func textValue(s string) value {
	if s == "" {
		return value{}
	}
	return value{kind: kindText, text: s}
}

func numberValue(f float64) value { return value{kind: kindNumber, num: f} }
func boolValue(b bool) value      { return value{kind: kindBool, truth: b} }

func errorValue(kind, message string) value {
	return value{kind: kindError, text: kind, detail: message}
}

// shownErrors are the texts in the grid for the error types of the API.
var shownErrors = map[string]string{
	"ERROR": "#ERROR!", "NULL_VALUE": "#NULL!", "DIVIDE_BY_ZERO": "#DIV/0!", "VALUE": "#VALUE!",
	"REF": "#REF!", "NAME": "#NAME?", "NUM": "#NUM!", "N_A": "#N/A", "LOADING": "Loading...",
}

// extended writes the value as the ExtendedValue message, nil for a blank.
func (v value) extended() object {
	switch v.kind {
	case kindText:
		return object{"stringValue": v.text}
	case kindNumber:
		return object{"numberValue": v.num}
	case kindBool:
		return object{"boolValue": v.truth}
	case kindFormula:
		return object{"formulaValue": v.text}
	case kindError:
		o := object{"type": v.text}
		if v.detail != "" {
			o["message"] = v.detail
		}
		return object{"errorValue": o}
	case kindEmpty:
	}
	return nil
}

// extendedValue is the ExtendedValue message coming in.
type extendedValue struct {
	StringValue  *string  `json:"stringValue"`
	NumberValue  *float64 `json:"numberValue"`
	BoolValue    *bool    `json:"boolValue"`
	FormulaValue *string  `json:"formulaValue"`
}

// value takes the message over unparsed: a stringValue stays text whatever it
// looks like (documented).
func (e *extendedValue) value() value {
	switch {
	case e == nil:
		return value{}
	case e.FormulaValue != nil:
		if !strings.HasPrefix(*e.FormulaValue, "=") {
			return textValue(*e.FormulaValue)
		}
		return value{kind: kindFormula, text: *e.FormulaValue}
	case e.NumberValue != nil:
		return numberValue(*e.NumberValue)
	case e.BoolValue != nil:
		return boolValue(*e.BoolValue)
	case e.StringValue != nil:
		return textValue(*e.StringValue)
	}
	return value{}
}

// numberFormat is the NumberFormat that counts for display.
type numberFormat struct{ kind, pattern string }

func (f numberFormat) isDate() bool {
	return f.kind == "DATE" || f.kind == "DATE_TIME" || f.kind == "TIME"
}

func (f numberFormat) render() object {
	o := object{"type": f.kind}
	if f.pattern != "" {
		o["pattern"] = f.pattern
	}
	return o
}

// numberFormat reads the format that counts: the cell's own, else what a
// formula took from the cells that it refers to.
func (c *cell) numberFormat() numberFormat {
	for _, o := range []object{c.format, c.inherited} {
		if nf, ok := o["numberFormat"].(object); ok {
			kind, _ := nf["type"].(string)
			pattern, _ := nf["pattern"].(string)
			return numberFormat{kind, pattern}
		}
	}
	return numberFormat{}
}

// shown is the text in the grid (formattedValue).
func (c *cell) shown(locale string) string {
	v := c.effective
	switch v.kind {
	case kindText:
		return v.text
	case kindBool:
		return boolText(v.truth, locale)
	case kindError:
		return shownErrors[v.text]
	case kindNumber:
		return formatNumber(v.num, c.numberFormat(), locale)
	case kindEmpty, kindFormula:
	}
	return ""
}

// boolText: the words of other languages are known to exist, these are the
// ones that the emulator knows.
func boolText(b bool, locale string) string {
	words := [2]string{"FALSE", "TRUE"}
	switch language, _, _ := strings.Cut(locale, "_"); language {
	case "it":
		words = [2]string{"FALSO", "VERO"}
	case "de":
		words = [2]string{"FALSCH", "WAHR"}
	case "fr":
		words = [2]string{"FAUX", "VRAI"}
	case "es":
		words = [2]string{"FALSO", "VERDADERO"}
	}
	if b {
		return words[1]
	}
	return words[0]
}

// generalNumber is the automatic format: whole numbers in full up to 15
// digits, others to ten significant digits.
func generalNumber(f float64) string {
	abs := math.Abs(f)
	switch {
	case f == 0:
		return "0"
	case abs >= 1e15 || abs < 1e-6:
		return scientific(f, 5, true)
	case f == math.Trunc(f):
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', max(10, digitsBefore(abs)), 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func digitsBefore(abs float64) int { return int(math.Floor(math.Log10(abs))) + 1 }

// scientific writes 1.23E+05; trim drops zeros at the end of the mantissa.
func scientific(f float64, decimals int, trim bool) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', decimals, 64), "E")
	if trim && strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + "E" + exponent
}
