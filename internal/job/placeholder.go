package job

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// People of mail merge write {{First name}}; Go's template language would read that
// as a function First with an argument. mergePlaceholders turns such actions into
// calls of mergeFunc before the text is parsed. Whether an action is a placeholder
// is decided by its form alone, never by the header, so that a template means the
// same for every sheet:
//
//   - keywords and functions of the language win, as they are spelt: {{end}}, {{len}};
//   - what begins with one of . $ ( " ` ' is the language;
//   - words with a field or variable among them are the language;
//   - anything else is a placeholder, alone ({{First name}}) or before a pipe
//     ({{First name | upper}}).

// mergeFunc is the function that placeholders become. It is taken out again before a
// template is executed.
const mergeFunc = "merge_"

// mergePlaceholders rewrites the placeholders of a template and keeps its lines.
func mergePlaceholders(source string) string {
	var b strings.Builder
	for {
		i := strings.Index(source, "{{")
		if i < 0 {
			b.WriteString(source)
			return b.String()
		}
		b.WriteString(source[:i])
		source = source[i:]
		end := actionEnd(source)
		if rewritten, n, ok := placeholder(source); ok {
			b.WriteString(rewritten)
			end = n
		} else {
			b.WriteString(source[:end])
		}
		source = source[end:]
	}
}

// placeholder rewrites the action at the start of source if it is a placeholder, and
// answers its length.
func placeholder(source string) (rewritten string, length int, ok bool) {
	inner, _, found := strings.Cut(source[2:], "}}")
	if !found {
		return "", 0, false
	}
	length = len(inner) + 4
	left, right := "{{", "}}"
	if len(inner) > 1 && inner[0] == '-' && isSpace(inner[1]) {
		left, inner = "{{- ", inner[1:]
	}
	if n := len(inner); n > 1 && inner[n-1] == '-' && isSpace(inner[n-2]) {
		right, inner = " -}}", inner[:n-1]
	}
	name, pipe := inner, ""
	if before, after, piped := strings.Cut(inner, "|"); piped && isFunction(firstWord(after)) {
		name, pipe = before, " |"+after
	}
	name = strings.TrimSpace(name)
	if !isPlaceholder(name) {
		return "", 0, false
	}
	lines := strings.Repeat("\n", strings.Count(inner, "\n")-strings.Count(pipe, "\n"))
	return left + mergeFunc + " " + strconv.Quote(name) + lines + pipe + right, length, true
}

// isPlaceholder reports whether the text of an action is no piece of Go's template
// language.
func isPlaceholder(text string) bool {
	if text == "" || isOperand(text) || strings.HasPrefix(text, "/*") {
		return false
	}
	words := strings.Fields(text)
	switch words[0] {
	case "if", "with", "range", "template", "define", "block":
		return false
	case "else":
		return len(words) > 1 && words[1] != "if" && words[1] != "with"
	case "end", "break", "continue":
		return len(words) > 1
	}
	if !isFunction(words[0]) && !isConstant(words[0]) {
		// {{uper .name}} is a misspelt function.
		return !slices.ContainsFunc(words[1:], isField)
	}
	// {{print name}}: no argument of a function is a plain word, so this is a header
	// that happens to begin like a function.
	plain := false
	for _, w := range words[1:] {
		if isOperand(w) || strings.ContainsAny(w, "()|=") {
			return false
		}
		plain = plain || !isFunction(w) && !isConstant(w)
	}
	return plain
}

// isOperand reports whether a word begins like a field, variable, text or group.
func isOperand(word string) bool { return strings.ContainsRune(".$(\"`'", rune(word[0])) }

// isField reports whether a word is a field or a variable.
func isField(word string) bool {
	second, _ := utf8.DecodeRuneInString(word[1:])
	return (word[0] == '.' || word[0] == '$') && (second == '_' || second == '.' || unicode.IsLetter(second))
}

func isConstant(word string) bool {
	if word == "nil" || word == "true" || word == "false" {
		return true
	}
	_, err := strconv.ParseFloat(word, 64)
	return err == nil && strings.ContainsAny(word[:1], "+-0123456789")
}

func isFunction(word string) bool { _, ok := templateFuncs[word]; return ok }

func firstWord(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == '|' || r == ' ' || r == '\t' || r == '\r' || r == '\n' })
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// actionEnd is the length of the action at the start of source: to its first }}
// outside of quotes, or to the end of its comment.
func actionEnd(source string) int {
	body := strings.TrimLeft(strings.TrimPrefix(source[2:], "-"), " \t\r\n")
	if strings.HasPrefix(body, "/*") {
		if i := strings.Index(source, "*/"); i >= 0 {
			return i + 2
		}
		return len(source)
	}
	var quote byte
	for i := 2; i < len(source); i++ {
		switch c := source[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`' || c == '\'':
			quote = c
		case c == '}' && strings.HasPrefix(source[i:], "}}"):
			return i + 2
		}
	}
	return len(source)
}
