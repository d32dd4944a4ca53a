package scan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// condition is the value of the parameter where: an expression of package expr that uses the
// columns. The parameter having is a condition too, and the expressions of let have the same type. Comparisons of a column with constants, combined by and, or and not, are evaluated by
// faster code of this package.
type condition struct {
	columns []string        // columns that the expression reads
	known   map[string]bool // set of columns
	texts   map[string]bool // columns that the expression uses as text
	tree    ast.Node
	source  string
	prefix  string // beginning of the errors of operands that package expr evaluates
	invalid error  // the first node that no condition may have
}

func parseCondition(source string) (*condition, error) {
	c, err := parseSource(source, expr.AsBool())
	if err != nil {
		return nil, err
	}
	if len(c.columns) == 0 {
		return nil, fmt.Errorf("%q has no column: want a comparison such as status >= 500", source)
	}
	c.prefix = "parameter where: "
	_, err = c.compile(func(string) int { return 0 })
	return c, err
}

// parseExpression parses an expression whose value is a text or a number.
func parseExpression(source string) (*condition, error) {
	c, err := parseSource(source)
	if err != nil {
		return nil, err
	}
	_, _, err = c.compileText(func(string) int { return 0 })
	return c, err
}

// test reports whether a record satisfies a condition.
type test func(v *values) (bool, error)

// compile returns the test for a condition. It parses the condition again, because compileSlow changes the
// nodes. The function index must return the index of a column. Each
// operand of and, or and not is a test of its own, so that what it returns does not depend on the
// other operands.
func (c *condition) compile(index func(name string) int) (t test, err error) {
	node, err := parse(c.source)
	if err != nil {
		return nil, err
	}
	return c.compileNode(node, index)
}

// compileNode returns the test for a node of the condition.
func (c *condition) compileNode(node ast.Node, index func(name string) int) (t test, err error) {
	t, _ = compileFast(node, index, func(node ast.Node) test {
		text := node.String()
		operand, slowErr := c.compileSlow(node, index)
		err = errors.Join(err, slowErr)
		return c.truth(text, operand)
	})
	return t, err
}

// truth returns the test for an operand that package expr evaluates.
func (c *condition) truth(text string, operand func(v *values) (any, error)) test {
	return func(v *values) (bool, error) {
		result, err := operand(v)
		if errors.Is(err, errMissing) { // a comparison with a missing value is not true
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("%s%w", c.prefix, err)
		}
		is, ok := result.(bool)
		if !ok {
			return false, fmt.Errorf("%s%s is %v: want true or false, such as of a comparison", c.prefix, text, result)
		}
		return is, nil
	}
}

// compileSlow returns a function for an expression that package expr evaluates. Its error is errMissing if the
// expression cannot be evaluated and a field is empty.
func (c *condition) compileSlow(node ast.Node, index func(name string) int) (func(v *values) (any, error), error) {
	operand := &condition{known: map[string]bool{}, texts: map[string]bool{}}
	ast.Walk(&node, operand)
	work := newMeter()
	ast.Walk(&node, work)
	config := work.config()
	tree := &parser.Tree{Node: node, Source: file.NewSource(c.source)}
	if _, err := checker.Check(tree, config); err != nil {
		return nil, err
	}
	program, err := compiler.Compile(tree, config)
	if err != nil {
		return nil, err
	}
	env := map[string]any{}
	machine := vm.VM{}
	columns := make([]int, len(operand.columns))
	for i, name := range operand.columns {
		columns[i] = index(name)
	}
	return func(v *values) (any, error) {
		empty, bytes := false, 0
		for i, name := range operand.columns {
			field := v.field(columns[i])
			bytes += len(field)
			empty = empty || len(field) == 0
			env[name] = string(field)
			if !operand.texts[name] {
				if n, ok := v.number(columns[i]); ok {
					env[name] = n.Float()
				} else if f, ok := v.notFinite(columns[i]); ok {
					env[name] = f
				}
			}
		}
		work.begin(bytes)
		result, err := machine.Run(program, env)
		if work.err != nil {
			return nil, work.err
		}
		if err != nil {
			if empty {
				return nil, errMissing
			}
			message, _, _ := strings.Cut(err.Error(), "\n")
			if rest, ok := strings.CutPrefix(message, "invalid operation: "); ok {
				message = "cannot compute " + strings.NewReplacer("float64", "number", "int ", "number ", "string", "text").Replace(rest)
			}
			return nil, errors.New(message)
		}
		return result, nil
	}, nil
}

// compileFast compiles and, or, not, and comparisons of columns with constants. For another
// expression, compileFast calls slow, and returns false.
func compileFast(node ast.Node, index func(name string) int, slow func(ast.Node) test) (t test, fast bool) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator != "not" && n.Operator != "!" {
			break
		}
		inner, fast := compileFast(n.Node, index, slow)
		return func(v *values) (bool, error) {
			is, err := inner(v)
			return !is && err == nil, err
		}, fast
	case *ast.BuiltinNode:
		if t, ok := compileLike(n, index); ok {
			return t, true
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			left, fast := compileFast(n.Left, index, slow)
			right, also := compileFast(n.Right, index, slow)
			ends := n.Operator == "or" || n.Operator == "||" // the value of the left operand for which the right operand need not be evaluated
			return func(v *values) (bool, error) {
				if is, err := left(v); err != nil || is == ends {
					return is, err
				}
				return right(v)
			}, fast && also
		}
		if t, ok := compileTextOperator(n, index); ok {
			return t, true
		}
		if t, ok := compileComparison(n, index); ok {
			return t, true
		}
	}
	return slow(node), false
}

// compileTextOperator compiles an operator that applies to a column and constant texts.
func compileTextOperator(n *ast.BinaryNode, index func(name string) int) (test, bool) {
	id, ok := n.Left.(*ast.IdentifierNode)
	if !ok {
		return nil, false
	}
	if list, ok := n.Right.(*ast.ArrayNode); ok && n.Operator == "in" && len(list.Nodes) > 0 {
		var constants []string
		for _, node := range list.Nodes {
			s, ok := node.(*ast.StringNode)
			if !ok {
				return nil, false
			}
			constants = append(constants, s.Value)
		}
		return textSet(index(id.Value), constants), true
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
	if left, both := n.Left.(*ast.IdentifierNode); both && ok {
		if right, both := n.Right.(*ast.IdentifierNode); both {
			return compareColumns(index(left.Value), index(right.Value), n.Operator), true
		}
	}
	if _, swapped := n.Right.(*ast.IdentifierNode); swapped {
		column, constant = n.Right, n.Left
		is[0], is[2] = is[2], is[0]
	}
	id, isColumn := column.(*ast.IdentifierNode)
	if !ok || !isColumn {
		return nil, false
	}
	if s, ok := constant.(*ast.StringNode); ok {
		order := textOrder(index(id.Value), s.Value)
		return func(v *values) (bool, error) {
			sign, err := order(v)
			return is[sign+1] && err == nil, err
		}, true
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
			f, ok := v.notFinite(at)
			switch {
			case !ok:
				return false, v.noNumber(at)
			case math.IsNaN(f):
				return n.Operator == "!=", nil
			}
			return is[1+int(math.Copysign(1, f))], nil
		}
		return is[number.Compare(&want)+1], nil
	}, true
}

// compareColumns returns the test for a comparison of two columns. Two numbers are compared as numbers, and
// two other texts as texts. A number and a text are not equal, and have no order.
func compareColumns(left, right int, operator string) test {
	is := signs[operator]
	return func(v *values) (bool, error) {
		x, xNumber := v.number(left)
		y, yNumber := v.number(right)
		if xNumber && yNumber {
			return is[x.Compare(y)+1], nil
		}
		f, xFloat := v.float(left)
		g, yFloat := v.float(right)
		a, b := v.field(left), v.field(right)
		switch {
		case xFloat && yFloat && (math.IsNaN(f) || math.IsNaN(g)):
			return operator == "!=", nil
		case xFloat && yFloat:
			return is[cmp.Compare(f, g)+1], nil
		case !xFloat && !yFloat:
			return is[compareTexts(a, b)+1], nil
		case operator == "==" || operator == "!=":
			return operator == "!=", nil
		case len(a) == 0 || len(b) == 0: // a comparison with a missing value is not true
			return false, nil
		}
		return false, fmt.Errorf("%s is %.80q and %s is %.80q: want two numbers or two texts, such as string(%[1]s) %[5]s string(%[3]s)",
			v.names[left], a, v.names[right], b, operator)
	}
}

// literal returns the value of a node that is a constant number. It converts a float to the
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
