package scan

import (
	"encoding/binary"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// quantileNote says how large the error of a quantile can be. The width of a bin is 1/128 of its
// lower bound, and the result is the middle of a bin.
const quantileNote = "within 0.4 % of a value"

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

// middle returns the middle of a bin.
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
		return 0 // the bins on both sides of 0
	}
	a, b := edge(low), edge(high)
	return a + (b-a)/2
}

// histograms count how many values are in each bin. All bins have the same relative width. The
// counts do not depend on the order of the values.
type histograms struct {
	column int
	list   []map[uint32]uint64
}

func (h *histograms) bind(column int) { h.column = column }
func (h *histograms) grow()           { h.list = append(h.list, nil) }

func (h *histograms) add(group int, v *values) {
	if n, ok := v.number(h.column); ok {
		h.count(group, bin(n.Float()), 1)
	}
}

func (h *histograms) count(group int, bin uint32, n uint64) {
	if h.list[group] == nil {
		h.list[group] = map[uint32]uint64{}
	}
	h.list[group][bin] += n
}

func (h *histograms) merge(group int, from states, other int) {
	for bin, n := range from.(*histograms).list[other] {
		h.count(group, bin, n)
	}
}

func (h *histograms) append(b []byte, group int) []byte {
	bins := slices.Sorted(maps.Keys(h.list[group]))
	b = binary.AppendUvarint(b, uint64(len(bins)))
	last := uint32(0)
	for _, bin := range bins {
		b = binary.AppendUvarint(b, uint64(bin-last))
		b = binary.AppendUvarint(b, h.list[group][bin])
		last = bin
	}
	return b
}

func (h *histograms) read(b []byte) ([]byte, error) {
	h.grow()
	group := len(h.list) - 1
	length, size := binary.Uvarint(b)
	if size <= 0 || length > 1<<binBits {
		return nil, errStates
	}
	b = b[size:]
	bin := uint64(0)
	for range length {
		step, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, errStates
		}
		n, more := binary.Uvarint(b[size:])
		if bin += step; more <= 0 || bin >= 1<<binBits {
			return nil, errStates
		}
		h.count(group, uint32(bin), n)
		b = b[size+more:]
	}
	return b, nil
}

// result returns the middle of the bin that contains the value of rank ceil(q·n).
func (h *histograms) result(group int, a aggregate) (cell, error) {
	total := uint64(0)
	for _, n := range h.list[group] {
		total += n
	}
	if total == 0 {
		return null, nil
	}
	rank := max(1, uint64(math.Ceil(a.quantile*float64(total))))
	for _, bin := range slices.Sorted(maps.Keys(h.list[group])) {
		if n := h.list[group][bin]; n >= rank {
			return float(middle(bin)), nil
		} else {
			rank -= n
		}
	}
	return null, errStates
}

// distinctNote says how large the error of a distinct count is. With 2^14 registers the relative
// standard error of HyperLogLog is 1.04/2^7.
const distinctNote = "exact up to 4096, above that with a standard error of 0.8 %"

// maxExact is the maximum number of hashes that are kept. For more distinct values, registers are
// used instead.
const maxExact = 4096

// registerBits is the number of bits of a hash that determine its register.
const registerBits = 14

// distincts count distinct values by their hashes. Few values are counted exactly, and many with
// the registers of HyperLogLog (Flajolet et al. 2007).
type distincts struct {
	column int
	list   []distinct
}

type distinct struct {
	hashes    map[uint64]struct{} // nil when registers are used
	registers []uint8
}

func (d *distincts) bind(column int) { d.column = column }
func (d *distincts) grow()           { d.list = append(d.list, distinct{}) }

func (d *distincts) add(group int, v *values) {
	if field := v.field(d.column); len(field) > 0 {
		d.list[group].add(xxhash.Sum64(field))
	}
}

func (d *distinct) add(hash uint64) {
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

func (d *distinct) condense() {
	d.registers = make([]uint8, 1<<registerBits)
	for hash := range d.hashes {
		d.register(hash)
	}
	d.hashes = nil
}

func (d *distinct) register(hash uint64) {
	at := &d.registers[hash>>(64-registerBits)]
	*at = max(*at, uint8(bits.LeadingZeros64(hash<<registerBits|1<<(registerBits-1)))+1)
}

func (d *distincts) merge(group int, from states, other int) {
	into, with := &d.list[group], &from.(*distincts).list[other]
	if with.registers != nil {
		if into.registers == nil {
			into.condense()
		}
		for i, r := range with.registers {
			into.registers[i] = max(into.registers[i], r)
		}
		return
	}
	for hash := range with.hashes {
		into.add(hash)
	}
}

func (d *distincts) append(b []byte, group int) []byte {
	at := &d.list[group]
	if at.registers != nil {
		return append(append(b, 1), at.registers...)
	}
	b = binary.AppendUvarint(append(b, 0), uint64(len(at.hashes)))
	for _, hash := range slices.Sorted(maps.Keys(at.hashes)) {
		b = binary.LittleEndian.AppendUint64(b, hash)
	}
	return b
}

func (d *distincts) read(b []byte) ([]byte, error) {
	var at distinct
	switch {
	case len(b) > 1<<registerBits && b[0] == 1:
		at.registers = slices.Clone(b[1 : 1+1<<registerBits])
		b = b[1+1<<registerBits:]
	case len(b) > 1 && b[0] == 0:
		n, size := binary.Uvarint(b[1:])
		if b = b[1+max(size, 0):]; size <= 0 || n > maxExact || uint64(len(b)) < 8*n {
			return nil, errStates
		}
		for range n {
			at.add(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
	default:
		return nil, errStates
	}
	d.list = append(d.list, at)
	return b, nil
}

func (d *distincts) result(group int, _ aggregate) (cell, error) {
	at := &d.list[group]
	if at.registers == nil {
		return integer(uint64(len(at.hashes))), nil
	}
	return integer(at.estimate()), nil
}

// estimate is the improved estimator of Otmar Ertl (New cardinality estimation algorithms for
// HyperLogLog sketches, 2017, algorithm 6). Every processor rounds its operations in the same way.
func (d *distinct) estimate() uint64 {
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
