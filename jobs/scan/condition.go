package scan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// condition is the value of the parameter where: an expression of package expr that uses the
// columns. Comparisons of a column with constants, combined by and, or and not, are evaluated by
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

// builtins are the functions of package expr that a condition may call. Their results depend only on
// their arguments, unlike those of now, of date, which uses the time zone of the host, and of keys, which
// has no fixed order.
var builtins = strings.Fields(`abs all any ceil count filter find findIndex findLast findLastIndex first flatten float floor
	hasPrefix hasSuffix indexOf int join last lastIndexOf len lower map max mean median min none one reduce repeat replace reverse
	round sort sortBy split splitAfter string sum take trim trimPrefix trimSuffix type uniq upper`)

func parseCondition(source string) (*condition, error) {
	if err := checkDepth(source); err != nil {
		return nil, err
	}
	tree, err := parse(source)
	if err != nil {
		return nil, err
	}
	c := &condition{known: map[string]bool{}, texts: map[string]bool{}, tree: tree, source: source, prefix: "parameter where: "}
	ast.Walk(&tree, c)
	if c.invalid != nil {
		return nil, c.invalid
	}
	if len(c.columns) == 0 {
		return nil, fmt.Errorf("%q has no column: want a comparison such as status >= 500", source)
	}
	if _, err := expr.Compile(source, expr.AllowUndefinedVariables(), expr.AsBool()); err != nil {
		return nil, err
	}
	if _, err := c.compile(func(string) int { return 0 }); err != nil {
		return nil, err
	}
	return c, nil
}

// parse parses a condition. The names of columns in $env become identifiers.
func parse(source string) (ast.Node, error) {
	config := conf.CreateNew()
	tree, err := parser.ParseWithConfig(source, config)
	if err != nil {
		return nil, explainSyntax(source, config, err)
	}
	var n quotedNames
	ast.Walk(&tree.Node, &n)
	return tree.Node, n.err
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
		if !slices.Contains(builtins, n.Name) {
			c.refuse("the function %s is not allowed here: want one of %s", n.Name, strings.Join(builtins, ", "))
		}
		switch n.Name {
		case "len", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "hasPrefix", "hasSuffix", "indexOf", "split":
			text(n.Arguments...)
		}
	}
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

// test reports whether a record satisfies a condition.
type test func(v *values) (bool, error)

// compile returns the test for a condition. It parses the condition again, because compileSlow changes the
// nodes. The function index must return the index of a column. Each
// operand of and, or and not is a test of its own, so that what it returns does not depend on the
// other operands.
func (c *condition) compile(index func(name string) int) (t test, err error) {
	tree, err := parse(c.source)
	if err != nil {
		return nil, err
	}
	return c.compileNode(tree, index)
}

// compileNode returns the test for a node of the condition.
func (c *condition) compileNode(node ast.Node, index func(name string) int) (t test, err error) {
	t, _ = compileFast(node, index, func(node ast.Node) test {
		operand, slowErr := c.compileSlow(node, index)
		err = errors.Join(err, slowErr)
		return operand
	})
	return t, err
}

// compileSlow returns the test for an expression that package expr evaluates.
func (c *condition) compileSlow(node ast.Node, index func(name string) int) (test, error) {
	operand := &condition{known: map[string]bool{}, texts: map[string]bool{}}
	ast.Walk(&node, operand)
	text, work := node.String(), newMeter()
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
	return func(v *values) (bool, error) {
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
			return false, fmt.Errorf("%s%w", c.prefix, work.err)
		}
		if err != nil {
			if empty { // a comparison with a missing value is not true
				return false, nil
			}
			message, _, _ := strings.Cut(err.Error(), "\n")
			if rest, ok := strings.CutPrefix(message, "invalid operation: "); ok {
				message = "cannot compute " + strings.NewReplacer("float64", "number", "string", "text").Replace(rest)
			}
			return false, errors.New(c.prefix + message)
		}
		is, ok := result.(bool)
		if !ok {
			return false, fmt.Errorf("%s%s is %v: want true or false, such as of a comparison", c.prefix, text, result)
		}
		return is, nil
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
