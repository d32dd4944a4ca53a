package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// columnType is an element of the parameter types: a column of the output with its type.
type columnType struct {
	name string
	typ  typed.Type
}

// parseTypes parses the value of the parameter types.
func parseTypes(text string) (list []columnType, err error) {
	for _, part := range splitOutside(text) {
		at := strings.LastIndexByte(part, ':')
		if at < 1 {
			return nil, fmt.Errorf("parameter types: %q: want a column and a type, such as amount:decimal(10,2)", part)
		}
		one := columnType{name: strings.TrimSpace(part[:at])}
		if one.typ, err = typed.Parse(strings.TrimSpace(part[at+1:])); err != nil {
			return nil, fmt.Errorf("parameter types: column %q: %w", one.name, err)
		}
		if slices.ContainsFunc(list, func(other columnType) bool { return other.name == one.name }) {
			return nil, fmt.Errorf("parameter types: column %q has two types: want one", one.name)
		}
		list = append(list, one)
	}
	return list, nil
}

// given returns the type that the parameter types gives a column of the output.
func (q query) given(name string) (typed.Type, bool) {
	for _, t := range q.types {
		if t.name == name {
			return t.typ, true
		}
	}
	return typed.Type{}, false
}

// checkTypes returns an error if the parameter types names a column that the output does not have.
func (q query) checkTypes(columns []string) error {
	for _, t := range q.types {
		if !slices.Contains(columns, t.name) {
			return fmt.Errorf("parameter types, of the output's columns: %w", names.Missing(t.name, columns))
		}
	}
	return nil
}

// outputColumns returns the columns of the output with their types. The columns have the types of the result. The parameter
// inputs has the types of the columns of the objects, as in dataset.Place.
func (q query) outputColumns(format output.Format, results []Column, inputs map[string]string) (columns []output.Column) {
	typeOf := q.typesOf(inputs)
	for i, c := range results {
		if t, ok := q.given(c.Name); ok {
			c.Type = t.String()
		} else if at := i - len(q.by); len(q.aggregates) > 0 && at >= 0 {
			c.Type = q.aggregates[at].outputType(c.Type, typeOf)
		} else if c.Type = typeOf(c.Name); c.Type == output.JSON && (format != output.NDJSON || len(q.aggregates) > 0) {
			c.Type = "text"
		}
		columns = append(columns, output.Column{Name: c.Name, Type: c.Type})
	}
	return columns
}

// outputType returns the type of an aggregate in the output. The parameter result is its type in the result.
func (a aggregate) outputType(result string, typeOf func(name string) string) string {
	if a.column == "" {
		return result
	}
	of := typeOf(a.column)
	switch {
	case a.takes == numbersOrTexts && of != "text" && of != output.JSON:
		return of
	case a.name == "sum":
		return numberType(of, of, larger)
	}
	return result
}

// typesOf returns a function that returns the type of a column: of a derived column that of its expression.
func (q query) typesOf(inputs map[string]string) func(name string) string {
	known := map[string]string{}
	typeOf := func(name string) string {
		return cmp.Or(known[name], inputs[name], "text")
	}
	for _, d := range q.let {
		node, err := parse(d.expression.source)
		if err != nil {
			continue // newQuery has parsed it
		}
		known[d.name] = typeOfNode(node, typeOf)
	}
	return typeOf
}

// typeOfNode returns the type of all values of an expression.
func typeOfNode(node ast.Node, typeOf func(name string) string) string {
	if constant, ok := literal(node); ok {
		return typed.NewDecimal(typed.MaxPrecision, min(constant.Scale, typed.MaxPrecision)).String()
	}
	switch n := node.(type) {
	case *ast.IdentifierNode:
		if t := typeOf(n.Value); t != output.JSON {
			return t
		}
	case *ast.ConditionalNode:
		return common(typeOfNode(n.Exp1, typeOf), typeOfNode(n.Exp2, typeOf))
	case *ast.BuiltinNode:
		return typeOfCall(n, typeOf)
	case *ast.UnaryNode:
		switch {
		case isTest(n.Operator):
			return "boolean"
		case n.Operator == "-" || n.Operator == "+":
			of := typeOfNode(n.Node, typeOf)
			return numberType(of, of, larger)
		}
	case *ast.BinaryNode:
		return typeOfBinary(n, typeOf)
	}
	return "text"
}

func typeOfBinary(n *ast.BinaryNode, typeOf func(name string) string) string {
	left, right := typeOfNode(n.Left, typeOf), typeOfNode(n.Right, typeOf)
	switch {
	case isTest(n.Operator):
		return "boolean"
	case alwaysText(n):
		return "text"
	case n.Operator == "+" || n.Operator == "-":
		return numberType(left, right, larger)
	case n.Operator == "*":
		return numberType(left, right, func(scale, other int) int { return scale + other })
	case n.Operator == "/" || n.Operator == "%" || n.Operator == "**" || n.Operator == "^":
		return "float"
	}
	return "text"
}

func typeOfCall(n *ast.BuiltinNode, typeOf func(name string) string) string {
	switch n.Name {
	case "coalesce":
		t := typeOfNode(n.Arguments[0], typeOf)
		for _, a := range n.Arguments[1:] {
			t = common(t, typeOfNode(a, typeOf))
		}
		return t
	case "date_trunc":
		if t := typeOfNode(n.Arguments[1], typeOf); t == "date" || strings.HasPrefix(t, "timestamp") {
			return t
		}
	case "len", "indexOf", "lastIndexOf":
		return "integer"
	case "abs", "round", "floor", "ceil", "float":
		return "float"
	}
	if f := scalarNamed(n.Name); f != nil && f.returns != "" {
		return f.returns
	}
	return "text"
}

// common returns the type of values that have one of two types.
func common(a, b string) string {
	if a == b {
		return a
	}
	if x, y := scaleOf(a), scaleOf(b); x >= 0 && y >= 0 {
		return numberType(a, b, larger)
	}
	return "text"
}

// numberType returns the type of exact results of numbers of two types. The number of digits after the point is known if it is
// known of both types.
func numberType(a, b string, scale func(a, b int) int) string {
	x, y := scaleOf(a), scaleOf(b)
	if x >= 0 && y >= 0 && scale(x, y) <= maxScale {
		return typed.NewDecimal(typed.MaxPrecision, scale(x, y)).String()
	}
	return typed.Type{Kind: typed.Decimal}.String()
}

func larger(a, b int) int { return max(a, b) }

// maxScale is the largest number of digits after the point of a type that a computation has, so that 20 digits are left before it.
const maxScale = 18

// scaleOf returns the number of digits after the point of all values of a type, or -1 if it is not known.
func scaleOf(name string) int {
	switch t, err := typed.Parse(name); {
	case err != nil:
	case t.Kind == typed.Integer, t.Kind == typed.Decimal && t.Precision > 0:
		return t.Scale
	}
	return -1
}
