package jobs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// A sharded job is a job whose tree has a subtree for each shard. Each subtree has a power of two of partitions, so it is a
// node of the tree, and its merges are those of a tree with the partitions of the plan: the partitions that were added
// are empty. Above the subtrees, merges only join lists of what FinishShard has returned.

// whole returns the definition of the job whose partitions are those of all shards.
func (d Sharded[P, T, S, R]) whole() (whole Definition[P, shardPart[T], R], err error) {
	if d.Plan == nil || d.Open == nil || d.Merge == nil || d.FinishShard == nil || d.Finish == nil {
		return whole, errors.New("want all of Plan, Open, Merge, FinishShard and Finish")
	}
	codec := shardCodec[T]{d.Codec}
	if d.Codec == nil {
		if codec.inner, err = newCBORCodec[T](); err != nil {
			return whole, fmt.Errorf("the default codec cannot encode partials: %w", err)
		}
	}
	summaries, err := newCBORCodec[S]()
	if err != nil {
		return whole, fmt.Errorf("the results of shards cannot be encoded: %w", err)
	}
	j := shardJoin[P, T, S, R]{d, summaries}
	whole = Definition[P, shardPart[T], R]{
		Name: d.Name, Version: d.Version, Summary: d.Summary, Defaults: d.Defaults,
		Codec: codec, Limits: d.Limits, Restricted: d.Restricted, NoAudit: d.NoAudit,
		Plan:    j.plan,
		Open:    j.open,
		Merge:   func(shardPart[T], shardPart[T]) (shardPart[T], error) { return shardPart[T]{}, errNoContext },
		Merger:  j.merger,
		sharded: true,
		Finish:  j.finish,
		NoReuse: func(P) string { return "it has shards" },
	}
	if d.Preview != nil {
		whole.Preview = func(ctx context.Context, p P, plan Plan) (preview Preview, err error) {
			s, err := readShards(plan)
			if err != nil {
				return preview, err
			}
			return d.Preview(ctx, p, s.ShardedPlan)
		}
	}
	if d.Items != nil {
		whole.Items = j.items
	}
	return whole, nil
}

var errNoContext = errors.New("the partials of a job with shards are merged by its Merger")

// shardPart is a partial of a sharded job: of a part of the partitions of one shard, or of several shards.
type shardPart[T any] struct {
	kind    partKind
	shard   uint64
	shards  uint64 // number of shards of the job
	value   T      // if kind is onePart; memory for the next partition if it is noPart
	results []byte // if kind is manyParts: the number of each shard, and the size and encoding of what FinishShard has returned
}

// partKind says what a [shardPart] contains.
type partKind byte

const (
	noPart    partKind = 1 + iota // the partial of partitions that were added to a shard
	onePart                       // a partial of one shard
	manyParts                     // results of shards
)

// shardLayout is the plan of a sharded job, and where its shards are among the partitions of the job.
type shardLayout struct {
	ShardedPlan
	level int // each shard has 2^level partitions
}

func newShardLayout(plan ShardedPlan) (l shardLayout, err error) {
	if plan.Shards == 0 || plan.Partitions == 0 {
		return l, fmt.Errorf("%d shards of %d partitions: want at least 1 of each", plan.Shards, plan.Partitions)
	}
	l = shardLayout{plan, bits.Len64(plan.Partitions - 1)}
	if plan.Partitions > MaxPartitions || plan.Shards > MaxPartitions>>l.level {
		return l, fmt.Errorf("%d shards of %d partitions, which are rounded up to a power of two: want at most 2^62 in all", plan.Shards, plan.Partitions)
	}
	return l, nil
}

// readShards returns the layout of a job with a stored plan.
func readShards(plan Plan) (l shardLayout, err error) {
	shards, n := binary.Uvarint(plan.Data)
	if n <= 0 {
		return l, errShardedPlan
	}
	partitions, m := binary.Uvarint(plan.Data[n:])
	if m <= 0 {
		return l, errShardedPlan
	}
	if l, err = newShardLayout(ShardedPlan{shards, partitions, plan.Data[n+m:]}); err == nil && l.plan().Partitions != plan.Partitions {
		err = errShardedPlan
	}
	return l, err
}

var errShardedPlan = errors.New("damaged plan of a sharded job")

// plan returns the plan of the job.
func (l shardLayout) plan() Plan {
	data := binary.AppendUvarint(binary.AppendUvarint(nil, l.Shards), l.ShardedPlan.Partitions)
	return Plan{l.Shards << l.level, append(data, l.Data...)}
}

// locate returns the shard of a partition of the job, and the number of the partition in the shard. The result ok is
// false if the partition was added to the shard.
func (l shardLayout) locate(partition uint64) (shard, in uint64, ok bool) {
	shard, in = partition>>l.level, partition&(1<<l.level-1)
	return shard, in, in < l.ShardedPlan.Partitions
}

// shardJoin is the code of a sharded job on partials that know their shard.
type shardJoin[P, T, S, R any] struct {
	def     Sharded[P, T, S, R]
	results Codec[S]
}

func (j shardJoin[P, T, S, R]) plan(ctx context.Context, p P) (Plan, error) {
	plan, err := j.def.Plan(ctx, p)
	if err != nil {
		return Plan{}, err
	}
	l, err := newShardLayout(plan)
	if err != nil {
		return Plan{}, Permanent(err)
	}
	return l.plan(), nil
}

func (j shardJoin[P, T, S, R]) open(ctx context.Context, p P, plan Plan) (Mapper[shardPart[T]], error) {
	l, err := readShards(plan)
	if err != nil {
		return nil, err
	}
	mapper, err := j.def.Open(ctx, p, l.ShardedPlan)
	if err != nil {
		return nil, err
	}
	if mapper == nil {
		return nil, errors.New("Open returned neither a mapper nor an error")
	}
	m := shardMapper[T]{l, mapper}
	if filler, ok := mapper.(ShardFiller[T]); ok {
		return shardFiller[T]{m, filler}, nil
	}
	return m, nil
}

func (j shardJoin[P, T, S, R]) items(ctx context.Context, p P, plan Plan) (func(partition uint64) string, error) {
	l, err := readShards(plan)
	if err != nil {
		return nil, err
	}
	names, err := j.def.Items(ctx, p, l.ShardedPlan)
	if err != nil {
		return nil, err
	}
	return func(partition uint64) string {
		shard, in, ok := l.locate(partition)
		if !ok {
			return ""
		}
		return names(shard, in)
	}, nil
}

// merger merges partials. A call changes an operand only if it succeeds or its error is permanent.
func (j shardJoin[P, T, S, R]) merger(p P) func(ctx context.Context, left, right shardPart[T]) (shardPart[T], error) {
	return func(ctx context.Context, left, right shardPart[T]) (shardPart[T], error) {
		switch {
		case right.kind == noPart:
			return left, nil
		case left.kind == noPart:
			return right, nil
		case left.kind == onePart && right.kind == onePart && left.shard == right.shard:
			merged, err := j.def.Merge(left.value, right.value)
			left.value = merged
			return left, Permanent(err)
		}
		// The partials meet in a node above the shards, so each contains all partitions of its shards.
		var both [2][]byte
		for i, part := range []shardPart[T]{left, right} {
			results, err := j.resultsOf(ctx, p, part)
			if err != nil {
				return left, err
			}
			both[i] = results
		}
		return shardPart[T]{kind: manyParts, shards: left.shards, results: append(both[0], both[1]...)}, nil
	}
}

// resultsOf returns the results of the shards of a partial with all partitions of these shards.
func (j shardJoin[P, T, S, R]) resultsOf(ctx context.Context, p P, part shardPart[T]) ([]byte, error) {
	switch part.kind {
	case noPart:
		return nil, nil
	case manyParts:
		return part.results, nil
	}
	result, err := j.def.FinishShard(ctx, p, part.shard, part.value)
	if err != nil {
		return nil, fmt.Errorf("FinishShard of shard %d: %w", part.shard, err)
	}
	data, err := j.results.Encode(result)
	if err != nil {
		return nil, Permanent(fmt.Errorf("FinishShard of shard %d: %w", part.shard, err))
	}
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, part.shard), uint64(len(data))), data...), nil
}

func (j shardJoin[P, T, S, R]) finish(ctx context.Context, p P, root shardPart[T]) (result R, err error) {
	encoded, err := j.resultsOf(ctx, p, root)
	if err != nil {
		return result, err
	}
	list := make([]S, root.shards)
	for len(encoded) > 0 {
		shard, n := binary.Uvarint(encoded)
		size, m := binary.Uvarint(encoded[max(n, 0):])
		if n <= 0 || m <= 0 || shard >= root.shards || size > uint64(len(encoded)-n-m) {
			return result, Permanent(errors.New("damaged results of shards"))
		}
		encoded = encoded[n+m:]
		if list[shard], err = j.results.Decode(encoded[:size]); err != nil {
			return result, Permanent(err)
		}
		encoded = encoded[size:]
	}
	return j.def.Finish(ctx, p, list)
}

// shardMapper is the mapper of a sharded job.
type shardMapper[T any] struct {
	layout shardLayout
	of     ShardMapper[T]
}

func (m shardMapper[T]) Map(ctx context.Context, partition uint64) (part shardPart[T], err error) {
	return m.compute(partition, part.value, func(shard, in uint64) (T, error) { return m.of.Map(ctx, shard, in) })
}

// compute returns the partial of a partition. An empty one keeps the memory of spare for the next partition.
func (m shardMapper[T]) compute(partition uint64, spare T, compute func(shard, in uint64) (T, error)) (part shardPart[T], err error) {
	shard, in, ok := m.layout.locate(partition)
	part = shardPart[T]{kind: noPart, shard: shard, shards: m.layout.Shards, value: spare}
	if ok {
		part.kind = onePart
		part.value, err = compute(shard, in)
	}
	return part, err
}

// PartialBytes implements [Sizer].
func (m shardMapper[T]) PartialBytes() int64 {
	if sizer, ok := m.of.(Sizer); ok {
		return sizer.PartialBytes()
	}
	return 0
}

// Close implements [io.Closer].
func (m shardMapper[T]) Close() error { return closeUsers(m.of) }

// CleanUp implements [Cleaner].
func (m shardMapper[T]) CleanUp(ctx context.Context) error { return cleanUpUsers(ctx, m.of) }

// shardFiller is the mapper of a sharded job whose mapper is a [ShardFiller].
type shardFiller[T any] struct {
	shardMapper[T]
	filler ShardFiller[T]
}

// Fill implements [Filler].
func (m shardFiller[T]) Fill(ctx context.Context, partition uint64, spare shardPart[T]) (shardPart[T], error) {
	return m.compute(partition, spare.value, func(shard, in uint64) (T, error) { return m.filler.Fill(ctx, shard, in, spare.value) })
}

// shardCodec encodes a partial of one shard as the codec of the job does. Then follow the kind, the shard and the number of
// shards, at the end, so that the numbers of a vector keep their alignment.
type shardCodec[T any] struct{ inner Codec[T] }

const shardTail = 1 + 8 + 8

func (c shardCodec[T]) Encode(part shardPart[T]) ([]byte, error) {
	return c.encode(part, c.inner.Encode)
}

func (c shardCodec[T]) EncodeInPlace(part shardPart[T]) ([]byte, error) {
	return c.encode(part, func(value T) ([]byte, error) { return encodeInPlace(c.inner, value) })
}

func (shardCodec[T]) encode(part shardPart[T], encode func(T) ([]byte, error)) (data []byte, err error) {
	switch part.kind {
	case onePart:
		if data, err = encode(part.value); err != nil {
			return nil, err
		}
		data = slices.Grow(data, shardTail)
	case manyParts:
		data = slices.Concat(part.results, make([]byte, 0, shardTail))
	}
	data = append(data, byte(part.kind))
	data = binary.LittleEndian.AppendUint64(data, part.shard)
	return binary.LittleEndian.AppendUint64(data, part.shards), nil
}

func (c shardCodec[T]) Decode(data []byte) (shardPart[T], error) {
	return c.decode(data, slices.Clone, c.inner.Decode)
}

func (c shardCodec[T]) DecodeInPlace(data []byte) (shardPart[T], error) {
	return c.decode(data, func(results []byte) []byte { return results }, func(value []byte) (T, error) { return decodeInPlace(c.inner, value) })
}

func (shardCodec[T]) decode(data []byte, own func([]byte) []byte, decode func([]byte) (T, error)) (part shardPart[T], err error) {
	body := len(data) - shardTail
	if body < 0 {
		return part, errors.New("decode partial of a shard: it is too short")
	}
	tail := data[body:]
	part = shardPart[T]{kind: partKind(tail[0]), shard: binary.LittleEndian.Uint64(tail[1:]), shards: binary.LittleEndian.Uint64(tail[9:])}
	switch part.kind {
	case noPart:
	case onePart:
		part.value, err = decode(data[:body:body])
	case manyParts:
		part.results = own(data[:body:body])
	default:
		err = fmt.Errorf("decode partial of a shard: unknown kind %d", part.kind)
	}
	return part, err
}

// check returns the error of the inner codec for a definition with it.
func (c shardCodec[T]) check() error {
	if checked, ok := c.inner.(interface{ check() error }); ok {
		return checked.check()
	}
	return nil
}

// decodedSize returns about how many bytes of memory a partial takes when it is decoded, or 0 if it is unknown.
func (c shardCodec[T]) decodedSize(data []byte) uint64 {
	sized, ok := c.inner.(interface{ decodedSize([]byte) uint64 })
	if body := len(data) - shardTail; ok && body >= 0 && partKind(data[body]) == onePart {
		return sized.decodedSize(data[:body])
	}
	return 0
}
