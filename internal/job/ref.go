package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// ref is a column that a condition or a template names.
type ref struct {
	text   string // as it is written: {{First name}}, .first_name, col("Visit status")
	name   string // a header or an identifier
	header bool   // name is a header
	at     string // where it is written: message.subject line 1
	node   ast.Node
}

// key names the value of the column among those of a row. Headers and identifiers
// are kept apart, since one's name may be the other's.
func (r ref) key() string {
	if r.header {
		return "=" + Normalize(r.name)
	}
	return r.name
}

// labelOfKey is what a key stands for, as people write it.
func labelOfKey(key string) string {
	if name, ok := strings.CutPrefix(key, "="); ok {
		return fmt.Sprintf("col(%q)", name)
	}
	return key
}

// find returns the column that a reference means. A name that is no header may be an
// identifier: {{first_name}} is understood. Errors are for people.
func (h *header) find(r ref) (int, error) {
	ident := Identifier(r.name)
	var cols []int
	if r.header {
		cols = h.named(Normalize(r.name))
	}
	if len(cols) == 0 {
		cols = h.identified(ident)
	}
	switch len(cols) {
	case 1:
		return cols[0], nil
	case 0:
		return -1, fmt.Errorf("%s: %s is no column%s", r.at, r.text, h.suggest(r))
	}
	return -1, fmt.Errorf("%s: %s could mean the columns %s, rename one of them", r.at, r.text, h.places(cols))
}

// suggest is a clause with what a reference may have meant, in its own manner.
func (h *header) suggest(r ref) string {
	if r.header {
		best := nearest(Normalize(r.name), h.names)
		if i := slices.Index(h.names, best); best != "" && i >= 0 {
			return fmt.Sprintf(", did you mean %q?", strings.TrimSpace(h.shown[i]))
		}
		return ""
	}
	return didYouMean(r.name, h.idents)
}
