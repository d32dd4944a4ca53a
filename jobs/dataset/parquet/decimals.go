package parquet

import (
	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// Decimal is the number Mantissa · 10^-Scale. If Scale is negative, there is no number, or the number is not a Decimal.
type Decimal struct {
	Mantissa int64
	Scale    int
}

const (
	noNumber = -1 // Scale of a null, or of a value that is not a number
	large    = -2 // Scale of a number whose mantissa is not an int64
)

// decimal returns the number of a value, and uses n for it.
func (l *leaf) decimal(v *library.Value, n *exact.Number) Decimal {
	switch {
	case !l.number(v, n):
		return Decimal{Scale: noNumber}
	case n.Big != nil:
		return Decimal{Scale: large}
	}
	return Decimal{n.Mantissa, n.Scale}
}

// Decimals returns the numbers of a column in the rows from the current one to the end of the batch: a row has the number
// with the row's code, or none if the code is -1. The Scale of a value that is not a Decimal is negative.
func (r *Rows) Decimals(i int) (codes []int32, numbers []Decimal) {
	c := &r.columns[i]
	if c.dictionary != nil {
		return c.indices[r.at:r.count], c.dictionary.decimals()
	}
	if len(c.indices) == 0 {
		c.setDecimals(r.count)
	}
	return c.indices[r.at:r.count], c.decimals
}

// setDecimals sets the decimals of the batch, and the indices of the rows in them.
func (c *column) setDecimals(rows int) {
	c.indices = c.indices[:0]
	for i := range c.values[:rows] {
		v := &c.values[i]
		if v.IsNull() {
			c.indices = append(c.indices, -1)
			continue
		}
		var n exact.Number
		c.indices = append(c.indices, int32(len(c.decimals)))
		c.decimals = append(c.decimals, c.leaf.decimal(v, &n))
	}
}
