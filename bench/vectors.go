package bench

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"math/bits"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Vectors is the job of [Aggregate], which adds vectors of numbers. Map and Merge take about as
// much time as reading and writing the memory of the vectors. The numbers are integers, so the sums
// are exact in any order, and a plain loop computes the same bytes.
var Vectors = jobs.Definition[VectorParams, []float64, VectorResult]{
	Name: "vectors", Version: "2", Summary: "adds up vectors",
	Defaults: VectorParams{Partitions: 1000, Length: 1_000_000},
	Plan: func(_ context.Context, p VectorParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open: func(_ context.Context, p VectorParams, _ jobs.Plan) (jobs.Mapper[[]float64], error) {
		return vectorMapper{p.Length}, nil
	},
	Merge: addVectors,
	Finish: func(_ context.Context, _ VectorParams, root []float64) (VectorResult, error) {
		return describeVector(root, 0)
	},
	Codec: jobs.Vector[float64]{}, Shards: jobs.Vector[float64]{},
}

// addVectors is not inlined, for the same reason as fillVector.
//
//go:noinline
func addVectors(left, right []float64) ([]float64, error) {
	for i, v := range right[:len(left)] {
		left[i] += v
	}
	return left, nil
}

// VectorParams are the parameters of the job Vectors.
type VectorParams struct {
	Partitions uint64 `json:"partitions" min:"1" max:"1000000000" help:"number of vectors"`
	Length     int    `json:"length" min:"1" max:"250000000" help:"numbers in a vector"`
}

// VectorResult describes the sum of the vectors, or a shard of it. The checksum is a CRC-32C of each block, because a vector
// may be large and CRC-32C is fast. The CRC of a block is multiplied by the number of the block from 1, and the checksum is the
// sum of the products modulo 2^64, so that the checksum of a vector is the sum of those of its shards.
type VectorResult struct {
	Bytes    uint64 `json:"bytes"`
	Checksum uint64 `json:"checksum"`
}

const checkedBlock = 64 << 10 // bytes

// describeVector describes a vector that begins with a block.
func describeVector(vector []float64, block uint64) (r VectorResult, err error) {
	data, err := jobs.Vector[float64]{}.EncodeInPlace(vector)
	r.Bytes = uint64(len(data))
	for piece := range slices.Chunk(data, checkedBlock) {
		block++
		r.Checksum += block * uint64(crc32.Checksum(piece, crc32.MakeTable(crc32.Castagnoli)))
	}
	return r, err
}

// add adds the description of a shard.
func (r *VectorResult) add(shard VectorResult) {
	r.Bytes, r.Checksum = r.Bytes+shard.Bytes, r.Checksum+shard.Checksum
}

type vectorMapper struct{ length int }

func (m vectorMapper) Map(ctx context.Context, partition uint64) ([]float64, error) {
	return m.Fill(ctx, partition, nil)
}

// PartialBytes implements [jobs.Sizer].
func (m vectorMapper) PartialBytes() int64 { return 8 * int64(m.length) }

// Fill implements [jobs.Filler].
func (m vectorMapper) Fill(_ context.Context, partition uint64, spare []float64) ([]float64, error) {
	if len(spare) != m.length {
		spare = make([]float64, m.length)
	}
	fillVector(spare, partition, 0)
	return spare, nil
}

// fillVector computes the numbers of a vector from an index on. It is not inlined, so that the loops and the jobs run the
// same machine code: copies of it differ in speed by up to a tenth, depending on their addresses.
//
//go:noinline
func fillVector(numbers []float64, partition, from uint64) {
	for i := range numbers {
		numbers[i] = float64((partition*31 + from + uint64(i)) & 0xffff)
	}
}

// vectorLoop computes the result in a plain loop, with one goroutine for each adder.
func vectorLoop(ctx context.Context, p VectorParams, adders []adder) (json.RawMessage, error) {
	sums := make([][]float64, min(uint64(len(adders)), p.Partitions))
	var loops sync.WaitGroup
	for i := range sums {
		loops.Go(func() {
			n := uint64(len(sums))
			sums[i] = adders[i].add(ctx, vectorMapper{p.Length}, engine.Span{Lo: p.Partitions * uint64(i) / n, Hi: p.Partitions * uint64(i+1) / n})
		})
	}
	loops.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	root := sums[0]
	for _, sum := range sums[1:] {
		root, _ = Vectors.Merge(root, sum)
	}
	result, err := Vectors.Finish(ctx, p, root)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// adder adds the vectors of a span. The next call may use the memory of the result.
type adder interface {
	add(ctx context.Context, m vectorMapper, s engine.Span) []float64
}

func adders(n int, newAdder func() adder) (list []adder) {
	for range n {
		list = append(list, newAdder())
	}
	return list
}

func newInTurn() adder   { return inTurn{} }
func newPairwise() adder { return new(pairwise) }

// inTurn adds one vector after the other, in the memory of two vectors.
type inTurn struct{}

func (inTurn) add(ctx context.Context, m vectorMapper, s engine.Span) []float64 {
	sum, _ := m.Fill(ctx, s.Lo, nil) // errors are ignored, because neither Fill nor Merge returns errors
	var value []float64
	for at := s.Lo + 1; at < s.Hi && ctx.Err() == nil; at++ {
		value, _ = m.Fill(ctx, at, value)
		sum, _ = Vectors.Merge(sum, value)
	}
	return sum
}

// pairwise adds vectors in pairs, the sums of pairs in pairs, and so on, as an aggregation tree does.
// Adding n vectors takes the memory of about log2(n) vectors, because the memory of merged vectors is
// used for the next vectors. The next call of add uses the same memory.
type pairwise struct{ spares [][]float64 }

func (p *pairwise) add(ctx context.Context, m vectorMapper, s engine.Span) []float64 {
	sum := p.sum(ctx, m, s)
	p.spares = append(p.spares, sum)
	return sum
}

func (p *pairwise) sum(ctx context.Context, m vectorMapper, s engine.Span) []float64 {
	if s.Len() == 1 || ctx.Err() != nil {
		var spare []float64
		if n := len(p.spares); n > 0 {
			spare, p.spares = p.spares[n-1], p.spares[:n-1]
		}
		value, _ := m.Fill(ctx, s.Lo, spare)
		return value
	}
	middle := s.Lo + 1<<(bits.Len64(s.Len()-1)-1)
	left, right := p.sum(ctx, m, engine.Span{Lo: s.Lo, Hi: middle}), p.sum(ctx, m, engine.Span{Lo: middle, Hi: s.Hi})
	left, _ = Vectors.Merge(left, right)
	p.spares = append(p.spares, right)
	return left
}
