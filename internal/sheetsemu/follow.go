package sheetsemu

import (
	"strings"
)

// followFormulas rewrites the references of all formulas after rows or
// columns of a tab moved. Only the tab's own name or none is looked at.
func (b *book) followFormulas(s *sheet, rows bool, to func(int) (int, bool)) {
	if !b.formulas {
		return
	}
	for _, here := range b.sheets {
		here.cellsIn(here.whole(), func(r, c int, cl *cell) {
			if cl.entered.kind != kindFormula {
				return
			}
			text := rewrite(cl.entered.text, func(title string, hasTitle bool, corner string) string {
				if hasTitle && !strings.EqualFold(title, s.title) || !hasTitle && here != s {
					return corner
				}
				return moveCorner(corner, rows, to)
			})
			if text != cl.entered.text {
				here.edit(r, c).entered.text = text
			}
		})
	}
}

// shiftFormula rewrites the references to rows when a formula moves by some
// rows itself, as a copy does.
func shiftFormula(formula string, by int) string {
	return rewrite(formula, func(_ string, _ bool, corner string) string {
		if strings.Contains(strings.TrimPrefix(corner, "$"), "$") {
			return corner // an absolute row
		}
		return moveCorner(corner, true, func(i int) (int, bool) { return i + by, i+by >= 0 })
	})
}

func moveCorner(corner string, rows bool, to func(int) (int, bool)) string {
	c, r, ok := parseCorner(strings.ReplaceAll(corner, "$", ""))
	if !ok || r == open || c == open {
		return corner
	}
	i := &c
	if rows {
		i = &r
	}
	var kept bool
	if *i, kept = to(*i); !kept {
		return "#REF!"
	}
	colMark, rowMark := "", ""
	if strings.HasPrefix(corner, "$") {
		colMark = "$"
	}
	if strings.LastIndex(corner, "$") > 0 {
		rowMark = "$"
	}
	return colMark + columnName(c) + rowMark + itoa(r+1)
}

// rewrite hands every corner (A1, $B$2) of a formula's references to change,
// with the title before it. Strings and function names are passed over.
func rewrite(formula string, change func(title string, hasTitle bool, corner string) string) string {
	var out strings.Builder
	for i := 0; i < len(formula); {
		end := i + 1
		switch ch := formula[i]; {
		case ch == '"':
			for end < len(formula) && formula[end] != '"' {
				end++
			}
			end = min(end+1, len(formula))
			out.WriteString(formula[i:end])
		case ch == '\'' || isWordByte(ch) && ch != ':':
			quoted := ch == '\''
			for end < len(formula) && (quoted || isWordByte(formula[end]) || formula[end] == '\'') {
				if formula[end] == '\'' {
					quoted = !quoted
				}
				end++
			}
			word := formula[i:end]
			if end < len(formula) && formula[end] == '(' {
				out.WriteString(word)
				break
			}
			out.WriteString(rewriteWord(word, change))
		default:
			out.WriteByte(ch)
		}
		i = end
	}
	return out.String()
}

func rewriteWord(word string, change func(string, bool, string) string) string {
	title, rest, hasTitle := "", word, false
	if i := strings.LastIndex(word, "!"); i >= 0 {
		title, rest, hasTitle = strings.ReplaceAll(strings.Trim(word[:i], "'"), "''", "'"), word[i+1:], true
	}
	from, to, two := strings.Cut(rest, ":")
	moved := change(title, hasTitle, from)
	if two {
		moved += ":" + change(title, hasTitle, to)
	}
	return word[:len(word)-len(rest)] + moved
}
