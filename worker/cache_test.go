package worker_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// cachingWalker is a walker whose partitions load a factor once per worker.
type cachingWalker struct {
	walker
	factors *jobs.Cache[float64]
	loads   *atomic.Int64
}

func (w cachingWalker) Round(ctx context.Context, state walkState) (jobs.Mapper[walkState], error) {
	inner, err := w.walker.Round(ctx, state)
	return cachingMapper{inner, w}, err
}

type cachingMapper struct {
	jobs.Mapper[walkState]
	of cachingWalker
}

func (m cachingMapper) Map(ctx context.Context, partition uint64) (walkState, error) {
	value, err := m.Mapper.Map(ctx, partition)
	if err != nil {
		return value, err
	}
	factor, err := m.of.factors.Get(ctx, partition, func(context.Context) (float64, error) {
		m.of.loads.Add(1)
		return float64(partition%7) + 1, nil
	})
	value.At *= factor
	return value, err
}

// TestCacheOfRounds runs a job with rounds on two workers, each of which loads a partition at most once.
func TestCacheOfRounds(t *testing.T) {
	c := newCluster(t)
	var loads atomic.Int64
	uses := c.walking(func(d *jobs.Rounds[walkParams, walkState, walkState, float64]) {
		open := d.Open
		d.Open = func(ctx context.Context, p walkParams, plan jobs.Plan) (jobs.Rounder[walkState, walkState], error) {
			opened, err := open(ctx, p, plan)
			if err != nil {
				return nil, err
			}
			return cachingWalker{opened.(walker), jobs.NewCache(ctx, func(float64) int64 { return 8 }), &loads}, nil
		}
	})
	c.start(nil)
	c.start(nil)
	params := []string{"rounds=6", "partitions=40"}
	id := c.submitEdited(rounds(6), params...)
	c.await(id, params...) // compares with a run in one process
	until(t, "all workers have closed the job", func() bool { return uses.closed.Load() == uses.opened.Load() })
	if got := loads.Load(); got > 3*40 {
		t.Errorf("two workers and a run in one process loaded %d partitions in 6 rounds, want at most 3·40", got)
	}
}
