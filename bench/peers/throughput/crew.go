package throughput

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

// crew is the worker processes of a queue.
type crew struct {
	*processes.Watch
	group *processes.Group

	told map[string]told // by each process, last
	last time.Time       // when one told something
}

func newCrew() *crew { return &crew{Watch: processes.NewWatch(), told: map[string]told{}} }

func (c *crew) heard(process string, line []byte) {
	now := time.Now()
	var t told
	if err := json.Unmarshal(line, &t); err != nil {
		c.Fail(fmt.Errorf("read what %s tells: %w", process, err))
		return
	}
	c.Change(func() { c.told[process], c.last = t, now })
}

// total is what all processes did together, for callers whom the watch guards. Floats
// are added in no fixed order, which work.Sum.Check allows for.
func (c *crew) total() (sum work.Sum) {
	for _, t := range c.told {
		sum = sum.Plus(t.Sum)
	}
	return sum
}

// awaitReady waits until so many processes are.
func (c *crew) awaitReady(ctx context.Context, processes int) error {
	return c.Await(ctx, "worker processes are ready", func() bool {
		return len(c.told) >= processes // the first thing that they tell
	})
}

// awaitTasks waits until so many tasks were done, and says what was done then and when
// that was told.
func (c *crew) awaitTasks(ctx context.Context, tasks uint64) (sum work.Sum, at time.Time, err error) {
	err = c.Await(ctx, "all tasks are done", func() bool {
		sum, at = c.total(), c.last
		return sum.Tasks >= tasks
	})
	return sum, at, err
}
