package throughput

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

type crew struct {
	*processes.Watch
	group *processes.Group

	told map[string]told // last message of each process
	last time.Time       // time of the last message
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

// total returns the sum over all processes. It needs exclusive access to the state, from a function passed to
// Change or Await. Floats are added in random order, so [work.Sum.Check] allows rounding errors.
func (c *crew) total() (sum work.Sum) {
	for _, t := range c.told {
		sum = sum.Plus(t.Sum)
	}
	return sum
}

func (c *crew) awaitReady(ctx context.Context, processes int) error {
	return c.Await(ctx, "worker processes are ready", func() bool {
		return len(c.told) >= processes // a process sends its first message when it is ready
	})
}

// awaitTasks waits until all tasks are done, and returns their sum and the time of the last message.
func (c *crew) awaitTasks(ctx context.Context, tasks uint64) (sum work.Sum, at time.Time, err error) {
	err = c.Await(ctx, "all tasks are done", func() bool {
		sum, at = c.total(), c.last
		return sum.Tasks >= tasks
	})
	return sum, at, err
}
