package sheetsemu

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// primary is a literal, a reference, a function or something in parentheses.
func (p *formulaParser) primary() result {
	p.space()
	if p.take("(") != "" {
		res := p.comparison()
		if p.take(")") == "" {
			p.bad = true
		}
		return res
	}
	if p.pos >= len(p.text) {
		p.bad = true
		return result{}
	}
	switch ch := p.text[p.pos]; {
	case ch == '"':
		return p.stringLiteral()
	case ch >= '0' && ch <= '9' || ch == '.':
		return p.numberLiteral()
	}
	return p.word()
}

func (p *formulaParser) stringLiteral() result {
	var out strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		if p.text[p.pos] != '"' {
			out.WriteByte(p.text[p.pos])
			continue
		}
		if p.pos+1 < len(p.text) && p.text[p.pos+1] == '"' {
			out.WriteByte('"')
			p.pos++
			continue
		}
		p.pos++
		return result{value: textValue(out.String())}
	}
	p.bad = true
	return result{}
}

func (p *formulaParser) numberLiteral() result {
	start := p.pos
	for p.pos < len(p.text) && (p.text[p.pos] >= '0' && p.text[p.pos] <= '9' || p.text[p.pos] == '.') {
		p.pos++
	}
	f, err := strconv.ParseFloat(p.text[start:p.pos], 64)
	p.bad = p.bad || err != nil
	return result{value: numberValue(f)}
}

// word reads a name: TRUE, a function, or a reference.
func (p *formulaParser) word() result {
	start := p.pos
	quoted := false
	for p.pos < len(p.text) {
		ch := p.text[p.pos]
		if ch == '\'' {
			quoted = !quoted
		} else if !quoted && !isWordByte(ch) {
			break
		}
		p.pos++
	}
	name := p.text[start:p.pos]
	switch upper := strings.ToUpper(name); {
	case name == "":
		p.bad = true
		return result{}
	case upper == "TRUE" || upper == "FALSE":
		return result{value: boolValue(upper == "TRUE")}
	case p.pos < len(p.text) && p.text[p.pos] == '(':
		return p.call(upper)
	}
	cells := p.e.refer(p.sheet, name)
	if len(cells) == 0 {
		return result{value: errorValue("NAME", "Unknown range name: '"+strings.ToUpper(name)+"'.")}
	}
	return cells[0]
}

func isWordByte(ch byte) bool {
	return isLetter(ch) || ch >= '0' && ch <= '9' || ch == '$' || ch == ':' || ch == '!' || ch == '_' || ch == '.' || ch >= utf8.RuneSelf
}

// refer gives the cells of a reference, row by row.
func (e *evaluator) refer(here *sheet, text string) []result {
	s := here
	var a area
	if span, ok := parseCells(text); ok {
		a = span.resolve(s.rowCount(), s.colCount())
	} else {
		found, span, err := e.book.lookupSpan(text)
		if err != nil {
			return nil
		}
		s, a = found, span.resolve(found.rowCount(), found.colCount())
	}
	if a.single() {
		return []result{e.cell(s, a.r0, a.c0)}
	}
	var out []result
	s.cellsIn(a, func(r, c int, _ *cell) { out = append(out, e.cell(s, r, c)) })
	if out == nil {
		out = []result{{}}
	}
	return out
}

// call evaluates the arguments and then the function. The arguments of IF
// that don't count are evaluated too, which shows nowhere.
func (p *formulaParser) call(name string) result {
	p.pos++ // the parenthesis
	var args [][]result
	for p.take(")") == "" {
		if len(args) > 0 && p.take(",", ";") == "" {
			p.bad = true
			return result{}
		}
		args = append(args, p.argument())
		if p.bad {
			return result{}
		}
	}
	if f, ok := functions[name]; ok {
		return f(p.e, args)
	}
	return result{value: errorValue("NAME", "Unknown function: '"+name+"'.")}
}

// argument is a range for the functions that take one, else one value.
func (p *formulaParser) argument() []result {
	p.space()
	start := p.pos
	end := start
	for end < len(p.text) && isWordByte(p.text[end]) {
		end++
	}
	if strings.Contains(p.text[start:end], ":") && (end == len(p.text) || p.text[end] != '(') {
		p.pos = end
		return p.e.refer(p.sheet, p.text[start:end])
	}
	return []result{p.comparison()}
}
