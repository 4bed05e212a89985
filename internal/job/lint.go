package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// linter walks the parse trees of a template before anything is executed: it finds
// every column that any branch names, and refuses what could only fail, or print
// something senseless, while a mail is made.
type linter struct {
	trees    map[string]*parse.Tree
	source   string
	place    string
	visited  map[visit]bool
	refs     []ref
	problems []templateProblem
}

// scope says what the dot and the dollar sign stand for: the row, or a value.
type scope struct{ dot, dollar bool }

type visit struct {
	tree  string
	scope scope
}

// templateProblem is something wrong in a template.
type templateProblem struct {
	key   string // of the configuration: text, html_file
	place string // message.text
	line  int    // counted from 1; 0: the template as a whole
	text  string
}

func (p templateProblem) Error() string {
	if p.line == 0 {
		return p.place + ": " + p.text
	}
	return lineOf(p.place, p.line) + ": " + p.text
}

// withoutPlace is the problem for somebody who sees the place already.
func (p templateProblem) withoutPlace() string {
	if p.line == 0 {
		return p.text
	}
	return fmt.Sprintf("line %d of the template: %s", p.line, p.text)
}

func lineOf(place string, line int) string { return fmt.Sprintf("%s line %d", place, line) }

const row = true

// all walks the main template, what it calls, and then what nothing called.
func (l *linter) all(main string) {
	l.tree(main, scope{row, row})
	for _, name := range slices.Sorted(maps.Keys(l.trees)) {
		called := l.visited[visit{name, scope{row, row}}] || l.visited[visit{name, scope{}}]
		if !called {
			l.tree(name, scope{row, row})
		}
	}
}

func (l *linter) tree(name string, s scope) {
	tree, ok := l.trees[name]
	if !ok || tree.Root == nil || l.visited[visit{name, s}] {
		return
	}
	l.visited[visit{name, s}] = true
	l.node(tree.Root, s)
}

func (l *linter) line(n parse.Node) int {
	return 1 + strings.Count(l.source[:min(int(n.Position()), len(l.source))], "\n")
}

func (l *linter) fail(n parse.Node, format string, args ...any) {
	l.problems = append(l.problems, templateProblem{place: l.place, line: l.line(n), text: fmt.Sprintf(format, args...)})
}

func (l *linter) use(n parse.Node, text, name string, header bool) {
	l.refs = append(l.refs, ref{text: text, name: name, header: header, at: lineOf(l.place, l.line(n))})
}

func (l *linter) node(n parse.Node, s scope) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, item := range n.Nodes {
			l.node(item, s)
		}
	case *parse.ActionNode:
		l.pipe(n.Pipe, s)
	case *parse.IfNode:
		l.branch(&n.BranchNode, s, s)
	case *parse.WithNode:
		inner := s
		if inner.dot = isRow(n.Pipe, s); !inner.dot {
			l.pipe(n.Pipe, s)
		}
		l.node(n.List, inner)
		l.node(n.ElseList, s)
	case *parse.RangeNode:
		l.rangeOver(n)
		l.branch(&n.BranchNode, s, scope{false, s.dollar})
	case *parse.TemplateNode:
		l.template(n, s)
	}
}

func (l *linter) branch(n *parse.BranchNode, s, inner scope) {
	l.pipe(n.Pipe, s)
	l.node(n.List, inner)
	l.node(n.ElseList, s)
}

// maxRange bounds a loop over a number, in rounds.
const maxRange = 10_000

func (l *linter) rangeOver(n *parse.RangeNode) {
	for _, c := range n.Pipe.Cmds {
		for _, a := range c.Args {
			if number, ok := a.(*parse.NumberNode); ok && number.IsInt && number.Int64 > maxRange {
				l.fail(n, "expected a range of at most %s rounds, found %s", strconv.Itoa(maxRange), number.Text)
			}
		}
	}
}

func (l *linter) template(n *parse.TemplateNode, s scope) {
	if l.trees[n.Name] == nil {
		l.fail(n, "there is no template %q, define it in the same text", n.Name)
		return
	}
	given := n.Pipe != nil && isRow(n.Pipe, s)
	if n.Pipe != nil && !given {
		l.pipe(n.Pipe, s)
	}
	l.tree(n.Name, scope{given, given})
}

// isRow reports whether a pipeline is the row itself.
func isRow(p *parse.PipeNode, s scope) bool {
	if p == nil || len(p.Decl) > 0 || len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return false
	}
	switch a := p.Cmds[0].Args[0].(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.VariableNode:
		return s.dollar && len(a.Ident) == 1 && a.Ident[0] == "$"
	}
	return false
}

func (l *linter) pipe(p *parse.PipeNode, s scope) {
	if p == nil {
		return
	}
	for i, c := range p.Cmds {
		l.command(c, i > 0, s)
	}
}

// command checks one part of a pipeline; piped says that it gets the part before it
// as one more argument.
func (l *linter) command(c *parse.CommandNode, piped bool, s scope) {
	args := c.Args
	if id, ok := args[0].(*parse.IdentifierNode); ok {
		if id.Ident == "col" || id.Ident == mergeFunc {
			l.column(c, id, s)
			return
		}
		n := len(args) - 1
		if piped {
			n++
		}
		l.function(id, n)
		args = args[1:]
	}
	for _, a := range args {
		l.operand(a, s)
	}
}

func (l *linter) function(id *parse.IdentifierNode, given int) {
	if least := templateFuncs[id.Ident]; given < least {
		l.fail(id, "%s is a function with %d or more values, found %d; for a column of that name write {{col %q}}", id.Ident, least, given, id.Ident)
	}
}

// column notes {{First name}} or {{col "First name"}}.
func (l *linter) column(c *parse.CommandNode, id *parse.IdentifierNode, s scope) {
	var name *parse.StringNode
	if len(c.Args) == 2 {
		name, _ = c.Args[1].(*parse.StringNode)
	}
	switch {
	case name == nil:
		l.fail(c, "col takes one header in quotes, such as {{col \"First name\"}}")
	case !s.dollar:
		l.fail(c, "a template that is not given the row has no columns, call it with {{template \"name\" .}}")
	case id.Ident == mergeFunc:
		l.use(c, "{{"+name.Text+"}}", name.Text, true)
	default:
		l.use(c, fmt.Sprintf("col %q", name.Text), name.Text, true)
	}
}

func (l *linter) operand(n parse.Node, s scope) {
	switch n := n.(type) {
	case *parse.PipeNode:
		l.pipe(n, s)
	case *parse.IdentifierNode:
		if n.Ident == "col" || n.Ident == mergeFunc {
			l.fail(n, "put col and its header in parentheses: (col \"First name\")")
			return
		}
		l.function(n, 0)
	case *parse.DotNode:
		if s.dot {
			l.fail(n, "the dot is the whole row here, write a column such as .first_name")
		}
	case *parse.FieldNode:
		l.field(n, "."+strings.Join(n.Ident, "."), n.Ident, s.dot)
	case *parse.VariableNode:
		l.variable(n, s)
	case *parse.ChainNode:
		l.fail(n, "a value is a text and has no fields, remove .%s", strings.Join(n.Field, "."))
	}
}

func (l *linter) variable(n *parse.VariableNode, s scope) {
	switch {
	case n.Ident[0] != "$" && len(n.Ident) > 1:
		l.fail(n, "%s is a text and has no fields, write $.%s for the column", n.Ident[0], n.Ident[1])
	case n.Ident[0] == "$" && len(n.Ident) > 1:
		l.field(n, strings.Join(n.Ident, "."), n.Ident[1:], s.dollar)
	case n.Ident[0] == "$" && s.dollar:
		l.fail(n, "$ is the whole row, write a column such as $.first_name")
	}
}

func (l *linter) field(n parse.Node, text string, fields []string, ofRow bool) {
	switch {
	case !ofRow:
		l.fail(n, "the dot is a value here, as inside with and range: write $.%s for the column", fields[0])
	case len(fields) > 1:
		l.fail(n, "a value is a text and has no fields, found %s", text)
	default:
		l.use(n, text, fields[0], false)
	}
}
