package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// kernel folds rows of delimited text for the most common queries. A query with a kernel has
// aggregates of one column that need only a plain, groups by one other column, and has no parameters
// where and let. A kernel finds the two fields eight bytes at a time, and folds them without a Record. At
// every unusual row, and at a new group if the table is full, the kernel stops, and a grouper folds
// the row. A kernel therefore changes the speed of a query but not its result.
type kernel struct {
	simple

	delimiter byte
	keyEnd    byte // byte after the key: the delimiter or a line end
	keyFirst  bool // true if the column of by is before the column of the aggregates
	before    int  // number of columns before the first of the kernel's two columns
	between   int  // number of columns between the kernel's two columns
	after     int  // number of columns after the second of the kernel's two columns
}

// simple describes a query that a kernel can compute.
type simple struct {
	aggregates []aggregate
	columns    []int  // index of each aggregate's column in the query
	by, of     string // names of the columns of the keys and of the aggregates
}

// simpleQuery returns the description of a query. The result ok is false if kernels cannot compute
// the query.
func simpleQuery(p Params) (s simple, ok bool) {
	q, err := newQuery(p)
	if err != nil || q.where != nil || len(q.let) > 0 || len(q.by) != 1 || len(q.aggregates) == 0 {
		return s, false
	}
	names := q.inputColumns()
	s = simple{aggregates: q.aggregates, columns: make([]int, len(q.aggregates)), by: q.by[0]}
	for i, a := range q.aggregates {
		s.columns[i] = slices.Index(names, a.column)
	}
	column := plainColumn(q.aggregates, s.columns)
	if column < 0 || names[column] == s.by {
		return s, false
	}
	s.of = names[column]
	return s, true
}

// bind prepares a table for the aggregates of the query.
func (s simple) bind(t *table) {
	if !t.bound {
		t.bind(s.aggregates, s.columns)
	}
}

// newKernel returns a kernel for a query, or nil if a kernel cannot fold rows for the query.
func newKernel(p Params, d dataset.Delimited) *kernel {
	q, ok := simpleQuery(p)
	key, value := slices.Index(d.Columns, q.by), slices.Index(d.Columns, q.of)
	if !ok || key < 0 || value < 0 {
		return nil
	}
	first, second := min(key, value), max(key, value)
	k := &kernel{
		simple: q, delimiter: d.Delimiter, keyEnd: d.Delimiter,
		keyFirst: key < value, before: first, between: second - first - 1, after: len(d.Columns) - second - 1,
	}
	if !k.keyFirst && k.after == 0 {
		k.keyEnd = '\n'
	}
	return k
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// load returns the eight bytes of text at an offset.
func load(text []byte, at int) uint64 { return binary.LittleEndian.Uint64(text[at:]) }

// first returns a word in which the highest bit of the first zero byte of x is set. Bits of later
// bytes may be set too. If no byte is 0, first returns 0.
func first(x uint64) uint64 { return (x - ones) & ^x & highs }

// zeros returns a word in which exactly the highest bits of the zero bytes of x are set. It takes one
// operation more than first.
func zeros(x uint64) uint64 { return ^((x&^highs + (highs - ones)) | x | (highs - ones)) & highs }

// margin is the number of bytes at the end of a text in which no row of a kernel begins. All words
// that a kernel loads without a check begin within the margin.
const margin = 64

// bind prepares a table for the kernel.
func (k *kernel) bind(t *table) {
	k.simple.bind(t)
	if t.cache == nil {
		t.cache = new(groupCache)
	}
}

// fold folds rows at the beginning of text, which contains complete rows without quotes. It returns
// the number of bytes and the number of rows that it has folded.
func (k *kernel) fold(t *table, text []byte) (used int, rows uint64) {
	k.bind(t)
	var recent cached // used in place of the cache while most keys are new, because most lookups in the cache would miss
	slot := &recent
	for used+margin <= len(text) {
		at := k.skip(text, used, k.before)
		value := at // offset of the number
		if !k.keyFirst && at >= 0 {
			at = k.skip(text, at, k.between+1)
		}
		if at < 0 || at+margin/2 > len(text) {
			return used, rows
		}

		begin := at
		a, b, at := keyWords(text, at, k.keyEnd)
		if at < 0 {
			return used, rows
		}
		length := at - begin
		if !t.fresh {
			slot = t.cache.slot(a, b)
		}
		group, key := int(slot.group), []byte(nil) // key is nil if the cache contains it
		if slot.a != a || slot.b != b || slot.next != uint32(length+1) || length > 16 && !bytes.Equal(t.key(group), text[begin:at]) {
			if key = k.newKey(t, text[begin:at:at]); key == nil {
				return used, rows
			}
		}
		if k.keyFirst {
			if value = k.skip(text, at+1, k.between); value < 0 || value+margin/4 > len(text) {
				return used, rows
			}
		}

		mantissa, scale, size := short(load(text, value))
		if size == 0 {
			if mantissa, scale, size = k.long(text[value:]); size == 0 {
				return used, rows
			}
		}
		if value += size; k.keyFirst {
			at = value
		} else if value >= len(text) || text[value] != k.delimiter {
			return used, rows
		}
		if at = k.skipRest(text, at); at < 0 {
			return used, rows
		}

		if key != nil { // the group is added only after the row has proved valid
			if group = t.group(key); len(key) == length {
				*slot = cached{a, b, uint32(length + 1), uint32(group)}
			}
		}
		if p := &t.plains[group]; p.fits(mantissa, scale) {
			p.put(mantissa, scale)
		} else if !p.addSlowly(mantissa, scale) {
			return used, rows
		}
		used = at
		rows++
	}
	return used, rows
}

// newKey returns the key in a field that the cache does not contain, or nil if the kernel must stop.
func (k *kernel) newKey(t *table, key []byte) []byte {
	if k.keyEnd == '\n' {
		key = bytes.TrimSuffix(key, []byte{'\r'})
	}
	if t.full() || bytes.IndexByte(key, '\n') >= 0 || bytes.IndexByte(key, k.delimiter) >= 0 || !utf8.Valid(key) {
		return nil
	}
	return key
}

// keyWords returns the two words of a key's entry in a groupCache, and the offset of the byte after the
// key. The offset is negative if the text does not contain that byte.
func keyWords(text []byte, at int, keyEnd byte) (a, b uint64, end int) {
	ends := uint64(keyEnd) * ones
	a = load(text, at)
	if found := first(a ^ ends); found != 0 {
		return a & (((found - 1) &^ found) >> 7), 0, at + bits.TrailingZeros64(found)>>3
	}
	b = load(text, at+8)
	if found := first(b ^ ends); found != 0 {
		return a, b & (((found - 1) &^ found) >> 7), at + 8 + bits.TrailingZeros64(found)>>3
	}
	n := bytes.IndexByte(text[at+16:], keyEnd)
	if n < 0 {
		return 0, 0, -1
	}
	end = at + 16 + n
	return a, hash(text[at+8 : end]), end
}

// skip returns the offset after a number of fields, each of which a delimiter ends, or a negative
// number if the fields contain a line end or are not UTF-8.
func (k *kernel) skip(text []byte, at, fields int) int {
	if fields == 0 {
		return at
	}
	return skipTo(text, at, fields, k.delimiter, '\n')
}

// skipRest returns the offset after the row, given the offset after the second of the kernel's two
// columns, or a negative number if the rest of the row is unusual.
func (k *kernel) skipRest(text []byte, at int) int {
	if k.after > 0 {
		if at >= len(text) || text[at] != k.delimiter {
			return -1
		}
		if at = k.skip(text, at+1, k.after-1); at < 0 {
			return at
		}
		return skipTo(text, at, 1, '\n', k.delimiter)
	}
	if at < len(text) && text[at] == '\r' {
		at++
	}
	if at >= len(text) || text[at] != '\n' {
		return -1
	}
	return at + 1
}

// skipTo returns the offset after a number of bytes end, at least 1, or a negative number if the text
// before that offset is not UTF-8 or contains the byte not.
func skipTo(text []byte, at, number int, end, not byte) int {
	begin, others := at, uint64(0)
	for ; ; at += 8 {
		if at+8 > len(text) {
			return -1
		}
		word := load(text, at)
		found, wrong := zeros(word^uint64(end)*ones), zeros(word^uint64(not)*ones)
		if n := bits.OnesCount64(found); n < number {
			if wrong != 0 {
				return -1
			}
			number -= n
			others |= word
			continue
		}
		for ; number > 1; number-- {
			found &= found - 1
		}
		before := (found & -found) - 1
		if wrong&before != 0 {
			return -1
		}
		at += bits.TrailingZeros64(found) >> 3
		if others |= word & before; others&highs != 0 && !utf8.Valid(text[begin:at]) {
			return -1
		}
		return at + 1
	}
}

// short parses a decimal of up to 7 bytes at the beginning of a word. The result size is the length
// of the decimal's text, or 0 if the word does not begin with a short decimal. The code has no
// branch for the sign, because the processor could not predict the branch.
func short(word uint64) (mantissa int64, scale, size int) {
	const digit0 = '0' * ones
	minus := int(((word&0xff ^ '-') - 1) >> 63) // 1 if the first byte is the sign, otherwise 0
	digits := word>>(8*minus) ^ digit0
	// The highest bit of each byte that is not a digit is set.
	others := ((digits & (0x7f * ones)) + (0x7f-9)*ones | digits) & highs
	length := bits.TrailingZeros64(others) >> 3
	if length+minus >= 8 {
		return 0, 0, 0
	}
	count := length // number of digits
	if byte(digits>>(8*length)) == '.'^'0' {
		point := length
		if length = bits.TrailingZeros64(others&(others-1)) >> 3; length+minus >= 8 {
			return 0, 0, 0
		}
		whole := uint64(1)<<(8*point) - 1
		digits = digits&whole | digits>>8&^whole
		count, scale = length-1, length-1-point
	}
	if count == 0 {
		return 0, 0, 0
	}
	// The digits move to the end of the word, so that zeros precede them. Multiplications then
	// combine neighbouring digits, pairs and groups of four.
	digits <<= 64 - 8*count
	digits = digits*10 + digits>>8
	digits = ((digits&0x000000ff000000ff)*(100+1000000<<32) + (digits>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
	return (int64(digits) ^ -int64(minus)) + int64(minus), scale, length + minus
}

// long parses a decimal of any length at the beginning of text. The result size is the length of the
// decimal's text, or 0 if the field is no decimal that fits in 64 bits.
func (k *kernel) long(text []byte) (mantissa int64, scale, size int) {
	for size < len(text) && text[size] != k.delimiter && text[size] > '\r' {
		size++
	}
	var n exact.Number
	if !n.Parse(text[:size]) || n.Big != nil {
		return 0, 0, 0
	}
	return n.Mantissa, n.Scale, size
}

// groupCache maps recent keys of a kernel to their groups. A kernel may replace an entry at any
// time, because the table contains all keys.
type groupCache [1 << cacheBits]cached

const cacheBits = 12

// cached is an entry of a groupCache. The field a contains the first eight bytes of the key, padded
// with zeros. The field b contains the next eight bytes, or a hash of the remaining bytes if the
// key has more than 16 bytes. The field next is the length of the key plus 1, or 0 if the entry is
// empty.
type cached struct {
	a, b        uint64
	next, group uint32
}

// slot returns the entry for a key. Each key has two possible entries.
func (c *groupCache) slot(a, b uint64) *cached {
	high, low := bits.Mul64(a^0x243f6a8885a308d3, b^0x13198a2e03707344)
	at := (high ^ low) & (1<<cacheBits - 1)
	slot := &c[at]
	if slot.a == a && slot.b == b || slot.next == 0 {
		return slot
	}
	if other := &c[at^1]; other.a == a && other.b == b || other.next == 0 {
		return other
	}
	return slot
}
