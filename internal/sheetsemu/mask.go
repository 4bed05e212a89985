package sheetsemu

import (
	"maps"
	"slices"
	"strings"
)

// mask is a parsed fields parameter. A nil mask and one without parts take
// everything below them.
type mask struct{ parts map[string]*mask }

// all says whether everything below belongs to the answer.
func (m *mask) all() bool { return m == nil || len(m.parts) == 0 || m.parts["*"] != nil }

// sub is the mask below a field and whether the field is wanted at all.
func (m *mask) sub(field string) (*mask, bool) {
	if m == nil || len(m.parts) == 0 {
		return nil, true
	}
	if p, ok := m.parts[field]; ok {
		return p, true
	}
	if star, ok := m.parts["*"]; ok {
		return star, true
	}
	return nil, false
}

// wants follows a path of fields.
func (m *mask) wants(path ...string) bool {
	for _, field := range path {
		next, ok := m.sub(field)
		if !ok {
			return false
		}
		m = next
	}
	return true
}

// parseMask reads a,b/c,d(e,f.g),*; slashes and dots both step down.
func parseMask(text string) (*mask, bool) {
	p := &maskParser{text: text}
	m := p.list()
	return m, !p.bad && p.pos == len(text)
}

type maskParser struct {
	text string
	pos  int
	bad  bool
}

func (p *maskParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *maskParser) list() *mask {
	m := &mask{parts: map[string]*mask{}}
	for {
		p.item(m)
		if p.bad || p.peek() != ',' {
			return m
		}
		p.pos++
	}
}

func (p *maskParser) item(into *mask) {
	end := p.pos
	for end < len(p.text) && strings.IndexByte(",()/.", p.text[end]) < 0 {
		end++
	}
	name := camel(strings.TrimSpace(p.text[p.pos:end]))
	if name == "" {
		p.bad = true
		return
	}
	p.pos = end
	below := &mask{}
	switch p.peek() {
	case '/', '.':
		p.pos++
		below.parts = map[string]*mask{}
		p.item(below)
	case '(':
		p.pos++
		below = p.list()
		if p.peek() != ')' {
			p.bad = true
			return
		}
		p.pos++
	}
	into.add(name, below)
}

// add joins two masks for one field; the wider one wins.
func (m *mask) add(name string, below *mask) {
	old, ok := m.parts[name]
	if !ok {
		m.parts[name] = below
		return
	}
	if len(old.parts) == 0 || len(below.parts) == 0 {
		m.parts[name] = &mask{}
		return
	}
	for n, b := range below.parts {
		old.add(n, b)
	}
}

// camel accepts the proto spelling of a field too.
func camel(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// apply cuts a reply down to the mask. Objects that lose everything stay, as
// empty objects (recorded).
func (m *mask) apply(v any) any {
	if m == nil || len(m.parts) == 0 {
		return v
	}
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			return v
		}
		out := object{}
		for k, child := range v {
			if below, ok := m.sub(k); ok {
				out[k] = below.apply(child)
			}
		}
		return out
	case []object:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = m.apply(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = m.apply(e)
		}
		return out
	}
	return v
}

// check finds the first path of the mask that the schema does not have.
func (m *mask) check(schema *mask, path string) (bad string) {
	if m == nil || len(schema.parts) == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(m.parts)) {
		below := m.parts[name]
		if name == "*" {
			continue
		}
		full := name
		if path != "" {
			full = path + "." + name
		}
		known, ok := schema.parts[name]
		if !ok {
			return full
		}
		if bad := below.check(known, full); bad != "" {
			return bad
		}
	}
	return ""
}
