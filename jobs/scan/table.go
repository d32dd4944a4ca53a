package scan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// table is the accumulator of the job. It contains either groups with the states of their
// aggregates, or rows. Records are added to a small hash table. When the hash table is full, its
// groups become a run, which needs less memory. The zero value of table is empty.
type table struct {
	functions []aggregate // aggregate of each element of states, and of each state in runs
	runs      []run       // each run is at least twice as large as the next run
	states    []states    // states of the groups of the hash table
	plains    []plain     // plain of each group, which is not yet added to states; empty if plain is false
	plain     bool        // true if plains are used
	shifts    shifts      // of the aggregates, if plains are of another column
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

var _ dataset.Splitter[*table] = (*table)(nil)

// maxGroups is the number of groups above which the hash table becomes a run. The groups of most
// queries need at most 50 MB.
const maxGroups = 1 << 17

// full reports whether the hash table must become a run before a group is added.
func (t *table) full() bool { return len(t.hashes) >= maxGroups }

// bind prepares the table for adding records.
func (t *table) bind(all []aggregate, columns []int) {
	t.functions, t.states = all, nil
	for i, a := range all {
		s := a.new()
		s.bind(columns[i])
		t.states = append(t.states, s)
	}
	t.plain = plainColumn(all, columns) >= 0
	t.bound = true
}

// flush makes the groups of the hash table a run, and empties the hash table.
func (t *table) flush() error {
	t.cache, t.codes = nil, codeGroups{}
	if len(t.hashes) == 0 {
		return nil
	}
	for group := range t.plains {
		t.settleGroup(group)
	}
	t.runs = append(t.runs, t.encodeRun())
	for _, s := range t.states {
		s.reset()
	}
	t.plains, t.hashes, t.ends, t.keys = t.plains[:0], t.hashes[:0], t.ends[:0], t.keys[:0]
	clear(t.index)
	return t.mergeRuns(2)
}

// mergeRuns merges the last two runs, as long as the last run multiplied by the factor is at least
// as large as the run before.
func (t *table) mergeRuns(factor int) (err error) {
	for n := len(t.runs); n > 1 && len(t.runs[n-2])/factor <= len(t.runs[n-1]); n = len(t.runs) {
		t.runs[n-2], err = newScratch(t.functions).merge(t.runs[n-2], t.runs[n-1])
		if err != nil {
			return err
		}
		t.runs[n-1] = nil
		t.runs = t.runs[:n-1]
	}
	return nil
}

// settle moves all groups to one run, and frees the memory of the hash table.
func (t *table) settle() error {
	if err := t.flush(); err != nil {
		return err
	}
	*t = table{functions: t.functions, runs: t.runs, columns: t.columns, rows: t.rows, out: t.out}
	return t.mergeRuns(math.MaxInt)
}

func (t *table) key(group int) []byte {
	begin := 0
	if group > 0 {
		begin = t.ends[group-1]
	}
	return t.keys[begin:t.ends[group]]
}

// hash returns the hash of a key, which is used only within this process. It has special code for
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
	if err := errors.Join(left.settle(), right.settle()); err != nil {
		return nil, err
	}
	left.rows.merge(right.rows)
	left.out.merge(right.out)
	if left.columns == nil {
		left.columns = right.columns
	}
	if left.functions == nil {
		left.functions = right.functions
	}
	left.runs = append(left.runs, right.runs...)
	return left, left.mergeRuns(math.MaxInt)
}

// Split implements [dataset.Splitter]. The large slice contains the groups.
func (t *table) Split() (rest *table, groups []byte, err error) {
	if err := t.settle(); err != nil {
		return nil, nil, err
	}
	other := *t
	if other.runs = nil; len(t.runs) > 0 {
		groups = t.runs[0]
	}
	return &other, groups, nil
}

// Join implements [dataset.Splitter].
func (t *table) Join(groups []byte) {
	if len(groups) > 0 {
		t.runs = []run{groups}
	}
}

// MarshalBinary encodes a table that Split has returned.
func (t *table) MarshalBinary() ([]byte, error) {
	b := binary.AppendUvarint(nil, uint64(len(t.functions)))
	for _, a := range t.functions {
		b = append(b, a.code)
	}
	b = binary.AppendUvarint(b, uint64(len(t.columns)))
	for _, name := range t.columns {
		b = appendText(b, name)
	}
	return t.out.append(t.rows.append(b)), nil
}

// UnmarshalBinary decodes a table without groups.
func (t *table) UnmarshalBinary(data []byte) (err error) {
	*t = table{}
	count, size := binary.Uvarint(data)
	if size <= 0 || count > uint64(len(data)-size) {
		return errStates
	}
	b := data[size:]
	for _, code := range b[:count] {
		f := functionOf(code)
		if f == nil {
			return errStates
		}
		t.functions = append(t.functions, aggregate{function: f})
	}
	b = b[count:]
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
	if b, err = t.rows.read(b, len(t.columns)); err != nil {
		return err
	}
	if b, err = t.out.read(b, len(t.columns)); err == nil && len(b) > 0 {
		err = errStates
	}
	return err
}
