package jobs

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// benchmarkBytes is the total size of the vectors of one operation.
const benchmarkBytes = 1 << 30

// BenchmarkVectors compares a local run of two slots with a plain loop of two goroutines that
// reuses its memory.
func BenchmarkVectors(b *testing.B) {
	for _, length := range []int{1_000, 10_000, 100_000, 1_000_000} {
		partitions := benchmarkBytes / 8 / length
		f := filler{length: length}
		b.Run(fmt.Sprintf("%dkB/loop", length*8/1000), func(b *testing.B) {
			b.SetBytes(benchmarkBytes)
			for b.Loop() {
				plainLoop(f, partitions)
			}
		})
		b.Run(fmt.Sprintf("%dkB/run", length*8/1000), func(b *testing.B) {
			job := MustNew(Definition[vectorParams, []float64, float64]{
				Name: "vectors", Version: "1", Defaults: vectorParams{Partitions: 1},
				Plan:   func(_ context.Context, p vectorParams) (Plan, error) { return Plan{Partitions: p.Partitions}, nil },
				Open:   func(context.Context, vectorParams, Plan) (Mapper[[]float64], error) { return f, nil },
				Merge:  addVectors,
				Finish: func(_ context.Context, _ vectorParams, root []float64) (float64, error) { return root[0], nil },
				Codec:  Vector[float64]{},
			})
			params := must(job.Params(nil, fmt.Sprintf("partitions=%d", partitions)))
			b.SetBytes(benchmarkBytes)
			for b.Loop() {
				must(Local{Slots: 2, Attempts: 1}.Run(context.Background(), job, params))
			}
		})
	}
}

func plainLoop(f filler, partitions int) []float64 {
	sums := make([][]float64, 2)
	var both sync.WaitGroup
	for i := range sums {
		both.Go(func() {
			sum, value := make([]float64, f.length), make([]float64, f.length)
			for p := i * partitions / 2; p < (i+1)*partitions/2; p++ {
				value = must(f.Fill(context.Background(), uint64(p), value))
				sum = must(addVectors(sum, value))
			}
			sums[i] = sum
		})
	}
	both.Wait()
	return must(addVectors(sums[0], sums[1]))
}
