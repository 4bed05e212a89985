package sheetsemu

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// recalc works out every formula of the draft.
func (b *book) recalc(now time.Time) {
	if !b.formulas {
		return
	}
	b.formulas = false
	e := &evaluator{book: b, now: now, done: map[*cell]result{}, busy: map[*cell]bool{}}
	for _, s := range b.sheets {
		s.cellsIn(s.whole(), func(r, c int, cl *cell) {
			if cl.entered.kind != kindFormula {
				return
			}
			b.formulas = true
			if cl.pinned {
				return
			}
			res := e.cell(s, r, c)
			if cl.effective != res.value || !sameFormat(cl.inherited, res.format) {
				edited := s.edit(r, c)
				edited.effective, edited.inherited = res.value, res.format
			}
		})
	}
}

func sameFormat(a, b object) bool {
	x, y := cell{format: a}, cell{format: b}
	return x.numberFormat() == y.numberFormat()
}

// result is what a formula came to, with the number format that goes with it.
type result struct {
	value  value
	format object
}

// evaluator computes the formulas of one state.
type evaluator struct {
	book *book
	now  time.Time
	done map[*cell]result
	busy map[*cell]bool // being evaluated: meeting one again is a circle
}

func (e *evaluator) cell(s *sheet, r, c int) result {
	cl := s.at(r, c)
	if cl.entered.kind != kindFormula || cl.pinned {
		return result{cl.effective, numberFormatOf(cl)}
	}
	if res, ok := e.done[cl]; ok {
		return res
	}
	if e.busy[cl] {
		return result{value: errorValue("REF", "Circular dependency detected.")}
	}
	e.busy[cl] = true
	p := &formulaParser{e: e, sheet: s, text: cl.entered.text[1:]}
	res := p.whole()
	delete(e.busy, cl)
	e.done[cl] = res
	return res
}

// numberFormatOf is the part of a format that a reference hands on.
func numberFormatOf(c *cell) object {
	if nf := c.numberFormat(); nf.kind != "" {
		return object{"numberFormat": nf.render()}
	}
	return nil
}

// formulaParser evaluates while it parses: comparisons, &, + -, * /, ^,
// unary minus, %, literals, references and a few functions. It is meant for
// sheets in demonstrations, not for spreadsheets in general.
type formulaParser struct {
	e     *evaluator
	sheet *sheet
	text  string
	pos   int
	bad   bool
}

func (p *formulaParser) whole() result {
	res := p.comparison()
	p.space()
	if p.bad || p.pos < len(p.text) {
		return result{value: errorValue("ERROR", "Formula parse error.")}
	}
	return res
}

func (p *formulaParser) space() {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\n') {
		p.pos++
	}
}

func (p *formulaParser) take(tokens ...string) string {
	p.space()
	for _, t := range tokens {
		if strings.HasPrefix(p.text[p.pos:], t) {
			p.pos += len(t)
			return t
		}
	}
	return ""
}

func (p *formulaParser) comparison() result {
	left := p.concat()
	for {
		op := p.take("<>", "<=", ">=", "=", "<", ">")
		if op == "" {
			return left
		}
		left = result{value: compareValues(left.value, p.concat().value, op)}
	}
}

func (p *formulaParser) concat() result {
	left := p.sum()
	for p.take("&") != "" {
		right := p.sum()
		left = result{value: joinText(p.e.text(left), p.e.text(right))}
	}
	return left
}

func (p *formulaParser) sum() result {
	left := p.product()
	for {
		op := p.take("+", "-")
		if op == "" {
			return left
		}
		right := p.product()
		format := left.format
		if format == nil {
			format = right.format
		}
		left = result{arithmetic(op, left.value, right.value), format}
	}
}

func (p *formulaParser) product() result {
	left := p.unary()
	for {
		op := p.take("*", "/", "^")
		if op == "" {
			return left
		}
		left = result{value: arithmetic(op, left.value, p.unary().value)}
	}
}

func (p *formulaParser) unary() result {
	if p.take("-") != "" {
		res := p.unary()
		return result{arithmetic("-", numberValue(0), res.value), res.format}
	}
	p.take("+")
	res := p.primary()
	for p.take("%") != "" {
		res = result{value: arithmetic("/", res.value, numberValue(100))}
	}
	return res
}

func arithmetic(op string, a, b value) value {
	x, bad := toNumber(a)
	if bad.kind == kindError {
		return bad
	}
	y, bad := toNumber(b)
	if bad.kind == kindError {
		return bad
	}
	switch op {
	case "+":
		return numberValue(x + y)
	case "-":
		return numberValue(x - y)
	case "*":
		return numberValue(x * y)
	case "^":
		return numberValue(math.Pow(x, y))
	}
	if y == 0 {
		return errorValue("DIVIDE_BY_ZERO", "Function DIVIDE parameter 2 cannot be zero.")
	}
	return numberValue(x / y)
}

func toNumber(v value) (float64, value) {
	switch v.kind {
	case kindNumber:
		return v.num, value{}
	case kindBool:
		if v.truth {
			return 1, value{}
		}
		return 0, value{}
	case kindText:
		if f, err := strconv.ParseFloat(v.text, 64); err == nil {
			return f, value{}
		}
		return 0, errorValue("VALUE", "'"+v.text+"' is a text and cannot be coerced to a number.")
	case kindError:
		return 0, v
	case kindEmpty, kindFormula:
	}
	return 0, value{}
}

// text is the value as & sees it: as shown.
func (e *evaluator) text(r result) value {
	if r.value.kind == kindError {
		return r.value
	}
	c := cell{effective: r.value, inherited: r.format}
	return textValue(c.shown(e.book.locale))
}

func joinText(a, b value) value {
	if a.kind == kindError {
		return a
	}
	if b.kind == kindError {
		return b
	}
	return textValue(a.text + b.text)
}

func compareValues(a, b value, op string) value {
	if a.kind == kindError {
		return a
	}
	if b.kind == kindError {
		return b
	}
	order := compareOrder(a, b)
	return boolValue(map[string]bool{
		"=": order == 0, "<>": order != 0, "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0,
	}[op])
}
