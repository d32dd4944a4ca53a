package throughput

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

func pool() System {
	return System{
		Name:       "goroutine pool",
		Versions:   func(context.Context, Place) (string, error) { return runtime.Version(), nil },
		Durability: "none; one process",
		Settings:   []Setting{{}},
		open: func(_ context.Context, p Place, w work.Work, _ Setting) (session, error) {
			return poolSession{w, p.cores()}, nil
		},
	}
}

type poolSession struct {
	work  work.Work
	slots int
}

// buffered is the capacity of the channel.
const buffered = 1024

func (s poolSession) run(ctx context.Context, n uint64) (time.Duration, work.Sum, error) {
	computer, err := s.work.Open(ctx, s.slots)
	if err != nil {
		return 0, work.Sum{}, err
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	tasks := make(chan uint64, buffered)
	group.Go(func() error {
		defer close(tasks)
		for task := range n {
			select {
			case tasks <- task:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for _, slot := range computer.Slots() {
		group.Go(func() error {
			for task := range tasks {
				if err := slot.Do(ctx, task); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, work.Sum{}, fmt.Errorf("run pool: %w", err)
	}
	took := time.Since(began)
	sum, err := computer.Sum()
	return took, sum, err
}

func (poolSession) close() error { return nil }
