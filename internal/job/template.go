package job

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	texttemplate "text/template"
	"text/template/parse"
)

// rendered is a compiled template. It may be used by several goroutines.
type rendered struct {
	place string // what it is called in errors: message.text
	refs  []ref
	exec  interface {
		Execute(w io.Writer, data any) error
	}
}

// mainTemplate is the name of the template itself among those that it defines.
const mainTemplate = "main"

// compileTemplate compiles one text of a message. Columns are left as references.
func compileTemplate(place, source string, k kind) (*rendered, []templateProblem) {
	if i := strings.LastIndex(source, "{{"); i >= 0 && !strings.Contains(source[i:], "}}") {
		line := 1 + strings.Count(source[:i], "\n")
		return nil, []templateProblem{{place: place, line: line, text: "{{ is not closed, }} is missing"}}
	}
	source = mergePlaceholders(source)
	trees, err := parse.Parse(mainTemplate, source, "{{", "}}", parseFuncs())
	if err != nil {
		return nil, []templateProblem{explain(err, place)}
	}
	if main := trees[mainTemplate]; main == nil || parse.IsEmptyTree(main.Root) {
		return nil, []templateProblem{{place: place, text: "it only defines templates, and has no text of its own"}}
	}
	l := &linter{trees: trees, source: source, place: place, visited: map[visit]bool{}}
	if l.all(mainTemplate); len(l.problems) > 0 {
		return nil, l.problems
	}
	for _, tree := range trees {
		finish(tree.Root, tree, escapers[k])
	}
	t := &rendered{place: place, refs: l.refs}
	if k == htmlKind {
		t.exec, err = htmlSet(trees)
	} else {
		t.exec, err = textSet(trees, k)
	}
	if err != nil {
		return nil, []templateProblem{explain(err, place)}
	}
	return t, nil
}

// parseFuncs are the names that the parser is to take for functions.
func parseFuncs() map[string]any {
	names := map[string]any{mergeFunc: true}
	for name := range templateFuncs {
		names[name] = true
	}
	return names
}

func textSet(trees map[string]*parse.Tree, k kind) (*texttemplate.Template, error) {
	set := texttemplate.New(mainTemplate).Funcs(funcsFor(k))
	for name, tree := range trees {
		if _, err := set.AddParseTree(name, tree); err != nil {
			return nil, err
		}
	}
	return set.Option("missingkey=error").Lookup(mainTemplate), nil
}

func htmlSet(trees map[string]*parse.Tree) (*template.Template, error) {
	set := template.New(mainTemplate).Funcs(funcsFor(htmlKind))
	for name, tree := range trees {
		if _, err := set.AddParseTree(name, tree); err != nil {
			return nil, err
		}
	}
	main := set.Option("missingkey=error").Lookup(mainTemplate)
	// html/template finds out while it first executes whether it can escape at all.
	// Errors of the execution itself say nothing, since there are no values yet.
	err := main.Execute(new(limitedText), map[string]string{})
	if e := (*template.Error)(nil); errors.As(err, &e) {
		return nil, e
	}
	return main, nil
}

// render executes the template; values are the row's by key. Errors are for people.
func (t *rendered) render(values map[string]string) (string, error) {
	if t == nil {
		return "", nil
	}
	var out limitedText
	if err := t.exec.Execute(&out, values); err != nil {
		return "", explain(err, t.place)
	}
	return out.String(), nil
}

// finish readies a tree for execution: columns by header become look-ups in the row,
// and what actions print goes through the escaper, if there is one.
func finish(n parse.Node, tree *parse.Tree, escaper string) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, item := range n.Nodes {
			finish(item, tree, escaper)
		}
	case *parse.ActionNode:
		finishPipe(n.Pipe, tree)
		if escaper != "" && len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, command(n.Pos, identifier(escaper, n.Pos, tree)))
		}
	case *parse.IfNode:
		finishBranch(&n.BranchNode, tree, escaper)
	case *parse.WithNode:
		finishBranch(&n.BranchNode, tree, escaper)
	case *parse.RangeNode:
		finishBranch(&n.BranchNode, tree, escaper)
	case *parse.TemplateNode:
		finishPipe(n.Pipe, tree)
	}
}

func finishBranch(n *parse.BranchNode, tree *parse.Tree, escaper string) {
	finishPipe(n.Pipe, tree)
	finish(n.List, tree, escaper)
	finish(n.ElseList, tree, escaper)
}

func finishPipe(p *parse.PipeNode, tree *parse.Tree) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		if id, ok := c.Args[0].(*parse.IdentifierNode); ok && (id.Ident == "col" || id.Ident == mergeFunc) {
			name := c.Args[1].(*parse.StringNode)
			key := ref{name: name.Text, header: true}.key()
			c.Args = []parse.Node{
				identifier("index", id.Pos, tree),
				&parse.VariableNode{NodeType: parse.NodeVariable, Pos: id.Pos, Ident: []string{"$"}},
				&parse.StringNode{NodeType: parse.NodeString, Pos: name.Pos, Quoted: strconv.Quote(key), Text: key},
			}
			continue
		}
		for _, a := range c.Args {
			if inner, ok := a.(*parse.PipeNode); ok {
				finishPipe(inner, tree)
			}
		}
	}
}

func identifier(name string, pos parse.Pos, tree *parse.Tree) *parse.IdentifierNode {
	return parse.NewIdentifier(name).SetTree(tree).SetPos(pos)
}

func command(pos parse.Pos, args ...parse.Node) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: args}
}

// lazily compiles a pattern when it is first needed: most commands need none, and
// should not wait for it.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	templateError = lazily(`(?s)^(?:html/)?template: ?[^:]*:(\d+):(?:\d+:)? ?(?:executing "[^"]*" at <.*?>: )?(.*)$`)
	noFunction    = lazily(`function "([^"]*)" not defined`)
)

// explain puts an error of Go's template packages in our words.
func explain(err error, place string) templateProblem {
	m := templateError().FindStringSubmatch(err.Error())
	if m == nil {
		return templateProblem{place: place, text: err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	text, _, _ := strings.Cut(m[2], ": {state") // html/template's view of its own insides
	if f := noFunction().FindStringSubmatch(text); f != nil {
		known := slices.Sorted(maps.Keys(templateFuncs))
		text = fmt.Sprintf("there is no function %s%s; inside of if, with, functions and parentheses a column is written .first_name or (col \"First name\")",
			f[1], didYouMean(f[1], known))
	}
	text = strings.ReplaceAll(text, "unexpected EOF", "an {{end}} is missing")
	return templateProblem{place: place, line: line, text: strings.ReplaceAll(text, mergeFunc+" ", "")}
}
