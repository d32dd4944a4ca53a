package scan

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// In the second pass, the groups of all tables are cut into shards: ranges of keys of about the same size. A partition
// merges the runs of its shard. Then it writes the rows of the shard to objects of the output, or, if the rows of all shards
// must be sorted together, sorts its groups and moves them to storage, where Finish merges the shards:
//
//	runs in storage ─▶ shard of each run ─▶ merged groups ─▶ objects                        without order, offset and limit
//	                                                      ─▶ sorted groups ─▶ Finish ─▶ objects

// shardBytes is about the size of a shard in bytes, if there are enough partitions.
const shardBytes = 32 << 20

var second = &dataset.Second[Params, *table]{
	Has:    mayPass,
	Spill:  spill,
	Needed: needsPass,
	State:  stateOfShards,
	Open:   openShards,
}

// passBytes is the size in bytes of the groups above which there is a second pass. Groups of fewer bytes are the state that
// Finish gets, which stays in storage until the job is removed.
const passBytes = 256 << 10

// needsPass reports whether the groups of a part of the input are large.
func needsPass(t *table) bool {
	return t.runBytes() > passBytes || len(t.spilled) > 0
}

// shards is the state of the second pass. The fields are exported only for the codec.
type shards struct {
	_ struct{} `cbor:",toarray"`

	Table      []byte   // table that lists the runs
	Partitions uint64   // number of partitions
	Borders    [][]byte // first keys of the shards after the first one
}

// stateOfShards moves the last groups to storage and cuts the shards.
func stateOfShards(ctx context.Context, p Params, t *table, partitions uint64) ([]byte, error) {
	q, err := newQuery(p)
	if err != nil {
		return nil, jobs.Permanent(err)
	}
	if err := t.settle(); err != nil {
		return nil, err
	}
	if err := t.spillRuns(ctx, q, 0); err != nil {
		return nil, err
	}
	s := shards{Partitions: partitions, Borders: borders(t.spilled, partitions)}
	if s.Table, err = t.MarshalBinary(); err != nil {
		return nil, err
	}
	return cbor.Marshal(s)
}

// borders cuts runs into shards of about the same size, at first keys of pieces.
func borders(runs []spilled, most uint64) (list [][]byte) {
	all, size := slices.Concat(runs...), uint64(0)
	slices.SortStableFunc(all, func(a, b piece) int { return bytes.Compare(a.first, b.first) })
	for _, p := range all {
		size += p.size
	}
	count := min(most, size/uint64(bounds.shard)+1)
	before := uint64(0) // size of the pieces before the current one
	for _, p := range all {
		next := uint64(len(list)) + 1
		if next < count && before >= size/count*next && (len(list) == 0 || !bytes.Equal(p.first, list[len(list)-1])) && len(p.first) > 0 {
			list = append(list, p.first)
		}
		before += p.size
	}
	return list
}

// at returns the shard that a partition computes, or false if another partition computes the next shard. The shards are evenly spread over the partitions.
func (s *shards) at(partition uint64) (shard int, ok bool) {
	count := uint64(len(s.Borders)) + 1
	next := (partition*count + s.Partitions - 1) / s.Partitions // the first shard that no partition before computes
	return int(next), next < count && next*s.Partitions/count == partition
}

// end returns the border at the end of a shard, or nil for the last one.
func (s *shards) end(shard int) []byte {
	if shard == len(s.Borders) {
		return nil
	}
	return s.Borders[shard]
}

// size returns the mean size in bytes of the groups of a shard.
func (s *shards) size(runs []spilled) (size int) {
	for _, pieces := range runs {
		for _, p := range pieces {
			size += int(p.size)
		}
	}
	return size / (len(s.Borders) + 1)
}

// openShards returns a function that makes a Map function of the second pass.
func openShards(ctx context.Context, p Params, state []byte, outputID string, types map[string]string) (func() func(context.Context, uint64) (*table, error), error) {
	q, err := newQuery(p)
	if err != nil {
		return nil, jobs.Permanent(err)
	}
	s, listed := new(shards), new(table)
	if err := cbor.Unmarshal(state, s); err != nil {
		return nil, errStates
	}
	if err := listed.UnmarshalBinary(s.Table); err != nil {
		return nil, err
	}
	if s.Partitions == 0 || len(listed.notes) != len(q.aggregates) {
		return nil, errStates
	}
	to := p.folder(ctx, outputID)
	to.Room = roomOf(min(objectBytes, s.size(listed.spilled)))
	columns := q.outputColumns(to.Format, q.notedColumns(listed.notes), types)
	return func() func(context.Context, uint64) (*table, error) {
		f := &sharder{query: q, shards: s, listed: listed, to: to, columns: columns, next: -1}
		return f.compute
	}, nil
}

// sharder computes the shards of a slot.
type sharder struct {
	query
	shards  *shards
	listed  *table
	to      output.Folder
	columns []output.Column

	merging *merging
	next    int // shard at whose begin merging is, or -1
}

// compute computes the shard of a partition.
func (f *sharder) compute(ctx context.Context, partition uint64) (*table, error) {
	t := &table{functions: f.aggregates, notes: slices.Clone(f.listed.notes)}
	for _, c := range f.columns {
		t.columns = append(t.columns, c.Name)
	}
	shard, ok := f.shards.at(partition)
	if !ok {
		return t, nil
	}
	if f.next != shard {
		var begin []byte
		if shard > 0 {
			begin = f.shards.end(shard - 1)
		}
		var err error
		if f.merging, err = newMerging(ctx, f.aggregates, f.listed.spilled, begin); err != nil {
			return nil, err
		}
	}
	defer f.merging.ahead.reading.Wait()
	f.next = -1 // after an error or a panic, merging is in the middle of the shard
	var err error
	if end := f.shards.end(shard); f.unsorted {
		err = f.write(ctx, t, partition, end)
	} else {
		err = f.sort(ctx, t, end)
	}
	if err != nil {
		return nil, err
	}
	f.next = shard + 1
	return t, nil
}

// write writes the rows of a shard to objects. Few rows stay in the partial, as those of a partition of a query without aggregates.
func (f *sharder) write(ctx context.Context, t *table, partition uint64, end []byte) error {
	r, err := f.rows(t.notes, end)
	if err != nil {
		return err
	}
	for r.next(ctx) {
		if t.out.add(r.row()); t.out.bytes <= maxInline {
			continue
		}
		first := t.out.rows
		t.out = pending{parts: t.out.parts}
		err := t.writeObject(ctx, f.to, f.columns, partition, func(yield func([][]byte) bool) {
			size := 0
			for fields := range fieldsOf(first) {
				if !yield(fields) {
					return
				}
			}
			for size < objectBytes && r.next(ctx) {
				if !yield(r.fields) {
					return
				}
				size += r.size
			}
		})
		if err := cmp.Or(r.err, err); err != nil {
			return err
		}
	}
	return r.err
}

// sort moves the groups of a shard that may be in the result to storage, in the order of the result.
func (f *sharder) sort(ctx context.Context, t *table, end []byte) error {
	g := &groups{query: f.query, scratch: newScratch(f.aggregates), parts: 1}
	if g.limit > 0 && g.limit+g.offset >= g.limit {
		g.limit += g.offset
	} else {
		g.limit = 0
	}
	g.offset = 0
	for {
		ok, err := f.merging.next(ctx, end)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		g.run = append(g.run, f.merging.group...)
	}
	if len(g.run) == 0 {
		return nil
	}
	n, err := g.place(ctx)
	if err != nil {
		return err
	}
	t.notes = t.notes.merge(n)
	sorted := make(run, 0, len(g.run))
	for _, placed := range g.order {
		c, err := g.group(placed.at)
		if err != nil {
			return err
		}
		sorted = append(sorted, c.here[:c.size()]...)
	}
	g.run, g.order = nil, nil
	if len(sorted) == 0 {
		return nil
	}
	pieces, err := spillRun(ctx, sorted)
	t.spilled = []spilled{pieces}
	return err
}
