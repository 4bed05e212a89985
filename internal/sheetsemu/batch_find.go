package sheetsemu

import (
	"regexp"
	"strings"
)

type findReplaceRequest struct {
	Find            string     `json:"find"`
	Replacement     string     `json:"replacement"`
	MatchCase       bool       `json:"matchCase"`
	MatchEntireCell bool       `json:"matchEntireCell"`
	SearchByRegex   bool       `json:"searchByRegex"`
	IncludeFormulas bool       `json:"includeFormulas"`
	Range           *gridRange `json:"range"`
	SheetID         *int64     `json:"sheetId"`
	AllSheets       bool       `json:"allSheets"`
}

// findReplace replaces text as the dialog of the web interface does. It looks
// at what cells show; a formula is looked at only with includeFormulas, and
// then at its own text. Blank cells never match. The new text is parsed as if
// typed, so that a number stays one.
func (t *txn) findReplace(req *findReplaceRequest) (object, error) {
	targets, err := t.findScope(req)
	if err != nil {
		return nil, err
	}
	find, err := req.pattern()
	if err != nil || find == nil {
		return object{}, err
	}
	found := &findCounts{}
	for _, w := range targets {
		if err := t.replaceIn(w, find, req, found); err != nil {
			return nil, err
		}
	}
	return found.render(), nil
}

// findScope wants exactly one of the three scopes (claimed).
func (t *txn) findScope(req *findReplaceRequest) (windows, error) {
	scopes := 0
	for _, given := range []bool{req.Range != nil, req.SheetID != nil, req.AllSheets} {
		if given {
			scopes++
		}
	}
	switch {
	case scopes != 1:
		return nil, invalid("Must specify exactly one of range, sheetId or allSheets.")
	case req.Range != nil:
		s, a, err := req.Range.resolve(t.book)
		return windows{{s, a}}, err
	case req.SheetID != nil:
		s := t.book.sheetByID(*req.SheetID)
		if s == nil {
			return nil, invalid("No grid with id: %d", *req.SheetID)
		}
		return windows{{s, s.whole()}}, nil
	}
	var all windows
	for _, s := range t.book.sheets {
		all = append(all, window{s, s.whole()})
	}
	return all, nil
}

// pattern is what is searched for, nil when nothing is. Java's expressions are
// taken for Go's, which lack look-around and back references.
func (req *findReplaceRequest) pattern() (*regexp.Regexp, error) {
	if req.Find == "" {
		return nil, nil
	}
	text := req.Find
	if !req.SearchByRegex {
		text = regexp.QuoteMeta(text)
	}
	if req.MatchEntireCell {
		text = `\A(?:` + text + `)\z`
	}
	if !req.MatchCase {
		text = `(?i)` + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, invalid("Invalid regular expression: %s", req.Find)
	}
	return re, nil
}

var groupReference = lazily(`\$(\d)`)

// template is the replacement in Go's syntax.
func (req *findReplaceRequest) template() string {
	if !req.SearchByRegex {
		return strings.ReplaceAll(req.Replacement, "$", "$$")
	}
	return groupReference().ReplaceAllString(req.Replacement, "$${$1}")
}

func (t *txn) replaceIn(w window, find *regexp.Regexp, req *findReplaceRequest, found *findCounts) error {
	type hit struct{ r, c int }
	var hits []hit
	w.sheet.cellsIn(w.area, func(r, c int, cl *cell) {
		if find.MatchString(t.searched(cl, req)) && !cl.blank() {
			hits = append(hits, hit{r, c})
		}
	})
	row, template, before := -1, req.template(), found.rows
	for _, h := range hits {
		cl := w.sheet.at(h.r, h.c)
		text := t.searched(cl, req)
		if text == "" {
			continue
		}
		if err := t.guard(w.sheet, area{h.r, h.c, h.r + 1, h.c + 1}); err != nil {
			return err
		}
		found.count(cl.entered.kind == kindFormula, len(find.FindAllStringIndex(text, -1)))
		if h.r != row {
			row = h.r
			found.rows++
		}
		if err := t.book.putTyped(t.parser(), w.sheet, h.r, h.c, find.ReplaceAllString(text, template)); err != nil {
			return err
		}
	}
	if found.rows > before {
		found.sheets++
	}
	return nil
}

// searched is the text of a cell that is looked at, "" for none.
func (t *txn) searched(c *cell, req *findReplaceRequest) string {
	if c.entered.kind != kindFormula {
		return c.shown(t.book.locale)
	}
	if req.IncludeFormulas {
		return c.entered.text
	}
	return ""
}

type findCounts struct{ values, formulas, rows, sheets, occurrences int }

func (f *findCounts) count(formula bool, occurrences int) {
	f.occurrences += occurrences
	if formula {
		f.formulas++
		return
	}
	f.values++
}

// render leaves out the counters that are 0 (claimed by several users).
func (f *findCounts) render() object {
	o := object{}
	for name, n := range map[string]int{
		"valuesChanged": f.values, "formulasChanged": f.formulas, "rowsChanged": f.rows,
		"sheetsChanged": f.sheets, "occurrencesChanged": f.occurrences,
	} {
		if n > 0 {
			o[name] = n
		}
	}
	return o
}
