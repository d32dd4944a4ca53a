package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

const (
	// patience is the maximum time for each change of a cluster's state. A working cluster changes
	// its state within a few seconds.
	patience = time.Minute
	// glance is the polling interval for state that changes within milliseconds, and look is the
	// polling interval for other state.
	glance = 5 * time.Millisecond
	look   = 50 * time.Millisecond
)

// until polls holds until it returns true. After the time patience, the error contains the last error of holds.
func until(ctx context.Context, what string, interval time.Duration, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		ok, err := holds(ctx)
		if ok {
			return nil
		}
		if wait(ctx, interval) != nil {
			if err != nil {
				return fmt.Errorf("wait until %s: %w (%v)", what, context.Cause(ctx), err)
			}
			return fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func leader(ctx context.Context, c *client.Client) (leader client.Leader, err error) {
	err = until(ctx, "a worker leads", glance, func(ctx context.Context) (bool, error) {
		leader, err = c.Leader(ctx)
		return err == nil, err
	})
	return leader, err
}

func lastTerm(ctx context.Context, c *client.Client) (client.Term, error) {
	terms, err := c.History(ctx)
	if err == nil && len(terms) == 0 {
		err = errors.New("the history is empty")
	}
	if err != nil {
		return client.Term{}, err
	}
	return terms[len(terms)-1], nil
}

// awaitWorkers waits until exactly n workers are idle or busy, and returns the listed ones of them.
func awaitWorkers(ctx context.Context, c *client.Client, n int) (ready []client.Worker, err error) {
	err = until(ctx, fmt.Sprintf("%d workers are ready", n), look, func(ctx context.Context) (bool, error) {
		answer, err := c.Workers(ctx)
		var all int
		ready, all = readyOf(answer)
		return all == n, err
	})
	return ready, err
}

// readyOf returns the listed workers that are idle or busy, and their number with the workers beyond
// wire.MaxListed, which the answer only counts.
func readyOf(answer client.Workers) (ready []client.Worker, all int) {
	for _, w := range answer.Workers {
		if w.State == "idle" || w.State == "busy" {
			ready = append(ready, w)
		}
	}
	return ready, len(ready) + answer.More
}

func slots(workers []client.Worker) int {
	n := 0
	for _, w := range workers {
		n += w.Slots
	}
	return n
}

// finish waits until a job has completed. Outages that are shorter than the client's Timeout cause no error.
func finish(ctx context.Context, c *client.Client, id string, tell func(done, all uint64)) (last client.Status, err error) {
	for s, err := range c.Watch(ctx, id) {
		if err != nil {
			return s, err
		}
		last = s
		tell(s.Done, s.Partitions)
	}
	return last, last.Err()
}

// cancel cancels a job whose result is not needed. If cancel fails, the job continues.
func cancel(ctx context.Context, c *client.Client, id string) error {
	return until(ctx, "job "+id+" is cancelled", look, func(ctx context.Context) (bool, error) {
		err := c.Cancel(ctx, id)
		return err == nil || errors.Is(err, client.ErrEnded), err
	})
}
