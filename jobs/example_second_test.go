package jobs_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
)

type squaresParams struct {
	Partitions uint64 `json:"partitions" min:"1" help:"partitions of 1000 numbers"`
	Modulus    uint32 `json:"modulus" min:"1" help:"the modulus of the squares"`
}

// remainders is a partial of the first pass: different remainders in ascending order, and the names of lists of them that
// were moved to storage. In the second pass it is the number of remainders in a range.
type remainders struct {
	List  []uint32 `cbor:"1,keyasint"`
	Moved []string `cbor:"2,keyasint"`
	Count int      `cbor:"3,keyasint"`
}

const mostRemainders = 4096 // in a partial

// squares counts the different remainders of squares, of which there may be more than fit into a worker.
var squares = jobs.Definition[squaresParams, remainders, int]{
	Name: "squares", Version: "1", Summary: "different remainders of squares",
	Defaults: squaresParams{Partitions: 40, Modulus: 100_000},
	Plan: func(_ context.Context, p squaresParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open: func(_ context.Context, p squaresParams, _ jobs.Plan) (jobs.Mapper[remainders], error) {
		return squaresMapper(p), nil
	},
	Merge: func(left, right remainders) (remainders, error) {
		left.List = ascending(append(left.List, right.List...))
		left.Moved = append(left.Moved, right.Moved...)
		left.Count += right.Count
		return left, nil
	},
	SecondPass: &jobs.SecondPass[squaresParams, remainders]{
		Has: func(squaresParams) bool { return true },
		Spill: func(ctx context.Context, _ squaresParams, merged remainders) (remainders, error) {
			if len(merged.List) <= mostRemainders {
				return merged, nil
			}
			return move(ctx, merged)
		},
		State: func(ctx context.Context, _ squaresParams, _ uint64, root remainders) (state []byte, err error) {
			if len(root.Moved) == 0 {
				return nil, nil
			}
			root, err = move(ctx, root)
			for _, name := range root.Moved {
				state = append(state, name...)
			}
			return state, err
		},
		Open: func(_ context.Context, p squaresParams, plan jobs.Plan, state []byte) (jobs.Mapper[remainders], error) {
			m := rangesMapper{size: 1 + p.Modulus/uint32(plan.Partitions)}
			for name := range slices.Chunk(state, 64) {
				m.moved = append(m.moved, string(name))
			}
			return m, nil
		},
	},
	Finish: func(_ context.Context, _ squaresParams, root remainders) (int, error) {
		return len(root.List) + root.Count, nil
	},
}

type squaresMapper squaresParams

func (m squaresMapper) Map(_ context.Context, partition uint64) (r remainders, err error) {
	for n := range uint64(1000) {
		hi, lo := bits.Mul64(1000*partition+n, 1000*partition+n)
		r.List = append(r.List, uint32(bits.Rem64(hi, lo, uint64(m.Modulus))))
	}
	r.List = ascending(r.List)
	return r, nil
}

// rangesMapper counts the remainders in a range of the same size for each partition.
type rangesMapper struct {
	size  uint32
	moved []string
}

func (m rangesMapper) Map(ctx context.Context, partition uint64) (remainders, error) {
	var found []uint32
	for _, name := range m.moved {
		data, err := jobs.GetSpill(ctx, name)
		if err != nil {
			return remainders{}, err
		}
		for four := range slices.Chunk(data, 4) {
			if r := binary.LittleEndian.Uint32(four); uint64(r/m.size) == partition {
				found = append(found, r)
			}
		}
	}
	return remainders{Count: len(ascending(found))}, nil
}

// move moves the list of a partial to storage.
func move(ctx context.Context, r remainders) (remainders, error) {
	var data []byte
	for _, one := range r.List {
		data = binary.LittleEndian.AppendUint32(data, one)
	}
	name, err := jobs.PutSpill(ctx, data)
	return remainders{Moved: append(r.Moved, name)}, err
}

func ascending(list []uint32) []uint32 {
	slices.Sort(list)
	return slices.Compact(list)
}

// The partials of this job are lists that grow. Lists of more than 4096 elements are moved to storage, and the second pass counts
// the elements of all lists range by range.
func ExampleSecondPass() {
	job := jobs.MustNew(squares)
	params, err := job.Params(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := jobs.Local{Slots: 4, Attempts: 1}.Run(context.Background(), job, params)
	fmt.Println(string(result.Result), "in", result.Rounds, "passes", err)
	// Output: 9121 in 2 passes <nil>
}
