// Package sketch counts distinct values and finds quantiles in little memory. A sketch depends only on
// the values that were added, not on their order or on how they were merged.
package sketch

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// ErrDamaged is the error for bytes that are not an encoded sketch.
var ErrDamaged = errors.New("damaged sketch")

// binBits is the number of leading bits of a float64 that determine its bin: the sign, 11 bits of
// the exponent and 7 bits of the mantissa.
const binBits = 19

// bin returns the bin of a float. A bin with a higher number contains larger floats.
func bin(f float64) uint32 {
	b := math.Float64bits(f + 0) // -0 becomes 0
	if b>>63 == 1 {
		b = ^b
	} else {
		b |= 1 << 63
	}
	return uint32(b >> (64 - binBits))
}

func middle(bin uint32) float64 {
	edge := func(b uint64) float64 {
		if b>>63 == 1 {
			return math.Float64frombits(b &^ (1 << 63))
		}
		return math.Float64frombits(^b)
	}
	low := uint64(bin) << (64 - binBits)
	high := low | (1<<(64-binBits) - 1)
	if zero := uint64(1) << 63; low == zero || high == zero-1 {
		return 0 // the bins on both sides of 0 have the middle 0
	}
	a, b := edge(low), edge(high)
	switch { // the bins of the infinities also contain NaNs
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + (b-a)/2
}

// Histogram contains the number of values in each bin. All bins have the same relative width. A nil
// Histogram can be read and merged, but not added to.
type Histogram map[uint32]uint64

// Add adds a value.
func (h Histogram) Add(f float64) { h[bin(f)]++ }

// Merge adds the values of another histogram.
func (h Histogram) Merge(other Histogram) {
	for bin, n := range other {
		h[bin] += n
	}
}

// Append appends the encoded histogram.
func (h Histogram) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(h)))
	last := uint32(0)
	for _, bin := range slices.Sorted(maps.Keys(h)) {
		b = binary.AppendUvarint(b, uint64(bin-last))
		b = binary.AppendUvarint(b, h[bin])
		last = bin
	}
	return b
}

// ReadHistogram decodes a histogram and returns the bytes after it.
func ReadHistogram(b []byte) (h Histogram, rest []byte, err error) {
	length, size := binary.Uvarint(b)
	if size <= 0 || length > 1<<binBits {
		return nil, nil, ErrDamaged
	}
	b, h = b[size:], Histogram{}
	bin := uint64(0)
	for range length {
		step, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, nil, ErrDamaged
		}
		n, more := binary.Uvarint(b[size:])
		if bin += step; more <= 0 || bin >= 1<<binBits {
			return nil, nil, ErrDamaged
		}
		h[uint32(bin)] += n
		b = b[size+more:]
	}
	return h, b, nil
}

// Count returns the number of values.
func (h Histogram) Count() (total uint64) {
	for _, n := range h {
		total += n
	}
	return total
}

// Quantile returns the middle of the bin that contains the value of rank ceil(q·n). Quantile
// returns NaN if the histogram is empty.
func (h Histogram) Quantile(q float64) float64 {
	rank := Rank(q, h.Count())
	for _, bin := range slices.Sorted(maps.Keys(h)) {
		n := h[bin]
		if n >= rank {
			return middle(bin)
		}
		rank -= n
	}
	return math.NaN()
}

// Rank returns the rank ceil(q·n) of a quantile, at least 1, where q is exactly the shortest decimal of the float64. The product of
// floats would be above 7 for 0.07·100.
func Rank(q float64, n uint64) uint64 {
	product, _ := new(big.Rat).SetString(strconv.FormatFloat(q, 'f', -1, 64))
	product.Mul(product, new(big.Rat).SetInt(new(big.Int).SetUint64(n)))
	rank, rest := new(big.Int).DivMod(product.Num(), product.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		rank.Add(rank, big.NewInt(1))
	}
	return max(1, rank.Uint64())
}

// maxExact is the maximum number of hashes that are kept. If more distinct values are added, the
// sketch uses registers instead.
const maxExact = 4096

// Exact reports whether the count is exact.
func (d *Distinct) Exact() bool { return d.registers == nil }

// registerBits is the number of bits of a hash that determine its register.
const registerBits = 14

// Distinct counts distinct values by their hashes. A small number of values is counted exactly. A
// large number is estimated with the registers of HyperLogLog (Flajolet et al. 2007). The zero
// value is empty.
type Distinct struct {
	hashes    map[uint64]struct{} // hashes of the values; nil if registers are used
	registers []uint8
}

// Add adds a value.
func (d *Distinct) Add(value []byte) { d.add(xxhash.Sum64(value)) }

func (d *Distinct) add(hash uint64) {
	if d.registers != nil {
		d.register(hash)
		return
	}
	if d.hashes == nil {
		d.hashes = map[uint64]struct{}{}
	}
	if d.hashes[hash] = struct{}{}; len(d.hashes) > maxExact {
		d.condense()
	}
}

func (d *Distinct) condense() {
	d.registers = make([]uint8, 1<<registerBits)
	for hash := range d.hashes {
		d.register(hash)
	}
	d.hashes = nil
}

func (d *Distinct) register(hash uint64) {
	at := &d.registers[hash>>(64-registerBits)]
	*at = max(*at, uint8(bits.LeadingZeros64(hash<<registerBits|1<<(registerBits-1)))+1)
}

// Merge adds the values of another sketch.
func (d *Distinct) Merge(other *Distinct) {
	if other.registers != nil {
		if d.registers == nil {
			d.condense()
		}
		for i, r := range other.registers {
			d.registers[i] = max(d.registers[i], r)
		}
		return
	}
	for hash := range other.hashes {
		d.add(hash)
	}
}

// Append appends the encoded sketch.
func (d *Distinct) Append(b []byte) []byte {
	if d.registers != nil {
		return append(append(b, 1), d.registers...)
	}
	b = binary.AppendUvarint(append(b, 0), uint64(len(d.hashes)))
	for _, hash := range slices.Sorted(maps.Keys(d.hashes)) {
		b = binary.LittleEndian.AppendUint64(b, hash)
	}
	return b
}

// ReadDistinct decodes a sketch and returns the bytes after it.
func ReadDistinct(b []byte) (d Distinct, rest []byte, err error) {
	switch {
	case len(b) > 1<<registerBits && b[0] == 1:
		d.registers = slices.Clone(b[1 : 1+1<<registerBits])
		return d, b[1+1<<registerBits:], nil
	case len(b) > 1 && b[0] == 0:
		n, size := binary.Uvarint(b[1:])
		if b = b[1+max(size, 0):]; size <= 0 || n > maxExact || uint64(len(b)) < 8*n {
			return d, nil, ErrDamaged
		}
		for range n {
			d.add(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
		return d, b, nil
	}
	return d, nil, ErrDamaged
}

// Count returns the number of distinct values.
func (d *Distinct) Count() uint64 {
	if d.registers == nil {
		return uint64(len(d.hashes))
	}
	return d.estimate()
}

// estimate is the improved estimator of Otmar Ertl (New cardinality estimation algorithms for
// HyperLogLog sketches, 2017, algorithm 6). The operations of estimate are rounded in the same way
// on every processor.
func (d *Distinct) estimate() uint64 {
	const m, q = 1 << registerBits, 64 - registerBits
	var histogram [q + 2]float64
	for _, r := range d.registers {
		histogram[min(r, q+1)]++
	}
	z := float64(m * tau(1-histogram[q+1]/m))
	for k := q; k >= 1; k-- {
		z = 0.5 * (z + histogram[k])
	}
	z += float64(m * sigma(histogram[0]/m))
	return uint64(math.Round(m / z * m / (2 * math.Ln2)))
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for last := math.NaN(); z != last; {
		last = z
		x *= x
		z += float64(x * y)
		y += y
	}
	return z
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for last := math.NaN(); z != last; {
		last = z
		x = math.Sqrt(x)
		y *= 0.5
		z -= float64(float64((1-x)*(1-x)) * y)
	}
	return z / 3
}
