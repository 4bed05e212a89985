package sheetsemu

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// typed is what became of a text that was typed into a cell.
type typed struct {
	value  value
	format numberFormat // set when the text itself brings a format
}

// parser parses text as if typed (USER_ENTERED).
type parser struct {
	locale string
	now    time.Time // for dates without a year
}

// parse follows the web interface: '0123 is text, =A1 a formula, 007 the
// number 7, 1-2 a date, $100.15 a number with a currency format (probed);
// what parses as nothing else is text.
func (p parser) parse(s string) typed {
	if text, ok := strings.CutPrefix(s, "'"); ok {
		return typed{value: textValue(text)}
	}
	if strings.HasPrefix(s, "=") && len(s) > 1 {
		return typed{value: value{kind: kindFormula, text: s}}
	}
	trimmed := strings.TrimSpace(s)
	switch strings.ToUpper(trimmed) {
	case "":
		return typed{value: textValue(s)}
	case "TRUE", boolText(true, p.locale):
		return typed{value: boolValue(true)}
	case "FALSE", boolText(false, p.locale):
		return typed{value: boolValue(false)}
	}
	if t, ok := parseNumber(trimmed); ok {
		return t
	}
	if t, ok := p.parseDate(trimmed); ok {
		return t
	}
	for kind, shown := range shownErrors {
		if trimmed == shown && kind != "LOADING" {
			return typed{value: errorValue(kind, "")}
		}
	}
	return typed{value: textValue(s)}
}

// lazily compiles a pattern when it is first needed: every command of a program that
// holds this package would wait for it.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	plainNumber   = lazily(`^[+-]?(\d+\.?\d*|\.\d+)$`)
	groupedNumber = lazily(`^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$`)
	powerNumber   = lazily(`^[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+$`)
)

func parseNumber(s string) (typed, bool) {
	if rest, ok := strings.CutSuffix(s, "%"); ok {
		f, _, ok := number(strings.TrimSpace(rest))
		return typed{numberValue(f / 100), numberFormat{"PERCENT", decimals("0%", "0.00%", rest)}}, ok
	}
	sign, unsigned := "", s
	if strings.HasPrefix(s, "-") {
		sign, unsigned = "-", s[1:]
	}
	if rest, ok := strings.CutPrefix(unsigned, "$"); ok && !strings.HasPrefix(rest, "-") {
		f, _, ok := number(sign + strings.TrimSpace(rest))
		return typed{numberValue(f), numberFormat{"CURRENCY", decimals(`"$"#,##0`, `"$"#,##0.00`, rest)}}, ok
	}
	f, format, ok := number(s)
	return typed{numberValue(f), format}, ok
}

func decimals(without, with, text string) string {
	if strings.Contains(text, ".") {
		return with
	}
	return without
}

func number(s string) (float64, numberFormat, bool) {
	var format numberFormat
	switch {
	case plainNumber().MatchString(s):
	case groupedNumber().MatchString(s):
		format = numberFormat{"NUMBER", decimals("#,##0", "#,##0.00", s)}
	case powerNumber().MatchString(s):
		format = numberFormat{"SCIENTIFIC", "0.00E+00"}
	default:
		return 0, format, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return f, format, err == nil
}

var (
	isoDate   = lazily(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$`)
	localDate = lazily(`^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})$`)
	shortDate = lazily(`^(\d{1,2})[-/](\d{1,2})$`)
	wordDate  = lazily(`^(?:(\d{1,2})[ -]([A-Za-z]{3,9})|([A-Za-z]{3,9}) (\d{1,2}),?)[ -](\d{4})$`)
	clock     = lazily(`^(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp][Mm]))?$`)
)

// parseDate reads a date, a time, or a date and a time with a blank between
// them. A T between them, or a zone, makes it text.
func (p parser) parseDate(s string) (typed, bool) {
	if f, pattern, ok := parseClock(s); ok {
		return typed{numberValue(f), numberFormat{"TIME", pattern}}, true
	}
	if day, pattern, ok := p.parseDay(s); ok {
		return typed{numberValue(day), numberFormat{"DATE", pattern}}, true
	}
	for i := 1; i < len(s)-1; i++ {
		if s[i] != ' ' {
			continue
		}
		day, dayPattern, ok := p.parseDay(strings.TrimSpace(s[:i]))
		if !ok {
			continue
		}
		if f, timePattern, ok := parseClock(strings.TrimSpace(s[i:])); ok {
			return typed{numberValue(day + f), numberFormat{"DATE_TIME", dayPattern + " " + timePattern}}, true
		}
	}
	return typed{}, false
}

func (p parser) parseDay(s string) (float64, string, bool) {
	if m := isoDate().FindStringSubmatch(s); m != nil {
		f, ok := dayNumber(atoi(m[1]), atoi(m[2]), atoi(m[3]))
		return f, "yyyy-mm-dd", ok
	}
	if m := localDate().FindStringSubmatch(s); m != nil {
		return p.ordered(atoi(m[1]), atoi(m[2]), fullYear(m[3]))
	}
	if m := shortDate().FindStringSubmatch(s); m != nil {
		return p.ordered(atoi(m[1]), atoi(m[2]), p.now.Year())
	}
	if m := wordDate().FindStringSubmatch(s); m != nil {
		month, ok := monthNumber(m[2] + m[3])
		if !ok {
			return 0, "", false
		}
		f, ok := dayNumber(atoi(m[5]), month, atoi(m[1]+m[4]))
		if m[1] != "" {
			return f, "d mmm yyyy", ok
		}
		return f, "mmm d, yyyy", ok
	}
	return 0, "", false
}

func (p parser) ordered(a, b, year int) (float64, string, bool) {
	if dayFirst(p.locale) {
		f, ok := dayNumber(year, b, a)
		return f, "dd/mm/yyyy", ok
	}
	f, ok := dayNumber(year, a, b)
	return f, "m/d/yyyy", ok
}

func dayNumber(year, month, day int) (float64, bool) {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Day() != day || int(t.Month()) != month || year < 1 {
		return 0, false
	}
	return serial(t), true
}

func monthNumber(name string) (int, bool) {
	for m := time.January; m <= time.December; m++ {
		if full := m.String(); strings.EqualFold(name, full) || strings.EqualFold(name, full[:3]) {
			return int(m), true
		}
	}
	return 0, false
}

func parseClock(s string) (float64, string, bool) {
	m := clock().FindStringSubmatch(s)
	if m == nil {
		return 0, "", false
	}
	hour, minute, second := atoi(m[1]), atoi(m[2]), atoi(m[3])
	pattern := "h:mm"
	if m[3] != "" {
		pattern = "h:mm:ss"
	}
	if half := strings.ToLower(m[4]); half != "" {
		if hour < 1 || hour > 12 {
			return 0, "", false
		}
		hour %= 12
		if half == "pm" {
			hour += 12
		}
		pattern += " am/pm"
	}
	if hour > 23 || minute > 59 || second > 59 {
		return 0, "", false
	}
	return float64(hour*3600+minute*60+second) / secondsPerDay, pattern, true
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // only digits come here, or nothing
	return n
}

// fullYear reads 29 as 2029 and 30 as 1930, as spreadsheets do.
func fullYear(s string) int {
	n := atoi(s)
	switch {
	case len(s) > 2:
		return n
	case n < 30:
		return 2000 + n
	}
	return 1900 + n
}
