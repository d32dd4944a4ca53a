package glm

import "math"

// bins adds lists of products. A row has a factor f for all products of its list. Each product is cut off 52 bits after
// the leading bit of f, and what is left is added without an error. The sums therefore do not depend on the order of
// the rows, or on their division into partitions. An addition costs as much as one of floats: products of factors with
// the same exponent are added as integers of 64 bits.
type bins struct {
	total *sums
	index [2048]*bin // by the biased exponent of the factor
	used  []*bin
}

// bin contains the products of rows whose factors have the same exponent.
type bin struct {
	exponent int // exponent of the sums' unit
	scale    float64
	sums     []int64
	rows     int // number of rows in sums, or in waiting

	waiting [4]int // rows that the user of the bin adds together
	count   int    // number of rows in waiting
}

const (
	// productBits is the number of bits of a product whose factors other than f are 1.
	productBits = 52
	// maxBinned is the maximum number of rows in a bin. Each product is below 2^(productBits+1) in magnitude.
	maxBinned = 1 << 9
	// tiny is the magnitude below which a factor counts as 0.
	tiny = 0x1p-900
)

// negligible reports whether a factor counts as 0.
func negligible(factor float64) bool { return factor > -tiny && factor < tiny }

func newBins(count int) *bins { return &bins{total: newSums(count)} }

// of returns the bin of a factor, and makes room in it for one row. The factor must be finite and not negligible.
func (b *bins) of(factor float64) *bin {
	biased := math.Float64bits(factor) >> 52 & 0x7ff
	at := b.index[biased]
	if at == nil {
		e := int(biased) - 1023
		at = &bin{exponent: e - productBits, scale: power(productBits - e), sums: make([]int64, b.total.Count)}
		b.index[biased], b.used = at, append(b.used, at)
	}
	if at.rows++; at.rows > maxBinned {
		b.flush(at)
		at.rows = at.count + 1
	}
	return at
}

func (b *bins) flush(at *bin) {
	b.total.addAll(at.sums, at.exponent)
	clear(at.sums)
	at.rows = 0
}

// end returns the sums.
func (b *bins) end() *sums {
	for _, at := range b.used {
		b.flush(at)
	}
	b.total.normalize()
	return b.total
}
