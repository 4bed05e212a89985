package job

import (
	"errors"
	"fmt"
	"html"
	htmltemplate "html/template"
	"net/url"
	"strings"
	"unicode"
)

// kind is what a template makes.
type kind int

const (
	plainKind    kind = iota + 1 // subject, text and addresses: values as they are
	htmlKind                     // values are escaped by html/template
	markdownKind                 // values are escaped so that they are text in markdown
	urlKind                      // values are percent-encoded
)

// escapers name the function through which each kind sends what an action prints.
// html/template adds its own.
var escapers = map[kind]string{markdownKind: "markdown_", urlKind: "percent_"}

// templateFuncs are the functions that templates may call, and how many arguments
// each of them needs. Go's call is left out, since no value is a function.
var templateFuncs = map[string]int{
	"col": 1, "default": 2, "upper": 1, "lower": 1, "nl2br": 1, "raw": 1,
	"and": 1, "or": 1, "not": 1, "len": 1, "index": 1, "slice": 1, "print": 0, "printf": 1, "println": 0,
	"html": 1, "js": 1, "urlquery": 1, "eq": 2, "ne": 2, "lt": 2, "le": 2, "gt": 2, "ge": 2,
}

// rawText is a value that escapers let pass.
type rawText string

// funcsFor are our own functions for one kind of template. Values are any, since the
// result of one function may be the argument of another.
func funcsFor(k kind) map[string]any {
	funcs := map[string]any{
		"upper":   func(v any) string { return strings.ToUpper(asText(v)) },
		"lower":   func(v any) string { return strings.ToLower(asText(v)) },
		"default": orDefault,
		"printf":  printf,
		"raw":     func(v any) rawText { return rawText(asText(v)) },
		"nl2br":   asText,
	}
	switch k {
	case plainKind:
	case htmlKind:
		funcs["raw"] = func(v any) htmltemplate.HTML { return htmltemplate.HTML(asText(v)) } //nolint:gosec // a template asks for it by name
		funcs["nl2br"] = func(v any) htmltemplate.HTML {
			return htmltemplate.HTML(breakLines(html.EscapeString(asText(v)), "<br>\n")) //nolint:gosec // it is escaped
		}
	case markdownKind:
		funcs["nl2br"] = func(v any) rawText { return rawText(breakLines(escapeMarkdown(asText(v)), "\\\n")) }
		funcs[escapers[k]] = func(v any) string { return unlessRaw(v, escapeMarkdown) }
	case urlKind:
		funcs[escapers[k]] = func(v any) string { return unlessRaw(v, percentEncode) }
	}
	return funcs
}

func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

func unlessRaw(v any, escape func(string) string) string {
	if raw, ok := v.(rawText); ok {
		return string(raw)
	}
	return escape(asText(v))
}

// orDefault is {{.nickname | default "friend"}}: the fallback for a blank value.
func orDefault(fallback, value any) any {
	if strings.TrimSpace(asText(value)) == "" {
		return fallback
	}
	return value
}

// printf is Go's, but a verb that does not fit is an error: its "%!d(string=5)" must
// not reach a customer.
func printf(format string, args ...any) (string, error) {
	out := fmt.Sprintf(format, args...)
	expected := strings.Count(format, "%%!")
	for _, a := range args {
		expected += strings.Count(asText(a), "%!")
	}
	if strings.Count(out, "%!") > expected {
		return "", fmt.Errorf("printf %q does not fit its values: cells are texts, use %%s", format)
	}
	return out, nil
}

// maxText is the longest text that a template may make, in bytes.
const maxText = 10 << 20

// limitedText collects what a template makes, up to maxText.
type limitedText struct{ strings.Builder }

func (t *limitedText) Write(p []byte) (int, error) {
	if t.Len()+len(p) > maxText {
		return 0, errors.New("the text is longer than 10 MiB")
	}
	return t.Builder.Write(p)
}

// percentEncode makes a value fit for any part of a URL.
func percentEncode(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

func unixLines(s string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

func breakLines(s, lineBreak string) string {
	return strings.ReplaceAll(unixLines(s), "\n", lineBreak)
}

// escapeMarkdown makes a value mean itself in markdown: its punctuation is escaped,
// and blanks at the ends of its lines and blank lines go, since they would begin
// paragraphs or code.
func escapeMarkdown(s string) string {
	var lines []string
	for line := range strings.SplitSeq(unixLines(s), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var b strings.Builder
		for _, r := range line {
			if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n")
}
