package job

import (
	"encoding"
	"errors"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document parses a file into its one mapping and collects its anchors. It answers
// nil after a problem, and for a file without content.
func (r *reader) document(data []byte) ast.Node {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var at place
		text := err.Error()
		if e := yaml.Error(nil); errors.As(err, &e) {
			at, text = placeOf(e.GetToken()), e.GetMessage()
		}
		r.add(at, "", "this is no YAML: %s%s", text, yamlAdvice(data, at))
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case body == nil:
			body = doc.Body
		default:
			r.add(placeOf(doc.Body.GetToken()), "", "expected one YAML document, found a second one, remove the line ---")
		}
	}
	if body != nil {
		ast.Walk(anchorFinder(r.anchors), body)
	}
	return body
}

// yamlAdvice explains the commonest ways to break YAML.
func yamlAdvice(data []byte, at place) string {
	lines := strings.Split(string(data), "\n")
	switch {
	case at.line < 1 || at.line > len(lines):
		return ""
	case strings.Contains(lines[at.line-1], "\t"):
		return " (indent with blanks, not with tabs)"
	case strings.Contains(lines[at.line-1], "${"):
		return ` (put "${NAME}" in quotes where it stands between { and })`
	}
	return ` (check the indentation; put a value in quotes that begins with { or *, or holds ": ")`
}

type anchorFinder map[string]ast.Node

func (f anchorFinder) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		f[a.Name.GetToken().Value] = a.Value
	}
	return f
}

// entry is one key of a mapping.
type entry struct {
	key   string
	at    place
	value ast.Node
}

// entries lists the keys of a mapping, merged ones (<<) last, each of them once.
func (r *reader) entries(path string, n ast.Node) []entry {
	m, ok := n.(ast.MapNode)
	if !ok {
		hint := ""
		if kindOf(n) == nothing {
			hint = ", give some or leave the key out"
		}
		r.add(placeOf(n.GetToken()), path, "expected keys with values, found %s%s", kindOf(n), hint)
		return nil
	}
	var own, merged []entry
	first := map[string]place{}
	for it := m.MapRange(); it.Next(); {
		key, value := it.Key(), it.Value()
		if key.IsMergeKey() {
			merged = append(merged, r.merged(path, value)...)
			continue
		}
		e := entry{key.GetToken().Value, placeOf(key.GetToken()), value}
		if _, ok := key.(ast.ScalarNode); !ok {
			r.add(e.at, path, "expected a plain key")
			continue
		}
		if before, ok := first[e.key]; ok {
			r.add(e.at, path, "%s is given twice, the first time in line %d, remove one", e.key, before.line)
			continue
		}
		first[e.key] = e.at
		own = append(own, e)
	}
	for _, e := range merged {
		if _, ok := first[e.key]; !ok {
			first[e.key] = e.at
			own = append(own, e)
		}
	}
	return own
}

// merged lists the entries that a merge key takes over from one or several mappings.
func (r *reader) merged(path string, n ast.Node) []entry {
	if n = r.resolve(path, n); n == nil {
		return nil
	}
	if r.depth++; r.depth > maxDepth {
		r.add(placeOf(n.GetToken()), path, "the alias contains itself")
		r.depth--
		return nil
	}
	defer func() { r.depth-- }()
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return r.entries(path, n)
	}
	var all []entry
	for _, item := range seq.Values {
		all = append(all, r.merged(path, item)...)
	}
	return all
}

// The kinds of scalars, as people call them.
const (
	aText   = "a text"
	aNumber = "a number"
	aBool   = "true or false"
	nothing = "nothing"
)

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return aText
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return aNumber
	case *ast.BoolNode:
		return aBool
	case *ast.NullNode:
		return nothing
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	}
	return "something else"
}

// textOf is a scalar as it is written.
func textOf(n ast.Node) string {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value
	case *ast.LiteralNode:
		return x.Value.Value
	}
	return n.GetToken().Value
}

// scalar reads a single value. What the environment gives may be of any type: port:
// ${PORT} is a number.
func (r *reader) scalar(path string, n ast.Node, v reflect.Value) {
	at, kind, text := placeOf(n.GetToken()), kindOf(n), ""
	switch kind {
	case nothing:
		r.add(at, path, "expected a value, found nothing, give one or leave the key out")
		return
	case aText, aNumber, aBool:
		text = textOf(n)
	default:
		r.add(at, path, "expected a single value, found %s", kind)
		return
	}
	expanded := false
	if kind == aText {
		value, taken, err := expand(text, r.env)
		if err != nil {
			r.add(at, path, "%v", err)
			return
		}
		if expanded = len(taken) > 0; expanded {
			r.raw[path] = text
			maps.Copy(r.taken, taken)
		}
		text = value
	}
	if problem := assign(v, text, kind, expanded); problem != "" {
		if v.Type() != secretType {
			problem += ", found " + r.show(path, text)
		}
		r.add(at, path, "%s", problem)
	}
}

// assign sets v from a scalar, or says what was expected.
func assign(v reflect.Value, text, kind string, expanded bool) string {
	if v.Type() == durationType {
		d, err := ParseDuration(text)
		if err != nil {
			return err.Error()
		}
		v.SetInt(int64(d))
		return ""
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return err.Error()
		}
		return ""
	}
	switch {
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || kind != aNumber && !expanded {
			return "expected a whole number"
		}
		v.SetInt(n)
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" || kind != aBool && !expanded {
			return "expected true or false"
		}
		v.SetBool(text == "true")
	default:
		if kind != aText {
			return "expected a text, put it in quotes"
		}
		v.SetString(text)
	}
	return ""
}

// atLeast reports a time that is too short.
func (r *reader) atLeast(path string, d, least time.Duration) {
	if d < least {
		r.at(path, "expected at least %s, found %s", least, d)
	}
}

// between reports a number outside of its bounds; 0 as most means no bound.
func (r *reader) between(path string, n, least, most int) {
	switch {
	case n < least:
		r.at(path, "expected at least %d, found %d", least, n)
	case most > 0 && n > most:
		r.at(path, "expected at most %d, found %d", most, n)
	}
}
