package scan

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// skip returns a function that reports whether the parameter where selects no record with the values of some columns, or
// nil if these columns cannot tell.
func skip(p Params, columns []string) func(r *dataset.Record) bool {
	q, err := newQuery(p)
	if err != nil || q.where == nil {
		return nil
	}
	tests, err := q.where.testsOf(columns, q.letNames())
	if err != nil || len(tests) == 0 {
		return nil
	}
	v := newValues(columns)
	return func(r *dataset.Record) bool {
		v.set(r)
		return slices.ContainsFunc(tests, func(t test) bool {
			is, err := t(v)
			return !is && err == nil
		})
	}
}

// testsOf returns the tests of those operands of and in the condition that use no other than the given columns, and no derived
// column. The condition is false if one of them is.
func (c *condition) testsOf(columns, derived []string) (tests []test, err error) {
	node, err := parse(c.source)
	if err != nil {
		return nil, err
	}
	for _, node := range operandsOfAnd(node) {
		operand := &condition{known: map[string]bool{}, texts: map[string]bool{}}
		ast.Walk(&node, operand)
		if slices.ContainsFunc(operand.columns, func(name string) bool { return !slices.Contains(columns, name) || slices.Contains(derived, name) }) {
			continue
		}
		t, err := c.compileNode(node, func(name string) int { return slices.Index(columns, name) })
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return tests, nil
}

func operandsOfAnd(node ast.Node) []ast.Node {
	if n, ok := node.(*ast.BinaryNode); ok && (n.Operator == "and" || n.Operator == "&&") {
		return append(operandsOfAnd(n.Left), operandsOfAnd(n.Right)...)
	}
	return []ast.Node{node}
}
