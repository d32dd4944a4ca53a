package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

type nothing struct{}

func (nothing) Map(context.Context, uint64) (uint64, error) { return 1, nil }

// BenchmarkEmptyPartitions measures the overhead of a slot per partition, including
// merges.
func BenchmarkEmptyPartitions(b *testing.B) {
	job := jobs.MustNew(jobs.Definition[struct{}, uint64, uint64]{
		Name: "nothing", Version: "1",
		Plan: func(context.Context, struct{}) (jobs.Plan, error) {
			return jobs.Plan{Partitions: jobs.MaxPartitions}, nil
		},
		Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[uint64], error) { return nothing{}, nil },
		Merge:  func(left, right uint64) (uint64, error) { return left + right, nil },
		Finish: func(_ context.Context, _ struct{}, root uint64) (uint64, error) { return root, nil },
	})
	params, err := job.Params(nil)
	if err != nil {
		b.Fatal(err)
	}
	task, err := job.Engine().Open(context.Background(), params, jobs.MaxPartitions, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := task.NewStack()
	b.ResetTimer()
	if _, err := s.Run(context.Background(), jobs.Span{Hi: uint64(b.N)}, new(atomic.Bool)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "partitions/s")
}
