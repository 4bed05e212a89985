package sheetsemu

import (
	"strconv"
	"strings"
)

// defaultPatterns stand in for a format that has a type and no pattern.
var defaultPatterns = map[string]string{
	"NUMBER": "#,##0.00", "PERCENT": "0.00%", "CURRENCY": `"$"#,##0.00`, "SCIENTIFIC": "0.00E+00",
	"DATE": "m/d/yyyy", "TIME": "h:mm:ss am/pm", "DATE_TIME": "m/d/yyyy h:mm:ss",
}

// formatNumber shows a number in its format. Numbers keep the English
// separators in every locale; dates without a pattern of their own follow the
// order of the locale.
func formatNumber(f float64, nf numberFormat, locale string) string {
	pattern := nf.pattern
	if pattern == "" {
		pattern = defaultPatterns[nf.kind]
		if nf.isDate() && dayFirst(locale) {
			pattern = strings.Replace(pattern, "m/d/yyyy", "dd/mm/yyyy", 1)
		}
	}
	switch {
	case nf.kind == "" || nf.kind == "TEXT" || pattern == "" || strings.EqualFold(pattern, "general") || pattern == "@":
		return generalNumber(f)
	case nf.isDate():
		return formatDate(f, pattern)
	}
	return formatByPattern(f, pattern)
}

var (
	currency  = lazily(`\[\$([^\]-]*)[^\]]*\]`) // [$€-407]
	bracketed = lazily(`\[[^\]]*\]`)            // [red], conditions
)

// formatByPattern knows one section of literals around one number: digits
// with 0 and #, thousands, decimals, percent, exponent.
func formatByPattern(f float64, pattern string) string {
	pattern, _, _ = strings.Cut(pattern, ";")
	pattern = bracketed().ReplaceAllString(currency().ReplaceAllString(pattern, `"$1"`), "")
	prefix, digits, suffix := splitPattern(pattern)
	if digits == "" {
		return prefix
	}
	negative := f < 0
	if negative {
		f = -f
	}
	if strings.Contains(suffix, "%") {
		f *= 100
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	text := ""
	if i := strings.IndexAny(fraction, "Ee"); i >= 0 {
		text = scientific(f, i, false)
	} else {
		text = strconv.FormatFloat(f, 'f', len(fraction), 64)
		text = trimOptional(text, fraction)
		text = group(padWhole(text, strings.Count(whole, "0")), strings.Contains(whole, ","))
	}
	if negative {
		return "-" + prefix + text + suffix
	}
	return prefix + text + suffix
}

// splitPattern takes the literal text off both sides of the digits.
func splitPattern(pattern string) (prefix, digits, suffix string) {
	var parts [3]strings.Builder
	at, quoted := 0, false
	for i := 0; i < len(pattern); i++ {
		ch := pattern[i]
		switch {
		case ch == '"':
			quoted = !quoted
			continue
		case ch == '\\' && i+1 < len(pattern):
			i++
			ch = pattern[i]
			if at == 1 {
				at = 2
			}
		case !quoted && strings.IndexByte("0#,.?", ch) >= 0 && at < 2,
			!quoted && at == 1 && strings.IndexByte("Ee+-", ch) >= 0:
			at = 1
		case at == 1:
			at = 2
		}
		parts[at].WriteByte(ch)
	}
	return parts[0].String(), parts[1].String(), parts[2].String()
}

// trimOptional drops zeros under the # of a fraction.
func trimOptional(text, fraction string) string {
	optional := len(fraction) - len(strings.TrimRight(fraction, "#"))
	for ; optional > 0 && strings.HasSuffix(text, "0"); optional-- {
		text = text[:len(text)-1]
	}
	return strings.TrimSuffix(text, ".")
}

func padWhole(text string, n int) string {
	whole, rest, dot := strings.Cut(text, ".")
	for len(whole) < n {
		whole = "0" + whole
	}
	if !dot {
		return whole
	}
	return whole + "." + rest
}

func group(text string, on bool) string {
	if !on {
		return text
	}
	whole, rest, dot := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if !dot {
		return whole
	}
	return whole + "." + rest
}
