package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// chunksPerLoop is the number of chunks per goroutine of a plain loop. Chunks are short enough that
// all goroutines end at about the same time.
const chunksPerLoop = 64

// plainLoop computes the result of a job without a cluster: one goroutine per slot calls the job's
// Map in a loop. A program that was written only for this job would hardly be faster.
func plainLoop[P, T, R any](ctx context.Context, d jobs.Definition[P, T, R], p P, slots int) (result json.RawMessage, err error) {
	plan, err := d.Plan(ctx, p)
	if err != nil {
		return nil, err
	}
	mapper, err := d.Open(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeMapper(mapper)) }()

	chunks := min(plan.Partitions, uint64(slots*chunksPerLoop))
	sums := make([]T, chunks)
	var next atomic.Uint64
	var group errgroup.Group
	for range slots {
		group.Go(func() error {
			do := mapFunc(mapper)
			for {
				i := next.Add(1) - 1
				if i >= chunks {
					return nil
				}
				span := engine.Span{Lo: plan.Partitions * i / chunks, Hi: plan.Partitions * (i + 1) / chunks}
				sum, err := loop(ctx, do, d.Merge, span)
				if err != nil {
					return err
				}
				sums[i] = sum
			}
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("run the plain loop: %w", err)
	}
	root := sums[0]
	for _, sum := range sums[1:] {
		if root, err = d.Merge(root, sum); err != nil {
			return nil, err
		}
	}
	finished, err := d.Finish(ctx, p, root)
	if err != nil {
		return nil, err
	}
	return json.Marshal(finished)
}

func closeMapper(mapper any) error {
	if closer, ok := mapper.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

func loop[T any](ctx context.Context, do func(context.Context, uint64) (T, error), merge func(left, right T) (T, error), span engine.Span) (T, error) {
	sum, err := do(ctx, span.Lo)
	for at := span.Lo + 1; at < span.Hi && err == nil; at++ {
		var one T
		if one, err = do(ctx, at); err == nil {
			sum, err = merge(sum, one)
		}
	}
	return sum, err
}
