package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// table is the accumulator of the job. A table contains either groups with the states of their
// aggregates, or rows. The zero value of table is empty.
type table struct {
	functions []aggregate // aggregate of each element of states
	states    []states
	plains    []plain // plain of each group, which is not yet added to states; empty if plain is false
	plain     bool    // true if plains are used
	bound     bool
	cache     *groupCache // cache of the kernel that folds records into the table
	codes     codeGroups  // groups of the codeKernel that folds records into the table

	hashes []uint64
	ends   []int  // end of each group's key in keys
	keys   []byte // concatenated keys of all groups
	index  []uint32

	columns []string // names of the columns of rows and out
	rows    rows
	out     pending
}

// bind prepares the table for adding records. If the table has no states, bind creates the states.
// bind also sets the column indices of the states, which encoded tables do not contain.
func (t *table) bind(all []aggregate, columns []int) {
	if len(t.states) == 0 {
		t.functions = all
		for _, a := range all {
			t.states = append(t.states, newStates(a))
		}
	}
	for i, s := range t.states {
		s.bind(columns[i])
	}
	if _, t.plain = plainColumn(all, columns); t.plain {
		t.plains = append(t.plains, make([]plain, len(t.hashes)-len(t.plains))...)
	}
	t.bound = true
}

func (t *table) key(group int) []byte {
	begin := 0
	if group > 0 {
		begin = t.ends[group-1]
	}
	return t.keys[begin:t.ends[group]]
}

// hash returns the hash of a key, which is used only within this process. hash has special code for
// short keys, because most keys are short.
func hash(key []byte) uint64 {
	n := len(key)
	if n < 8 || n > 16 {
		return xxhash.Sum64(key)
	}
	// The words first and last may overlap, and together they contain the whole key. The constants
	// are the first digits of pi.
	first, last := binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[n-8:])
	high, low := bits.Mul64(first^0x243f6a8885a308d3, last^0x13198a2e03707344^uint64(n))
	return high ^ low
}

// group returns the number of the group with a key. If the table has no such group, group adds the
// group. The index is a hash table with open addressing and linear probing. An entry of the index
// is the number of a group plus 1, or 0 if the entry is empty.
func (t *table) group(key []byte) int {
	if 2*len(t.hashes) >= len(t.index) {
		t.enlarge()
	}
	h, mask := hash(key), uint64(len(t.index)-1)
	for at := h & mask; ; at = (at + 1) & mask {
		g := int(t.index[at]) - 1
		if g < 0 {
			t.index[at] = uint32(len(t.hashes) + 1)
			return t.append(h, key)
		}
		if t.hashes[g] == h && bytes.Equal(t.key(g), key) {
			return g
		}
	}
}

// append adds a group to the table, but not to the index. The states of the new group are empty.
func (t *table) append(h uint64, key []byte) int {
	t.hashes = append(t.hashes, h)
	t.keys = append(t.keys, key...)
	t.ends = append(t.ends, len(t.keys))
	for _, s := range t.states {
		s.grow()
	}
	if t.plain {
		t.plains = append(t.plains, plain{})
	}
	return len(t.hashes) - 1
}

// enlarge makes a larger index, in which at most a quarter of the entries is used.
func (t *table) enlarge() {
	t.index = make([]uint32, max(64, 1<<bits.Len(uint(4*len(t.hashes)))))
	mask := uint64(len(t.index) - 1)
	for g, h := range t.hashes {
		at := h & mask
		for t.index[at] != 0 {
			at = (at + 1) & mask
		}
		t.index[at] = uint32(g + 1)
	}
}

// merge merges the tables of two neighbouring ranges of records.
func merge(left, right *table) (*table, error) {
	left.settle()
	right.settle()
	left.rows.merge(right.rows)
	left.out.merge(right.out)
	if left.columns == nil {
		left.columns = right.columns
	}
	if len(right.states) == 0 {
		return left, nil
	}
	if len(left.states) == 0 {
		right.rows, right.out, right.columns = left.rows, left.out, left.columns
		return right, nil
	}
	for other := range right.hashes {
		group := left.group(right.key(other))
		for i, s := range left.states {
			s.merge(group, right.states[i], other)
		}
	}
	return left, nil
}

// functionCodes lists the names of the functions. Encoded tables contain the indices of functions
// in this list.
var functionCodes = []string{"count", "sum", "min", "max", "mean", "var", "stddev", "distinct", "quantile"}

// MarshalBinary encodes the table.
func (t *table) MarshalBinary() ([]byte, error) {
	t.settle()
	b := binary.AppendUvarint(nil, uint64(len(t.functions)))
	for _, a := range t.functions {
		b = append(b, byte(slices.Index(functionCodes, a.function)))
	}
	b = binary.AppendUvarint(b, uint64(len(t.hashes)))
	for g := range t.hashes {
		b = appendText(b, string(t.key(g)))
		for _, s := range t.states {
			b = s.append(b, g)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(t.columns)))
	for _, name := range t.columns {
		b = appendText(b, name)
	}
	return t.out.append(t.rows.append(b)), nil
}

// UnmarshalBinary decodes a table.
func (t *table) UnmarshalBinary(data []byte) error {
	*t = table{}
	count, size := binary.Uvarint(data)
	if size <= 0 || count > uint64(len(data)-size) {
		return errStates
	}
	b := data[size:]
	for _, code := range b[:count] {
		if int(code) >= len(functionCodes) {
			return errStates
		}
		t.functions = append(t.functions, aggregate{function: functionCodes[code]})
	}
	b = b[count:]
	for _, a := range t.functions {
		t.states = append(t.states, newStates(a))
	}
	groups, size := binary.Uvarint(b)
	if size <= 0 || groups > uint64(len(b)) {
		return errStates
	}
	b = b[size:]
	var key []byte
	var err error
	for range groups {
		if key, b, err = readText(b); err != nil {
			return err
		}
		t.hashes = append(t.hashes, hash(key))
		t.keys = append(t.keys, key...)
		t.ends = append(t.ends, len(t.keys))
		for _, s := range t.states {
			if b, err = s.read(b); err != nil {
				return err
			}
		}
	}
	t.enlarge()
	columns, size := binary.Uvarint(b)
	if size <= 0 || columns > uint64(len(b)) {
		return errStates
	}
	b = b[size:]
	for range columns {
		var name []byte
		if name, b, err = readText(b); err != nil {
			return err
		}
		t.columns = append(t.columns, string(name))
	}
	if b, err = t.rows.read(b); err == nil {
		b, err = t.out.read(b)
	}
	if err == nil && len(b) > 0 {
		err = errStates
	}
	return err
}
