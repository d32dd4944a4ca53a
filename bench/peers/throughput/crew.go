package throughput

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

// crew is the worker processes of a queue, and what they told last.
type crew struct {
	group *processes.Group

	mu      sync.Mutex
	told    map[string]told // by process
	last    time.Time       // when one told something
	err     error           // the first thing that failed
	changed chan struct{}   // has room for one: something is new
}

func newCrew() *crew { return &crew{told: map[string]told{}, changed: make(chan struct{}, 1)} }

func (c *crew) heard(process string, line []byte) {
	now := time.Now()
	var r told
	if err := json.Unmarshal(line, &r); err != nil {
		c.failed(fmt.Errorf("read what %s tells: %w", process, err))
		return
	}
	c.mu.Lock()
	c.told[process], c.last = r, now
	c.mu.Unlock()
	c.notify()
}

func (c *crew) failed(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	c.notify()
}

func (c *crew) notify() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// sum is what all processes did together.
func (c *crew) sum() (total work.Sum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total()
}

// total is sum for callers that hold the lock. Floats are added in no fixed order,
// which work.Sum.Check allows for.
func (c *crew) total() (total work.Sum) {
	for _, r := range c.told {
		total = total.Plus(r.Sum)
	}
	return total
}

func (c *crew) awaitReady(ctx context.Context, processes int) error {
	_, err := c.await(ctx, func() bool {
		ready := 0
		for _, r := range c.told {
			if r.Ready {
				ready++
			}
		}
		return ready >= processes
	})
	return err
}

// awaitTasks waits until so many tasks were done, and says when that was told.
func (c *crew) awaitTasks(ctx context.Context, tasks uint64) (time.Time, error) {
	return c.await(ctx, func() bool { return c.total().Tasks >= tasks })
}

// stallAfter is how long nothing may happen before a queue counts as stuck.
const stallAfter = time.Minute

// await waits until holds, which is called with the lock held, says yes.
func (c *crew) await(ctx context.Context, holds func() bool) (time.Time, error) {
	stalled := time.NewTimer(stallAfter)
	defer stalled.Stop()
	for {
		c.mu.Lock()
		err, held, last := c.err, holds(), c.last
		c.mu.Unlock()
		if err != nil || held {
			return last, err
		}
		select {
		case <-c.changed:
			stalled.Reset(stallAfter)
		case <-stalled.C:
			return time.Time{}, errors.New("the worker processes have told nothing for " + stallAfter.String())
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}
