package job

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// rewriter collects the columns that a condition names. With patch set it also puts
// our own functions in place of operators, as the rules above want it.
type rewriter struct {
	patch  bool
	refs   []ref
	errs   []error
	truths map[ast.Node]bool // calls made by patching that answer true or false
}

func (w *rewriter) fail(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf(format, args...))
}

// Visit is called for the children of a node before the node itself.
func (w *rewriter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.CallNode:
		w.call(node, n)
	case *ast.BuiltinNode:
		if !slices.Contains(whereBuiltins, n.Name) {
			w.unknownFunction(n.Name)
		}
	case *ast.IdentifierNode:
		if n.Value == "$env" {
			w.fail("$env is not supported, name the columns")
		}
		if !w.patch {
			w.refs = append(w.refs, ref{text: n.Value, name: n.Value, node: n})
		}
	case *ast.VariableDeclaratorNode:
		w.refs = slices.DeleteFunc(w.refs, func(r ref) bool { return r.name == n.Name && !r.header })
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			w.condition(&n.Node)
		}
	case *ast.ConditionalNode:
		w.condition(&n.Cond)
	case *ast.BinaryNode:
		w.binary(node, n)
	}
}

func (w *rewriter) call(node *ast.Node, n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return // a method of a date; there are no other values with methods
	}
	w.refs = slices.DeleteFunc(w.refs, func(r ref) bool { return r.node == callee })
	if inner, ok := whereFunctions[callee.Value]; ok {
		if w.patch {
			callee.Value = inner
		}
		return
	}
	if callee.Value != "col" {
		w.unknownFunction(callee.Value)
		return
	}
	name, ok := &ast.StringNode{}, false
	if len(n.Arguments) == 1 {
		name, ok = n.Arguments[0].(*ast.StringNode)
	}
	if !ok {
		w.fail("col takes one header in quotes, such as col(\"Visit status\")")
		return
	}
	r := ref{text: fmt.Sprintf("col(%q)", name.Value), name: name.Value, header: true}
	if w.patch {
		ast.Patch(node, &ast.IdentifierNode{Value: r.key()})
		return
	}
	w.refs = append(w.refs, r)
}

func (w *rewriter) unknownFunction(name string) {
	known := slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(whereFunctions)), append(whereBuiltins, "col")...)))
	w.fail("there is no function %s%s; there are %s", name, didYouMean(name, known), strings.Join(known, ", "))
}

func (w *rewriter) binary(node *ast.Node, n *ast.BinaryNode) {
	switch n.Operator {
	case "and", "&&", "or", "||":
		w.condition(&n.Left)
		w.condition(&n.Right)
	case "==", "!=", "<", "<=", ">", ">=":
		w.replace(node, fnCompare, &ast.StringNode{Value: n.Operator},
			&ast.StringNode{Value: labelOf(n.Left)}, n.Left, &ast.StringNode{Value: labelOf(n.Right)}, n.Right)
	case "in":
		w.replace(node, fnWithin, &ast.StringNode{Value: labelOf(n.Left)}, n.Left, n.Right)
	case "contains", "startsWith", "endsWith", "matches":
		w.text(&n.Left)
		w.text(&n.Right)
	}
}

// condition makes sure that a node is true or false.
func (w *rewriter) condition(node *ast.Node) {
	if t := (*node).Type(); !w.truths[*node] && (t == nil || t.Kind() != reflect.Bool) {
		w.replace(node, fnTruth, &ast.StringNode{Value: labelOf(*node)}, *node)
	}
}

// text makes sure that a node is a text. Constants are left, so that expr can check
// regular expressions when it compiles them.
func (w *rewriter) text(node *ast.Node) {
	if _, ok := (*node).(*ast.StringNode); ok || !w.patch {
		return
	}
	ast.Patch(node, &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: fnText},
		Arguments: []ast.Node{&ast.StringNode{Value: labelOf(*node)}, *node},
	})
}

// replace puts a call, which answers true or false, in place of a node.
func (w *rewriter) replace(node *ast.Node, name string, args ...ast.Node) {
	if !w.patch {
		return
	}
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
	ast.Patch(node, call)
	w.truths[call] = true
}

// labelOf is the column that a node reads, as people write it, or "".
func labelOf(n ast.Node) string {
	id, ok := n.(*ast.IdentifierNode)
	if !ok {
		return ""
	}
	return labelOfKey(id.Value)
}
