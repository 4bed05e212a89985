package job

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// A condition has the operators of expr-lang, and these rules for cells:
//
//   - a number is a number, a checkbox true or false, a date a time in the zone of the
//     job, a text a text without white space at its ends, a blank cell "";
//   - a blank cell equals "" alone, is different from everything else, and is neither
//     before nor after anything;
//   - other values of different kinds cannot be compared: that is a fault of the row,
//     since a silent "no" would lose it;
//   - where true or false is needed, a checkbox counts, and of texts the ones that
//     read TRUE, FALSE or NO; a blank cell is false, anything else a fault.
//
// It can call nothing but whereFunctions and whereBuiltins: none has an effect, reads
// a clock or runs for long.

// condition is a compiled where. It may be used by several goroutines.
type condition struct {
	program *vm.Program
	refs    []ref
	label   string // the column, when the condition is that column alone
	zone    *time.Location
}

// whereBuiltins are the functions of expr that conditions may call.
var whereBuiltins = []string{
	"len", "lower", "upper", "trim", "split", "replace", "abs", "ceil", "floor", "round", "int", "float", "min", "max", "duration",
}

// whereFunctions maps the names of our own functions to the names that they are
// compiled under. Those have a blank, so that no column can be named like one.
var whereFunctions = map[string]string{"blank": "is blank", "text": "to text", "number": "to number", "date": "to date"}

// The functions that operators are compiled to.
const (
	fnCompare = "compare values"
	fnWithin  = "is one of"
	fnTruth   = "is true"
	fnText    = "must be text"
)

// maxNodes bounds the size of a condition.
const maxNodes = 500

// compileWhere compiles a condition whose dates are read in a zone. Its columns are
// left as references, since there need be no header yet. Errors are for people.
func compileWhere(source string, zone *time.Location) (*condition, error) {
	syntax := conf.CreateNew()
	allowBuiltins(syntax)
	tree, err := parser.ParseWithConfig(source, syntax)
	if err != nil {
		return nil, whereError(err)
	}
	found := &rewriter{}
	ast.Walk(&tree.Node, found)
	if len(found.errs) > 0 {
		return nil, found.errs[0]
	}
	patch := &rewriter{patch: true, truths: map[ast.Node]bool{}}
	options := []expr.Option{
		expr.Env(map[string]any{}), expr.AllowUndefinedVariables(), expr.MaxNodes(maxNodes), expr.Patch(patch), allowBuiltins,
		expr.Function(fnCompare, compareCall, new(func(string, string, any, string, any) bool)),
		expr.Function(fnWithin, withinCall, new(func(string, any, any) bool)),
		expr.Function(fnTruth, truthCall, new(func(string, any) bool)),
		expr.Function(fnText, mustTextCall, new(func(string, any) string)),
		expr.Function(whereFunctions["blank"], blankCall, new(func(any) bool)),
		expr.Function(whereFunctions["text"], toTextCall, new(func(any) string)),
		expr.Function(whereFunctions["number"], toNumberCall, new(func(any) float64)),
		expr.Function(whereFunctions["date"], dateCall(zone), new(func(any) time.Time)),
	}
	program, err := expr.Compile(source, options...)
	if err != nil {
		return nil, whereError(err)
	}
	c := &condition{program: program, refs: found.refs, zone: zone}
	root := program.Node()
	c.label = labelOf(root)
	if t := root.Type(); t != nil && t.Kind() != reflect.Bool && t.Kind() != reflect.Interface {
		return nil, fmt.Errorf("expected a condition that is true or false, found %s: compare it with something", kindOfType(t))
	}
	return c, nil
}

// kindOfType is a type as people call it.
func kindOfType(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.String:
		return aText
	case k == reflect.Int || k == reflect.Float64:
		return aNumber
	case k == reflect.Slice || k == reflect.Array:
		return "a list"
	}
	return "something else"
}

// allowBuiltins leaves whereBuiltins of the functions of expr. Their names are taken
// out of those that may stand without parentheses: max alone is a column.
func allowBuiltins(c *conf.Config) {
	for name := range c.Builtins {
		c.Disabled[name] = !slices.Contains(whereBuiltins, name)
	}
	clear(c.Builtins)
}

// whereError takes place and message out of an error of expr, and leaves its drawing.
func whereError(err error) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return fmt.Errorf("the condition cannot be read: %w", err)
	}
	text := strings.ReplaceAll(fe.Message, "unexpected token EOF", "it ends too early")
	if text == `unexpected token Operator("=")` {
		text = "a single = says nothing here: write == to compare"
	}
	if fe.Line <= 1 {
		return fmt.Errorf("the condition cannot be read at character %d: %s", fe.Column+1, text)
	}
	return fmt.Errorf("the condition cannot be read at line %d, character %d: %s", fe.Line, fe.Column+1, text)
}

// passes evaluates the condition for the values of a row.
func (c *condition) passes(values map[string]any) (bool, error) {
	out, err := expr.Run(c.program, values)
	if err == nil {
		return truth(c.label, out)
	}
	var rf *rowFault
	if errors.As(err, &rf) {
		return false, rf
	}
	var fe *file.Error
	text := err.Error()
	if errors.As(err, &fe) {
		text = fe.Message
	}
	var found []string
	for _, r := range c.refs {
		found = append(found, fmt.Sprintf("%s is %s", r.text, describe(values[r.key()])))
	}
	return false, fmt.Errorf("where cannot be evaluated: %s (%s)", text, strings.Join(found, ", "))
}

// cellValue is a cell as conditions see it.
func cellValue(c claim.Cell, zone *time.Location) any {
	switch {
	case c.IsBlank():
		return ""
	case c.Kind == claim.Number:
		return c.Number
	case c.Kind == claim.Bool:
		return c.Bool
	case c.Kind == claim.Date:
		t := c.Civil()
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
	}
	return strings.TrimSpace(c.Shown)
}
