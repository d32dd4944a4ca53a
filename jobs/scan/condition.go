package scan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// condition is the value of the parameter where: an expression of package expr that uses the
// columns. Comparisons of a column with constants, combined by and, or and not, are evaluated by
// faster code of this package.
type condition struct {
	columns []string        // columns that the expression reads
	texts   map[string]bool // columns that the expression uses as text
	tree    ast.Node
	program *vm.Program
}

func parseCondition(source string) (*condition, error) {
	config := conf.CreateNew()
	tree, err := parser.ParseWithConfig(source, config)
	if err != nil {
		return nil, fmt.Errorf("%w (text is in quotes, as in host == 'a')", err)
	}
	c := &condition{texts: map[string]bool{}, tree: tree.Node}
	ast.Walk(&tree.Node, c)
	if len(c.columns) == 0 {
		return nil, fmt.Errorf("%q has no column: want a comparison such as status >= 500", source)
	}
	if c.program, err = expr.Compile(source, expr.AllowUndefinedVariables(), expr.AsBool()); err != nil {
		return nil, err
	}
	return c, nil
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
		if !slices.Contains(c.columns, n.Value) {
			c.columns = append(c.columns, n.Value)
		}
	case *ast.BinaryNode:
		_, left := n.Left.(*ast.StringNode)
		_, right := n.Right.(*ast.StringNode)
		switch {
		case left, right, n.Operator == "contains", n.Operator == "startsWith", n.Operator == "endsWith", n.Operator == "matches":
			text(n.Left, n.Right)
		case n.Operator == "in":
			if list, ok := n.Right.(*ast.ArrayNode); ok && len(list.Nodes) > 0 {
				if _, ok := list.Nodes[0].(*ast.StringNode); ok {
					text(n.Left)
				}
			}
		}
	case *ast.BuiltinNode:
		switch n.Name {
		case "len", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix", "indexOf", "split":
			text(n.Arguments...)
		}
	}
}

// test reports whether a record satisfies a condition.
type test func(v *values) (bool, error)

// compile returns the test for a condition. The function index must return the index of a column.
func (c *condition) compile(index func(name string) int) test {
	if fast, ok := compileFast(c.tree, index); ok {
		return fast
	}
	env := map[string]any{}
	machine := vm.VM{}
	columns := make([]int, len(c.columns))
	for i, name := range c.columns {
		columns[i] = index(name)
	}
	return func(v *values) (bool, error) {
		empty := false
		for i, name := range c.columns {
			field := v.field(columns[i])
			empty = empty || len(field) == 0
			env[name] = string(field)
			if !c.texts[name] {
				if n, ok := v.number(columns[i]); ok {
					env[name] = n.Float()
				}
			}
		}
		result, err := machine.Run(c.program, env)
		if err != nil {
			if empty { // a comparison with a missing value is not true
				return false, nil
			}
			message, _, _ := strings.Cut(err.Error(), "\n")
			return false, fmt.Errorf("parameter where: %s", message)
		}
		return result == true, nil
	}
}

// compileFast compiles expressions that consist only of comparisons of columns with constants.
// compileFast returns false for other expressions.
func compileFast(node ast.Node, index func(name string) int) (test, bool) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		inner, ok := compileFast(n.Node, index)
		if !ok || n.Operator != "not" && n.Operator != "!" {
			return nil, false
		}
		return func(v *values) (bool, error) {
			is, err := inner(v)
			return !is, err
		}, true
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			left, ok := compileFast(n.Left, index)
			right, also := compileFast(n.Right, index)
			ends := n.Operator == "or" || n.Operator == "||" // the value of the left operand for which the right operand need not be evaluated
			return func(v *values) (bool, error) {
				if is, err := left(v); err != nil || is == ends {
					return is, err
				}
				return right(v)
			}, ok && also
		}
		if fast, ok := compileTextOperator(n, index); ok {
			return fast, true
		}
		return compileComparison(n, index)
	}
	return nil, false
}

// compileTextOperator compiles an operator that applies to a column and constant texts.
func compileTextOperator(n *ast.BinaryNode, index func(name string) int) (test, bool) {
	id, ok := n.Left.(*ast.IdentifierNode)
	if !ok {
		return nil, false
	}
	if list, ok := n.Right.(*ast.ArrayNode); ok && n.Operator == "in" && len(list.Nodes) > 0 {
		set := map[string]bool{}
		for _, node := range list.Nodes {
			s, ok := node.(*ast.StringNode)
			if !ok {
				return nil, false
			}
			set[s.Value] = true
		}
		at := index(id.Value)
		return func(v *values) (bool, error) { return set[string(v.field(at))], nil }, true
	}
	operator := map[string]func(field, text []byte) bool{
		"contains": bytes.Contains, "startsWith": bytes.HasPrefix, "endsWith": bytes.HasSuffix,
	}[n.Operator]
	s, ok := n.Right.(*ast.StringNode)
	if !ok || operator == nil {
		return nil, false
	}
	at, want := index(id.Value), []byte(s.Value)
	return func(v *values) (bool, error) { return operator(v.field(at), want), nil }, true
}

// signs contains the truth value of each operator for the three results of a comparison: less,
// equal and greater.
var signs = map[string][3]bool{
	"<": {true, false, false}, "<=": {true, true, false}, "==": {false, true, false},
	"!=": {true, false, true}, ">=": {false, true, true}, ">": {false, false, true},
}

func compileComparison(n *ast.BinaryNode, index func(name string) int) (test, bool) {
	is, ok := signs[n.Operator]
	column, constant := n.Left, n.Right
	if _, swapped := n.Right.(*ast.IdentifierNode); swapped {
		column, constant = n.Right, n.Left
		is[0], is[2] = is[2], is[0]
	}
	id, isColumn := column.(*ast.IdentifierNode)
	if !ok || !isColumn {
		return nil, false
	}
	if s, ok := constant.(*ast.StringNode); ok {
		at, want := index(id.Value), []byte(s.Value)
		return func(v *values) (bool, error) { return is[bytes.Compare(v.field(at), want)+1], nil }, true
	}
	want, ok := literal(constant)
	if !ok {
		return nil, false
	}
	at := index(id.Value)
	return func(v *values) (bool, error) {
		number, ok := v.number(at)
		if !ok {
			if len(v.field(at)) == 0 { // a comparison with a missing value is not true
				return false, nil
			}
			return false, v.noNumber(at)
		}
		return is[number.Compare(&want)+1], nil
	}, true
}

// literal returns the value of a node that is a constant number. literal converts a float to the
// shortest decimal with the same float64 value, which is normally the decimal in the user's
// expression.
func literal(node ast.Node) (exact.Number, bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return exact.Parse(fmt.Append(nil, n.Value))
	case *ast.FloatNode:
		return exact.Parse(fmt.Append(nil, n.Value))
	case *ast.UnaryNode:
		inner, ok := literal(n.Node)
		if n.Operator == "-" && ok && inner.Big == nil {
			inner.Mantissa = -inner.Mantissa
			return inner, true
		}
	}
	return exact.Number{}, false
}
