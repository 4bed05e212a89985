package sheetsemu

import (
	"math"
	"strings"
	"unicode/utf8"
)

var functions map[string]func(*evaluator, [][]result) result

func init() {
	functions = map[string]func(*evaluator, [][]result) result{
		"IF":          callIf,
		"IFERROR":     callIfError,
		"ISBLANK":     func(_ *evaluator, a [][]result) result { return truth(first(a, 0).value.kind == kindEmpty) },
		"NOT":         func(_ *evaluator, a [][]result) result { return truth(!isTrue(first(a, 0).value)) },
		"AND":         func(_ *evaluator, a [][]result) result { return truth(countTrue(a) == len(flat(a))) },
		"OR":          func(_ *evaluator, a [][]result) result { return truth(countTrue(a) > 0) },
		"SUM":         callSum,
		"COUNTA":      callCountA,
		"LEN":         onText(func(s string) value { return numberValue(float64(utf8.RuneCountInString(s))) }),
		"UPPER":       onText(func(s string) value { return textValue(strings.ToUpper(s)) }),
		"LOWER":       onText(func(s string) value { return textValue(strings.ToLower(s)) }),
		"TRIM":        onText(func(s string) value { return textValue(strings.Join(strings.Fields(s), " ")) }),
		"CONCATENATE": callConcatenate,
		"NA":          func(*evaluator, [][]result) result { return result{value: errorValue("N_A", "")} },
		"TODAY":       func(e *evaluator, _ [][]result) result { return e.moment("DATE") },
		"NOW":         func(e *evaluator, _ [][]result) result { return e.moment("DATE_TIME") },
	}
}

func truth(b bool) result { return result{value: boolValue(b)} }

func flat(args [][]result) []result {
	var out []result
	for _, a := range args {
		out = append(out, a...)
	}
	return out
}

func first(args [][]result, i int) result {
	if i < len(args) && len(args[i]) > 0 {
		return args[i][0]
	}
	return result{}
}

func isTrue(v value) bool {
	f, _ := toNumber(v)
	return f != 0
}

func countTrue(args [][]result) int {
	n := 0
	for _, r := range flat(args) {
		if isTrue(r.value) {
			n++
		}
	}
	return n
}

func callIf(_ *evaluator, args [][]result) result {
	test := first(args, 0)
	if test.value.kind == kindError {
		return test
	}
	if isTrue(test.value) {
		return first(args, 1)
	}
	if len(args) < 3 {
		return truth(false)
	}
	return first(args, 2)
}

func callIfError(_ *evaluator, args [][]result) result {
	if first(args, 0).value.kind == kindError {
		return first(args, 1)
	}
	return first(args, 0)
}

func callSum(_ *evaluator, args [][]result) result {
	total := 0.0
	for _, r := range flat(args) {
		switch r.value.kind {
		case kindNumber:
			total += r.value.num
		case kindError:
			return r
		case kindEmpty, kindText, kindBool, kindFormula:
		}
	}
	return result{value: numberValue(total)}
}

func callCountA(_ *evaluator, args [][]result) result {
	n := 0
	for _, r := range flat(args) {
		if r.value.kind != kindEmpty {
			n++
		}
	}
	return result{value: numberValue(float64(n))}
}

func callConcatenate(e *evaluator, args [][]result) result {
	joined := value{}
	for _, r := range flat(args) {
		joined = joinText(joined, e.text(r))
	}
	return result{value: joined}
}

func onText(f func(string) value) func(*evaluator, [][]result) result {
	return func(e *evaluator, args [][]result) result {
		v := e.text(first(args, 0))
		if v.kind == kindError {
			return result{value: v}
		}
		return result{value: f(v.text)}
	}
}

// moment is now in the spreadsheet's zone.
func (e *evaluator) moment(kind string) result {
	f := serial(e.now.In(zone(e.book.timeZone)))
	if kind == "DATE" {
		f = math.Floor(f)
	}
	return result{numberValue(f), object{"numberFormat": object{"type": kind}}}
}
