package job

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// rowFault is an error of a condition that names the column and what was found. It
// is told from the errors of expr, which have to be explained first.
type rowFault struct{ text string }

func (f *rowFault) Error() string { return f.text }

func faultf(format string, args ...any) error { return &rowFault{fmt.Sprintf(format, args...)} }

// describe says what a value is, for error texts.
func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "nothing"
	case string:
		if x == "" {
			return "blank"
		}
		return fmt.Sprintf("the text %q", x)
	case bool:
		return "the checkbox " + strings.ToUpper(strconv.FormatBool(x))
	case time.Time:
		return "the date " + dateText(x)
	}
	if n, ok := asNumber(v); ok {
		return "the number " + strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprintf("%v", v)
}

// named is a value with the column that it comes from.
func named(label string, v any) string {
	if label == "" {
		return describe(v)
	}
	return fmt.Sprintf("%s (%s)", label, describe(v))
}

func dateText(t time.Time) string {
	if t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}

func asNumber(v any) (float64, bool) {
	x := reflect.ValueOf(v)
	switch {
	case !x.IsValid():
		return 0, false
	case x.Type() == durationType:
		return 0, false
	case x.CanInt():
		return float64(x.Int()), true
	case x.CanUint():
		return float64(x.Uint()), true
	case x.CanFloat():
		return x.Float(), true
	}
	return 0, false
}

// order compares two values of one kind; ok is false when they are of different
// kinds, sorted when one can be before the other.
func order(l, r any) (result int, sorted, ok bool) {
	if a, isNumber := asNumber(l); isNumber {
		b, same := asNumber(r)
		return cmp.Compare(a, b), true, same
	}
	switch a := l.(type) {
	case string:
		b, same := r.(string)
		return cmp.Compare(a, b), true, same
	case time.Time:
		b, same := r.(time.Time)
		return a.Compare(b), true, same
	case time.Duration:
		b, same := r.(time.Duration)
		return cmp.Compare(a, b), true, same
	case bool:
		b, same := r.(bool)
		if a == b {
			return 0, false, same
		}
		return 1, false, same
	}
	return 1, false, false
}

// compare is every comparison of a condition.
func compare(op, leftLabel string, l any, rightLabel string, r any) (bool, error) {
	result, sorted, ok := order(l, r)
	if !ok && (l == "" || r == "" || l == nil || r == nil) {
		return op == "!=", nil
	}
	if !ok {
		return false, faultf("where cannot compare %s with %s%s", named(leftLabel, l), named(rightLabel, r), hint(leftLabel, l, r))
	}
	switch op {
	case "==":
		return result == 0, nil
	case "!=":
		return result != 0, nil
	}
	if !sorted {
		return false, faultf("where cannot sort %s and %s: use == or !=", named(leftLabel, l), named(rightLabel, r))
	}
	if l == "" || r == "" {
		// A blank cell is before no other text either, unless both are blank.
		return (op == "<=" || op == ">=") && l == r, nil
	}
	switch op {
	case "<":
		return result < 0, nil
	case "<=":
		return result <= 0, nil
	case ">":
		return result > 0, nil
	}
	return result >= 0, nil
}

// hint says how a comparison of two kinds may be written.
func hint(label string, l, r any) string {
	if label == "" {
		return ""
	}
	_, lNumber := asNumber(l)
	_, rNumber := asNumber(r)
	_, lText := l.(string)
	_, rText := r.(string)
	_, lBool := l.(bool)
	_, rTime := r.(time.Time)
	switch {
	case lNumber && rText:
		return fmt.Sprintf(": write text(%s), or leave out the quotes", label)
	case lText && rNumber:
		return fmt.Sprintf(": write number(%s), or make the cell a number", label)
	case lBool:
		return fmt.Sprintf(": a checkbox is compared with true or false, or write %s alone", label)
	case lText && rTime:
		return ": make the cell a date"
	case rText:
		return ": write date(\"2026-01-31\") for a date"
	}
	return ""
}

// truth is a value as true or false.
func truth(label string, v any) (bool, error) {
	switch x := v.(type) {
	case bool:
		return x, nil
	case nil:
		return false, nil
	case string:
		switch strings.ToUpper(strings.TrimSpace(x)) {
		case "TRUE":
			return true, nil
		case "", "FALSE", "NO":
			return false, nil
		}
	}
	if label == "" {
		return false, faultf("where needs true or false, found %s", describe(v))
	}
	return false, faultf("where needs a checkbox, found %s: compare it, as in %s == …", named(label, v), label)
}

// within reports whether a value is in a list. A list of other kinds alone is a fault.
func within(label string, v, list any) (bool, error) {
	items := reflect.ValueOf(list)
	if !items.IsValid() || items.Kind() != reflect.Slice && items.Kind() != reflect.Array {
		return false, faultf("where looks for %s in %s: expected a list such as [\"a\", \"b\"]", named(label, v), describe(list))
	}
	alike := items.Len() == 0 || v == ""
	for i := range items.Len() {
		result, _, ok := order(v, items.Index(i).Interface())
		if ok && result == 0 {
			return true, nil
		}
		alike = alike || ok
	}
	if !alike {
		first := items.Index(0).Interface()
		return false, faultf("where cannot look for %s in a list with %s%s", named(label, v), describe(first), hint(label, v, first))
	}
	return false, nil
}

func toText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case bool:
		return strings.ToUpper(strconv.FormatBool(x))
	case time.Time:
		return dateText(x)
	}
	if n, ok := asNumber(v); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func toNumber(v any) (float64, error) {
	if n, ok := asNumber(v); ok {
		return n, nil
	}
	if s, ok := v.(string); ok {
		if n, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
			return n, nil
		}
	}
	return 0, faultf("where needs a number, found %s", describe(v))
}

// dateLayouts are the forms of ISO 8601 that date reads without a zone.
var dateLayouts = []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"}

func parseDate(v any, zone *time.Location) (time.Time, error) {
	if t, ok := v.(time.Time); ok {
		return t, nil
	}
	s, _ := v.(string)
	for _, layout := range dateLayouts {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Time{}, faultf("where needs a date such as 2026-01-31 or 2026-01-31 09:00, found %s", describe(v))
}

// The functions below give the ones above the form that expr calls. Their arguments
// were counted by it, and their types checked where they are not any.

func textArg(args []any, i int) string {
	s, _ := args[i].(string)
	return s
}

func compareCall(a ...any) (any, error) {
	return compare(textArg(a, 0), textArg(a, 1), a[2], textArg(a, 3), a[4])
}
func withinCall(a ...any) (any, error)   { return within(textArg(a, 0), a[1], a[2]) }
func truthCall(a ...any) (any, error)    { return truth(textArg(a, 0), a[1]) }
func blankCall(a ...any) (any, error)    { return strings.TrimSpace(toText(a[0])) == "", nil }
func toTextCall(a ...any) (any, error)   { return toText(a[0]), nil }
func toNumberCall(a ...any) (any, error) { return toNumber(a[0]) }

func mustTextCall(a ...any) (any, error) {
	if s, ok := a[1].(string); ok {
		return s, nil
	}
	label := textArg(a, 0)
	if label == "" {
		return "", faultf("where needs a text, found %s", describe(a[1]))
	}
	return "", faultf("where needs a text, found %s: write text(%s)", named(label, a[1]), label)
}

func dateCall(zone *time.Location) func(...any) (any, error) {
	return func(a ...any) (any, error) {
		return parseDate(a[0], zone)
	}
}
