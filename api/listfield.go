package api

import (
	"strconv"
	"strings"
)

// problemType is the media type of problem documents (RFC 9457, section 6.1).
const problemType = "application/problem+json"

// namesProblems reports whether Accept fields name the media type of problem
// documents, with a weight above 0 (RFC 9110, section 12.5.1). Ranges such as */*
// do not name it: n8n sends one and parses application/json alone.
func namesProblems(fields []string) bool {
	for _, field := range fields {
		for _, item := range split(field, ',') {
			parts := split(item, ';')
			if strings.EqualFold(parts[0], problemType) {
				return weight(parts[1:]) > 0
			}
		}
	}
	return false
}

// weight is the q parameter among those of a media range; 1 when there is none
// (RFC 9110, section 12.4.2).
func weight(params []string) float64 {
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return 0
		}
		return q
	}
	return 1
}

// preferences reads Prefer fields (RFC 7240, section 2): preferences by name in
// lower case, the first of a name. Parameters are left out, since no preference
// that is understood here has any.
func preferences(fields []string) map[string]string {
	prefs := map[string]string{}
	for _, field := range fields {
		for _, item := range split(field, ',') {
			name, value, _ := strings.Cut(split(item, ';')[0], "=")
			name = strings.ToLower(strings.TrimSpace(name))
			if _, seen := prefs[name]; !seen && name != "" {
				prefs[name] = unquote(strings.TrimSpace(value))
			}
		}
	}
	return prefs
}

// split divides a field at a separator that is in no quoted string (RFC 9110,
// section 5.6.4), and trims the parts. There is always at least one.
func split(field string, sep byte) []string {
	var parts []string
	quoted, from := false, 0
	for i := 0; i < len(field); i++ {
		switch {
		case quoted && field[i] == '\\':
			i++
		case field[i] == '"':
			quoted = !quoted
		case field[i] == sep && !quoted:
			parts = append(parts, strings.TrimSpace(field[from:i]))
			from = i + 1
		}
	}
	return append(parts, strings.TrimSpace(field[from:]))
}

// unquote is the content of a quoted string, or the text itself when it is none.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	var b strings.Builder
	for inner := s[1 : len(s)-1]; inner != ""; inner = inner[1:] {
		if inner[0] == '\\' && len(inner) > 1 {
			inner = inner[1:]
		}
		b.WriteByte(inner[0])
	}
	return b.String()
}
