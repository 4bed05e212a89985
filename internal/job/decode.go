package job

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// reader reads a file into a Config. It goes on after a problem, so that all of them
// are reported at once.
type reader struct {
	file, dir string
	env       func(string) (string, bool)
	anchors   map[string]ast.Node
	depth     int               // of aliases within aliases
	places    places            // where the value of a path stands
	raw       map[string]string // path to its text, where that came from the environment
	taken     map[string]string // what came from the environment, by name
	problems  Problems
}

type place struct{ line, column int }

type places map[string]place

// near is where a path, or the nearest thing around it, stands.
func (p places) near(path string) place {
	for path != "" {
		if at, ok := p[path]; ok {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return p[""]
}

var (
	secretType   = reflect.TypeFor[Secret]()
	durationType = reflect.TypeFor[time.Duration]()
	namesType    = reflect.TypeFor[Names]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// maxDepth ends an alias that contains itself.
const maxDepth = 20

func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{t.Position.Line, t.Position.Column}
}

// add reports a problem of a path at a place. Values from the environment, which may
// be secrets in the wrong place, go by their names again. Short ones are left: they
// occur in any text.
func (r *reader) add(at place, path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, name := range slices.Sorted(maps.Keys(r.taken)) {
		if value := r.taken[name]; len(value) >= shortestSecret {
			text = strings.ReplaceAll(text, value, "${"+name+"}")
		}
	}
	r.problems = append(r.problems, Problem{r.file, at.line, at.column, path, text})
}

const shortestSecret = 6

// at reports a problem of a path, where it or the nearest thing around it stands.
func (r *reader) at(path, format string, args ...any) {
	r.add(r.places.near(path), path, format, args...)
}

// has reports whether the file gives a value for a path.
func (r *reader) has(path string) bool { _, ok := r.places[path]; return ok }

// show quotes a value for an error text. What came from the environment is shown as
// it is written in the file, since it may be a secret in the wrong place.
func (r *reader) show(path, value string) string {
	if raw, ok := r.raw[path]; ok {
		value = raw
	}
	return fmt.Sprintf("%q", value)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// resolve follows anchors and aliases to the node that they stand for.
func (r *reader) resolve(path string, n ast.Node) ast.Node {
	for range maxDepth {
		switch x := n.(type) {
		case *ast.AnchorNode:
			n = x.Value
		case *ast.AliasNode:
			name := x.Value.GetToken().Value
			target, ok := r.anchors[name]
			if !ok {
				r.add(placeOf(x.GetToken()), path, "the alias *%s has no anchor &%s", name, name)
				return nil
			}
			n = target
		case *ast.TagNode:
			r.add(placeOf(x.GetToken()), path, "expected a value without a tag, remove %s", x.GetToken().Value)
			return nil
		default:
			return n
		}
	}
	r.add(placeOf(n.GetToken()), path, "the alias contains itself")
	return nil
}

// value reads a node into v.
func (r *reader) value(path string, n ast.Node, v reflect.Value) {
	if n = r.resolve(path, n); n == nil {
		return
	}
	if r.depth++; r.depth > 2*maxDepth {
		r.add(placeOf(n.GetToken()), path, "the alias contains itself")
		r.depth--
		return
	}
	defer func() { r.depth-- }()
	t := v.Type()
	switch {
	case t == namesType:
		r.names(path, n, v)
	case t == durationType || t.Kind() == reflect.String || t.Kind() == reflect.Int || t.Kind() == reflect.Bool ||
		reflect.PointerTo(t).Implements(textType):
		r.scalar(path, n, v)
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		if d, ok := v.Interface().(defaulter); ok {
			d.setDefaults()
		}
		r.value(path, n, v.Elem())
	case t.Kind() == reflect.Struct:
		r.structure(path, n, v)
	case t.Kind() == reflect.Map:
		r.mapping(path, n, v)
	case t.Kind() == reflect.Slice:
		r.list(path, n, v)
	}
}

// names reads one text or a list of texts.
func (r *reader) names(path string, n ast.Node, v reflect.Value) {
	if _, ok := n.(*ast.SequenceNode); ok {
		r.list(path, n, v)
		return
	}
	one := reflect.New(reflect.TypeFor[string]()).Elem()
	r.scalar(path, n, one)
	v.Set(reflect.Append(v, one))
}

func (r *reader) list(path string, n ast.Node, v reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.add(placeOf(n.GetToken()), path, "expected a list such as [a, b], found %s", kindOf(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, item := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.places[at] = placeOf(item.GetToken())
		r.value(at, item, v.Index(i))
	}
}

// mapping reads a mapping whose keys are names that people choose.
func (r *reader) mapping(path string, n ast.Node, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range r.entries(path, n) {
		item := reflect.New(v.Type().Elem()).Elem()
		r.enter(path, e)
		r.value(join(path, e.key), e.value, item)
		if !item.IsNil() {
			v.SetMapIndex(reflect.ValueOf(e.key), item)
		}
	}
}

func (r *reader) structure(path string, n ast.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	for _, e := range r.entries(path, n) {
		i, ok := fields[e.key]
		if !ok {
			r.add(e.at, path, "%s", unknownKey(e.key, fields))
			continue
		}
		r.enter(path, e)
		r.value(join(path, e.key), e.value, v.Field(i))
	}
	r.files(path, v, fields)
}

// enter notes where a key's value stands: a scalar by itself, anything else by its
// key, since a block starts on the line below.
func (r *reader) enter(path string, e entry) {
	at := e.at
	if _, ok := e.value.(ast.ScalarNode); ok {
		at = placeOf(e.value.GetToken())
	}
	r.places[join(path, e.key)] = at
}

func unknownKey(key string, fields map[string]int) string {
	known := make([]string, 0, len(fields))
	for k := range fields {
		known = append(known, k)
	}
	slices.Sort(known)
	if best := nearest(key, known); best != "" {
		return fmt.Sprintf("%s is no known key, did you mean %s?", key, best)
	}
	return fmt.Sprintf("%s is no known key, expected one of %s", key, strings.Join(known, ", "))
}

// fieldsOf maps the keys of a section to the fields of its struct.
func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			fields[key] = i
		}
	}
	return fields
}
