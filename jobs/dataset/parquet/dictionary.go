package parquet

import (
	"errors"

	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// Dictionary contains the different values of a column in a row group. Only one goroutine may use a
// Dictionary.
type Dictionary struct {
	of      library.Dictionary
	leaf    *leaf
	values  []library.Value
	numbers []Decimal      // numbers of the values; nil until the first one is needed
	large   []exact.Number // numbers that are not Decimals; their mantissas in numbers are the indices
}

var errCodes = errors.New("a page has a code that is not in the dictionary")

func newDictionary(of library.Dictionary, l *leaf) (*Dictionary, error) {
	n := of.Len()
	d := &Dictionary{of: of, leaf: l, values: make([]library.Value, n)}
	for i := range d.values {
		d.values[i] = of.Index(int32(i))
	}
	return d, l.check(d.values)
}

// codes returns the codes of a page, with -1 for null.
func (l *leaf) codes(page library.Page, d *Dictionary) ([]int32, error) {
	data := page.Data()
	codes := data.Int32()
	for _, code := range codes {
		if uint(code) >= uint(len(d.values)) {
			return nil, errCodes
		}
	}
	if page.NumNulls() == 0 {
		return codes, nil
	}
	levels := page.DefinitionLevels()
	all := make([]int32, len(levels))
	for i, level := range levels {
		switch {
		case int(level) != l.level:
			all[i] = -1
		case len(codes) == 0:
			return nil, errCodes
		default:
			all[i], codes = codes[0], codes[1:]
		}
	}
	return all, nil
}

// value returns the value with the given code, or null.
func (d *Dictionary) value(code int32) library.Value {
	if code < 0 {
		return library.NullValue()
	}
	return d.values[code]
}

// Len returns the number of values in the dictionary.
func (d *Dictionary) Len() int { return len(d.values) }

// Text returns the value with the given code as text.
func (d *Dictionary) Text(code int32) []byte {
	if d.leaf.kind == text {
		return d.values[code].ByteArray()
	}
	return d.leaf.append(nil, &d.values[code])
}

// decimals returns the numbers of all values.
func (d *Dictionary) decimals() []Decimal {
	if d.numbers == nil {
		d.numbers = make([]Decimal, len(d.values))
		for i := range d.values {
			var n exact.Number
			if d.numbers[i] = d.leaf.decimal(&d.values[i], &n); d.numbers[i].Scale() == large {
				d.numbers[i] = newDecimal(int64(len(d.large)), large)
				d.large = append(d.large, n)
			}
		}
	}
	return d.numbers
}

// number sets n to a value, and returns false if the value is not a number.
func (d *Dictionary) number(code int32, n *exact.Number) bool {
	switch at := d.decimals()[code]; at.Scale() {
	case noNumber:
		return false
	case large:
		*n = d.large[at.Mantissa()]
	default:
		*n = exact.Number{Mantissa: at.Mantissa(), Scale: at.Scale()}
	}
	return true
}
