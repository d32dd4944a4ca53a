package scan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// textOf computes the text of a derived column from the other columns of a record. Nil is a missing value.
type textOf func(v *values) ([]byte, error)

// errMissing is the error of an expression that cannot be evaluated because a field is empty.
var errMissing = errors.New("a field is missing")

// compileText returns the function that computes the value of an expression, and the function that computes it if it
// is a number, which is nil for a column or for a constant.
func (c *condition) compileText(index func(name string) int) (textOf, numberOf, error) {
	node, err := parse(c.source)
	if err != nil {
		return nil, nil, err
	}
	var number numberOf
	if _, ok := node.(*ast.IdentifierNode); !ok {
		number = compileNumber(node, index)
	}
	text, err := c.compileValue(node, index)
	return text, number, err
}

// compileValue compiles columns, constants, choices, conditions, and sums, differences and products of
// numbers, which are exact. Package expr evaluates other expressions.
func (c *condition) compileValue(node ast.Node, index func(name string) int) (textOf, error) {
	if constant, ok := literal(node); ok {
		text := []byte(constant.Short().String())
		return func(*values) ([]byte, error) { return text, nil }, nil
	}
	switch n := node.(type) {
	case *ast.IdentifierNode:
		at := index(n.Value)
		return func(v *values) ([]byte, error) {
			field := v.field(at)
			if _, is := v.number(at); !is {
				if _, other := exact.Parse(field); other { // the text would be read as a number, which is in another notation
					return nil, v.noNumber(at)
				}
			}
			return field, nil
		}, nil
	case *ast.StringNode:
		text := []byte(n.Value)
		return func(*values) ([]byte, error) { return text, nil }, nil
	case *ast.ConditionalNode:
		return c.compileChoice(n, index)
	case *ast.BuiltinNode:
		if n.Name == "coalesce" {
			return c.compileCoalesce(n, index)
		}
		if replace := compileReplace(n, index); replace != nil {
			return replace, nil
		}
	case *ast.UnaryNode:
		if isTest(n.Operator) {
			return c.compileTruth(node, index)
		}
	case *ast.BinaryNode:
		if isTest(n.Operator) {
			return c.compileTruth(node, index)
		}
	}
	number := compileNumber(node, index)
	slow, err := c.compileSlow(node, index)
	if err != nil {
		return nil, err
	}
	return func(v *values) ([]byte, error) {
		if number != nil {
			if n, ok, err := number(v); ok || err != nil {
				short := n.Short()
				return short.Append(nil), err
			}
		}
		result, err := slow(v)
		if errors.Is(err, errMissing) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return appendValue(result)
	}, nil
}

// isTest reports whether the result of an operator is true or false.
func isTest(operator string) bool {
	_, compares := signs[operator]
	return compares || slices.Contains([]string{"and", "&&", "or", "||", "not", "!", "in", "contains", "startsWith", "endsWith", "matches"}, operator)
}

func (c *condition) compileTruth(node ast.Node, index func(name string) int) (textOf, error) {
	is, err := c.compileNode(node, index)
	if err != nil {
		return nil, err
	}
	return func(v *values) ([]byte, error) {
		yes, err := is(v)
		return strconv.AppendBool(nil, yes), err
	}, nil
}

// compileChoice compiles a ? b : c. The operands b and c are fields as they are, and not numbers that
// package expr rounds.
func (c *condition) compileChoice(n *ast.ConditionalNode, index func(name string) int) (textOf, error) {
	is, err := c.compileNode(n.Cond, index)
	yes, yesErr := c.compileValue(n.Exp1, index)
	no, noErr := c.compileValue(n.Exp2, index)
	if err := errors.Join(err, yesErr, noErr); err != nil {
		return nil, err
	}
	return func(v *values) ([]byte, error) {
		chosen, err := is(v)
		switch {
		case err != nil:
			return nil, err
		case chosen:
			return yes(v)
		}
		return no(v)
	}, nil
}

// compileCoalesce compiles the first of several values that is not missing.
func (c *condition) compileCoalesce(n *ast.BuiltinNode, index func(name string) int) (textOf, error) {
	var list []textOf
	for _, argument := range n.Arguments {
		one, err := c.compileValue(argument, index)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return func(v *values) ([]byte, error) {
		for _, one := range list {
			if text, err := one(v); err != nil || len(text) > 0 {
				return text, err
			}
		}
		return nil, nil
	}, nil
}

// numberOf computes an exact number. The result ok is false if an operand is not a number.
type numberOf func(v *values) (n exact.Number, ok bool, err error)

var errDigits = fmt.Errorf("the result of +, - or * has more than %d digits: want smaller numbers", exact.MaxDigits)

// compileNumber compiles sums, differences and products of columns, constants, and the calls that compileCall compiles. For
// another expression it returns nil.
func compileNumber(node ast.Node, index func(name string) int) numberOf {
	if constant, ok := literal(node); ok {
		return func(*values) (exact.Number, bool, error) { return constant, true, nil }
	}
	switch n := node.(type) {
	case *ast.IdentifierNode:
		at := index(n.Value)
		return func(v *values) (exact.Number, bool, error) {
			number, ok := v.number(at)
			return *number, ok, nil
		}
	case *ast.UnaryNode:
		inner := compileNumber(n.Node, index)
		if inner == nil || n.Operator != "-" && n.Operator != "+" {
			return nil
		}
		negative := n.Operator == "-"
		return func(v *values) (exact.Number, bool, error) {
			x, ok, err := inner(v)
			if ok && negative {
				x = x.Negative()
			}
			return x, ok, err
		}
	case *ast.BinaryNode:
		left, right := compileNumber(n.Left, index), compileNumber(n.Right, index)
		if left == nil || right == nil {
			return nil
		}
		return arithmetic(n.Operator, left, right)
	case *ast.BuiltinNode:
		return compileCall(n, index)
	}
	return nil
}

// arithmetic returns the function for an operator, or nil if its results are not exact.
func arithmetic(operator string, left, right numberOf) numberOf {
	if operator != "+" && operator != "-" && operator != "*" {
		return nil
	}
	return func(v *values) (result exact.Number, ok bool, err error) {
		x, ok, err := left(v)
		if !ok || err != nil {
			return result, false, err
		}
		y, ok, err := right(v)
		if !ok || err != nil {
			return result, false, err
		}
		switch operator {
		case "*":
			result, ok = x.Times(&y)
		case "-":
			y = y.Negative()
			result, ok = x.Plus(&y)
		default:
			result, ok = x.Plus(&y)
		}
		if !ok {
			return result, false, errDigits
		}
		return result, true, nil
	}
}

// appendValue returns the text of a value of package expr. A number that is infinite or NaN is a missing
// value.
func appendValue(value any) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(value), nil
	case bool:
		return strconv.AppendBool(nil, value), nil
	case int:
		return strconv.AppendInt(nil, int64(value), 10), nil
	case float64:
		return appendFloat(value), nil
	}
	return nil, fmt.Errorf("the value is a list or a map: want a text or a number, such as of join(list, ',')")
}

// appendFloat returns the shortest decimal with the same float64 value, without an exponent unless it is
// very large or very small.
func appendFloat(f float64) []byte {
	switch size := math.Abs(f); {
	case math.IsInf(f, 0) || math.IsNaN(f):
		return nil
	case size == 0:
		return []byte("0")
	case size < 1e-6 || size >= 1e21:
		return strconv.AppendFloat(nil, f, 'g', -1, 64)
	}
	return strconv.AppendFloat(nil, f, 'f', -1, 64)
}
