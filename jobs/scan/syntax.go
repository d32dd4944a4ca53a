package scan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
)

// builtins are the functions of package expr that a condition may call. Their results depend only on
// their arguments, unlike those of now, of date, which uses the time zone of the host, and of keys, which
// has no fixed order.
var builtins = strings.Fields(`abs all any ceil count filter find findIndex findLast findLastIndex first flatten float floor
	hasPrefix hasSuffix indexOf int join last lastIndexOf len lower map max mean median min none one reduce repeat replace reverse
	round sort sortBy split splitAfter string sum take trim trimPrefix trimSuffix type uniq upper`)

// parseSource parses an expression, and collects its columns.
func parseSource(source string, options ...expr.Option) (*condition, error) {
	if err := checkDepth(source); err != nil {
		return nil, err
	}
	node, err := parse(source)
	if err != nil {
		return nil, err
	}
	c := &condition{known: map[string]bool{}, texts: map[string]bool{}, tree: node, source: source}
	ast.Walk(&node, c)
	if c.invalid != nil {
		return nil, c.invalid
	}
	_, err = expr.Compile(source, append(options, expr.AllowUndefinedVariables())...)
	return c, err
}

// parse parses an expression. The names of columns in $env become identifiers, and calls of all functions
// become nodes of one type.
func parse(source string) (ast.Node, error) {
	config := conf.CreateNew()
	tree, err := parser.ParseWithConfig(source, config)
	if err != nil {
		return nil, explainSyntax(source, config, err)
	}
	var n quotedNames
	ast.Walk(&tree.Node, &n)
	ast.Walk(&tree.Node, calls{})
	return tree.Node, n.err
}

// calls changes the calls of the functions in the table scalars into nodes of type BuiltinNode. In a
// CallNode, the name of the function would count as a column.
type calls struct{}

// Visit implements ast.Visitor.
func (calls) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.CallNode); ok {
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			*node = &ast.BuiltinNode{Name: callee.Value, Arguments: n.Arguments}
		}
	}
}

var textOrEqual = regexp.MustCompile(`'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[!<>=]?=`)

// explainSyntax returns the error for a condition that cannot be parsed.
func explainSyntax(source string, config *conf.Config, err error) error {
	fixed := textOrEqual.ReplaceAllStringFunc(source, func(match string) string {
		if match == "=" {
			return "=="
		}
		return match
	})
	if fixed != source {
		if _, err := parser.ParseWithConfig(fixed, config); err == nil {
			return fmt.Errorf("%q: values are compared with ==: write %q", source, fixed)
		}
	}
	return fmt.Errorf("%w (text is in quotes, as in host == 'a'; a name with spaces is written as in %s)", err, inEnv("unit price"))
}

// Visit implements ast.Visitor. Visit collects the columns in an expression, and separately the
// columns that are used as text.
func (c *condition) Visit(node *ast.Node) {
	text := func(nodes ...ast.Node) {
		for _, n := range nodes {
			if id, ok := n.(*ast.IdentifierNode); ok {
				c.texts[id.Value] = true
			}
		}
	}
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if !c.known[n.Value] {
			c.known[n.Value] = true
			c.columns = append(c.columns, n.Value)
		}
	case *ast.BinaryNode:
		_, left := n.Left.(*ast.StringNode)
		_, right := n.Right.(*ast.StringNode)
		if n.Operator == "==" || n.Operator == "!=" {
			c.checkEqual(n)
		}
		switch {
		case left, right, n.Operator == "+" && (alwaysText(n.Left) || alwaysText(n.Right)), n.Operator == "contains", n.Operator == "startsWith", n.Operator == "endsWith", n.Operator == "matches":
			text(n.Left, n.Right)
		case n.Operator == "in":
			if list, ok := n.Right.(*ast.ArrayNode); ok && len(list.Nodes) > 0 {
				if _, ok := list.Nodes[0].(*ast.StringNode); ok {
					text(n.Left)
				}
			}
		}
	case *ast.SliceNode:
		text(n.Node)
	case *ast.BuiltinNode:
		if f := scalarNamed(n.Name); f != nil {
			c.checkCall(f, n)
			if f.texts {
				text(n.Arguments...)
			}
		} else if !slices.Contains(builtins, n.Name) {
			c.refuse("the function %s is not allowed here: want one of %s", n.Name, functionNames())
		}
		switch n.Name {
		case "len", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix", "indexOf", "split":
			text(n.Arguments...)
		case "lastIndexOf", "repeat", "replace", "splitAfter":
			text(n.Arguments[:min(1, len(n.Arguments))]...)
		}
	}
}

// checkCall refuses a call with a wrong number of arguments, or with constants that no record can make valid.
func (c *condition) checkCall(f *scalarFunction, n *ast.BuiltinNode) {
	if given := len(n.Arguments); given < f.least || given > f.most {
		c.refuse("%s has %d arguments: want %s", f.name, given, f.form)
		return
	}
	switch f.name {
	case "regexp_replace":
		if pattern, ok := n.Arguments[1].(*ast.StringNode); ok {
			if _, err := compile(pattern.Value); err != nil {
				c.refuse("%s: %v", f.form, err)
			}
		}
	case "date_trunc", "date_diff":
		if unit, ok := n.Arguments[0].(*ast.StringNode); ok {
			if _, err := truncate(unit.Value, time.Time{}); err != nil {
				c.refuse("%s: %v", f.form, err)
			}
		}
	}
}

// alwaysText reports whether the value of a node is certainly a text.
func alwaysText(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.StringNode, *ast.SliceNode:
		return true
	case *ast.BinaryNode:
		return n.Operator == "+" && (alwaysText(n.Left) || alwaysText(n.Right))
	case *ast.BuiltinNode:
		return slices.Contains([]string{"lower", "upper", "trim", "trimPrefix", "trimSuffix", "string", "date_trunc", "regexp_replace"}, n.Name)
	}
	return false
}

// checkEqual refuses to compare a column with a constant that is neither a number nor a text, because
// no field equals it.
func (c *condition) checkEqual(n *ast.BinaryNode) {
	for _, side := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		id, ok := side[0].(*ast.IdentifierNode)
		if !ok {
			continue
		}
		switch constant := side[1].(type) {
		case *ast.BoolNode:
			c.refuse("%s is text: want a comparison with text, such as %[1]s %s \"%v\"", id.Value, n.Operator, constant.Value)
		case *ast.NilNode:
			c.refuse("%s is text: want a comparison with text, such as %[1]s %s \"\"", id.Value, n.Operator)
		}
	}
}

func (c *condition) refuse(format string, args ...any) {
	if c.invalid == nil {
		c.invalid = fmt.Errorf(format, args...)
	}
}
