package scan

import "github.com/expr-lang/expr/ast"

// shifts are the integers that must be added to the numbers of one column to get the columns of the aggregates of a query.
// The plain of the sums of x, x + 1 and x + 2 is that of x, if all numbers are integers.
type shifts []int64

// shiftOf returns the column and the integer whose sum an expression is. For another expression, ok is false.
func shiftOf(node ast.Node, index func(name string) int) (column int, by int64, ok bool) {
	n, ok := node.(*ast.BinaryNode)
	if !ok || n.Operator != "+" && n.Operator != "-" {
		return 0, 0, false
	}
	operand, constant := n.Left, n.Right
	if _, swapped := n.Right.(*ast.IdentifierNode); swapped && n.Operator == "+" {
		operand, constant = n.Right, n.Left
	}
	id, isColumn := operand.(*ast.IdentifierNode)
	number, isNumber := literal(constant)
	if !isColumn || !isNumber || number.Big != nil || number.Scale > 0 || number.Mantissa > maxPlain || number.Mantissa < -maxPlain {
		return 0, 0, false
	}
	if by = number.Mantissa; n.Operator == "-" {
		by = -by
	}
	return index(id.Value), by, true
}

// shiftedColumn returns the column of which all aggregates are, perhaps shifted, if plains of it suffice. Otherwise the column is -1.
func (v *values) shiftedColumn(all []aggregate, columns []int) (column int, by shifts) {
	of, by := make([]int, len(columns)), make(shifts, len(columns))
	for i, c := range columns {
		if of[i] = c; c >= 0 && c < len(v.derived) && v.derived[c].shifted {
			of[i], by[i] = v.derived[c].column, v.derived[c].shift
		}
	}
	return plainColumn(all, of), by
}

// plain returns the plain of the column of an aggregate, given that of the column which is not shifted. The sum fits, because
// both the sum of a plain and the product of count and shift are at most maxPlainSum.
func (s shifts) plain(of *plain, aggregate int) *plain {
	if s == nil {
		return of
	}
	by := s[aggregate]
	return &plain{of.count, of.sum + int64(of.count)*by, of.min + by, of.max + by, of.scale}
}
