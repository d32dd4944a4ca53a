package scan

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// table is the accumulator of the job. It contains either groups with the states of their
// aggregates, or rows. Records are added to a small hash table. When the hash table is full, its
// groups become a run, which needs less memory. The zero value of table is empty.
type table struct {
	functions []aggregate // aggregate of each element of states, and of each state in runs
	runs      []run       // see mergedBytes
	states    []states    // states of the groups of the hash table
	plains    []plain     // plain of each group, which is not yet added to states; empty if plain is false
	plain     bool        // true if plains are used
	fresh     bool        // true if the last hash table was full, and most records added to it had new keys
	shifts    shifts      // of the aggregates, if plains are of another column
	bound     bool
	cache     *groupCache // cache of the kernel that folds records into the table
	codes     codeGroups  // groups of the codeKernel that folds records into the table

	keyTable

	spilled []spilled // runs that were moved to storage, or the sorted shards of the second pass
	notes   notes     // of the groups of these runs, or of the shards of the second pass; otherwise nil

	columns []string // names of the columns of rows and out
	rows    rows
	out     pending
}

var _ dataset.Splitter[*table] = (*table)(nil)

const (
	// maxGroups is the number of groups above which the hash table becomes a run. The groups of most
	// queries need at most 50 MB.
	maxGroups = 1 << 17
	// fewGroups takes the place of maxGroups while most records have new keys: then a small hash table, which fits into the
	// caches of a processor, makes runs that are hardly larger.
	fewGroups = 1 << 15
	// mergedBytes is the smallest size of runs that are merged with the first run while records are added. They are merged if
	// they are also at least as large as the first run. So each group is merged a few times, whatever the number of runs, and
	// the runs are at most about three times as large as the groups, or mergedBytes larger.
	mergedBytes = 48 << 20
)

// full reports whether the hash table must become a run before a group is added.
func (t *table) full() bool {
	return len(t.hashes) >= maxGroups || t.fresh && len(t.hashes) >= fewGroups
}

// bind prepares the table for adding records.
func (t *table) bind(all []aggregate, columns []int) {
	memory := memories.Get().(*memory)
	t.keyTable, t.states, t.plains = memory.keys, memory.states, memory.plains
	if t.functions = all; !slices.Equal(memory.functions, all) {
		t.states = newScratch(all).states
	}
	for i, s := range t.states {
		s.bind(columns[i])
	}
	t.plain = plainColumn(all, columns) >= 0
	t.bound = true
}

// group returns the number of the group with a key, which group adds if the table does not have it. The states of a
// new group are empty.
func (t *table) group(key []byte) int {
	g, added := t.find(key)
	if added {
		for _, s := range t.states {
			s.grow()
		}
		if t.plain {
			t.plains = append(t.plains, plain{})
		}
	}
	return g
}

// flush makes the groups of the hash table a run, and empties the hash table.
func (t *table) flush() error {
	clear(t.codes.groups)
	if t.cache != nil {
		*t.cache = groupCache{}
	}
	if len(t.hashes) == 0 {
		return nil
	}
	repeated := -len(t.plains) // a kernel adds most records whose keys are not new without find
	for group := range t.plains {
		repeated += int(t.plains[group].count)
		t.settleGroup(group)
	}
	t.fresh = t.full() && max(repeated, t.repeated) < len(t.hashes)/2
	t.runs = append(t.runs, t.encodeRun())
	for _, s := range t.states {
		s.reset()
	}
	t.plains = t.plains[:0]
	t.empty(t.fresh)
	if later := t.runBytes() - len(t.runs[0]); later >= max(len(t.runs[0]), mergedBytes) {
		return t.mergeRuns()
	}
	return nil
}

// mergeRuns merges all runs.
func (t *table) mergeRuns() error {
	if len(t.runs) < 2 {
		return nil
	}
	merged, err := mergeRuns(t.functions, t.runs)
	if err == nil {
		t.runs = []run{merged}
	}
	return err
}

// runBytes returns the size of the runs in bytes.
func (t *table) runBytes() (size int) {
	for _, r := range t.runs {
		size += len(r)
	}
	return size
}

// memory is the memory of an empty hash table.
type memory struct {
	keys      keyTable
	functions []aggregate
	states    []states // of the functions
	plains    []plain
}

// maxMemory is the maximum size in bytes of the keys of a hash table whose memory is used again.
const maxMemory = 64 << 20

// memories contains the memory that the next hash tables use, because most partitions of a job have about as many groups.
var memories = sync.Pool{New: func() any { return new(memory) }}

// settle moves all groups to one run, and leaves the memory of the hash table to other tables.
func (t *table) settle() error {
	if err := t.flush(); err != nil {
		return err
	}
	if t.bound && cap(t.keys) <= maxMemory {
		t.index = t.index[:0]
		memories.Put(&memory{t.keyTable, t.functions, t.states, t.plains})
	}
	*t = table{functions: t.functions, runs: t.runs, spilled: t.spilled, notes: t.notes, columns: t.columns, rows: t.rows, out: t.out}
	return t.mergeRuns()
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
	left.spilled, left.notes = append(left.spilled, right.spilled...), left.notes.merge(right.notes)
	left.runs = append(left.runs, right.runs...)
	return left, left.mergeRuns()
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
	b = t.out.append(t.rows.append(b))
	if t.notes == nil {
		return b, nil
	}
	for _, n := range t.notes {
		b = append(b, byte(n))
	}
	return appendSpilled(b, t.spilled), nil
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
	if b, err = t.out.read(b, len(t.columns)); err != nil || len(b) == 0 {
		return err
	}
	if len(b) < len(t.functions) {
		return errStates
	}
	for _, n := range b[:len(t.functions)] {
		t.notes = append(t.notes, note(n))
	}
	if t.spilled, b, err = readSpilled(b[len(t.functions):]); err == nil && len(b) > 0 {
		err = errStates
	}
	return err
}
