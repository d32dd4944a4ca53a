package work

import (
	"context"
	"fmt"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

// Computer executes tasks in this process. Each of its slots executes one task at a time.
type Computer struct {
	slots []*Slot
	free  chan *Slot
}

// Slot executes one task at a time, and adds up the completed tasks.
type Slot struct {
	do  func(ctx context.Context, task uint64) error
	sum func() (Sum, error)
}

// Do executes a task in the slot.
func (s *Slot) Do(ctx context.Context, task uint64) error { return s.do(ctx, task) }

// Open returns a computer with the given number of slots.
func (w Work) Open(ctx context.Context, slots int) (*Computer, error) {
	if w.Paths == 0 {
		params := probe.Definition.Defaults
		params.Partitions = math.MaxInt64 // a large number of partitions allows any task number
		return open(ctx, probe.Definition, params, slots, empty)
	}
	params := montecarlo.Definition.Defaults
	params.Batch = w.Paths
	params.Paths = math.MaxInt64
	return open(ctx, montecarlo.Definition, params, slots, simulated)
}

func open[P, T, R any](ctx context.Context, d jobs.Definition[P, T, R], p P, slots int, read func(R) (Sum, error)) (*Computer, error) {
	mapper, err := d.Open(ctx, p, jobs.Plan{})
	if err != nil {
		return nil, fmt.Errorf("open job %s: %w", d.Name, err)
	}
	c := &Computer{free: make(chan *Slot, slots)}
	for range slots {
		var (
			mu    sync.Mutex
			total T
			tasks uint64
		)
		s := &Slot{
			do: func(ctx context.Context, task uint64) error {
				one, err := mapper.Map(ctx, task)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if tasks++; tasks == 1 {
					total = one
					return nil
				}
				total, err = d.Merge(total, one)
				return err
			},
			sum: func() (Sum, error) {
				mu.Lock()
				defer mu.Unlock()
				if tasks == 0 {
					return Sum{}, nil
				}
				result, err := d.Finish(ctx, p, total)
				if err != nil {
					return Sum{}, err
				}
				s, err := read(result)
				s.Tasks = tasks
				return s, err
			},
		}
		c.slots = append(c.slots, s)
		c.free <- s
	}
	return c, nil
}

// Slots returns all slots of the computer.
func (c *Computer) Slots() []*Slot { return c.slots }

// Do executes a task as soon as a slot is free.
func (c *Computer) Do(ctx context.Context, task uint64) error {
	s := <-c.free
	defer func() { c.free <- s }()
	return s.do(ctx, task)
}

// Share executes tasks 0 to n-1. Each slot gets an equal part of the range.
func (c *Computer) Share(ctx context.Context, n uint64) error {
	var group errgroup.Group
	slots := uint64(len(c.slots))
	for i, s := range c.slots {
		lo, hi := n*uint64(i)/slots, n*uint64(i+1)/slots
		group.Go(func() error {
			for task := lo; task < hi; task++ {
				if err := s.do(ctx, task); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Sum returns the sum of all tasks completed so far.
func (c *Computer) Sum() (total Sum, err error) {
	for _, s := range c.slots {
		sum, err := s.sum()
		if err != nil {
			return Sum{}, err
		}
		total = total.Plus(sum)
	}
	return total, nil
}
