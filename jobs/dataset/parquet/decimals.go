package parquet

import (
	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// Decimal is a number that most columns have. Its 8 bytes are the mantissa and, in the last byte, the scale, so that the
// numbers of a dictionary are in the fastest cache of the processor. If the scale is negative, there is no number, or the number is
// not a Decimal.
type Decimal int64

// Mantissa returns the number multiplied by 10^Scale.
func (d Decimal) Mantissa() int64 { return int64(d) >> 8 }

// Scale returns the number of digits after the decimal point, or a negative number.
func (d Decimal) Scale() int { return int(int8(d)) }

const (
	noNumber = -1 // Scale of a value that is not a number
	large    = -2 // Scale of a number whose mantissa needs more than 56 bits
)

func newDecimal(mantissa int64, scale int) Decimal { return Decimal(mantissa<<8 | int64(uint8(scale))) }

// decimal returns the number of a value, and sets n to the number if it is large.
func (l *leaf) decimal(v *library.Value, n *exact.Number) Decimal {
	if !l.number(v, n) {
		return newDecimal(0, noNumber)
	}
	d := newDecimal(n.Mantissa, n.Scale)
	if n.Big != nil || d.Mantissa() != n.Mantissa {
		return newDecimal(0, large)
	}
	return d
}

// Decimals returns the numbers of a column in the rows from the current one to the end of the batch: a row has the number
// with the row's code, or none if the code is -1.
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
