package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

const (
	// loadWidth is how many numbers a partition of the load has: about a millisecond's
	// work, so that short windows hold many.
	loadWidth = 2_000_000
	// firstLimit is where the search for the right limit begins.
	firstLimit = 10_000_000_000
	mostLimit  = 10_000_000_000_000 // that the job takes
	// calibrateFor is how long each guess is tried.
	calibrateFor = 300 * time.Millisecond
)

// primesFor is the parameters of a search for primes that keeps as many slots, at
// the speed of one of this machine's cores each, busy for about that long. Primes
// take longer the larger they are, so that the limit is found by trying.
func primesFor(ctx context.Context, slots int, busy time.Duration) (primes.Params, error) {
	p := primes.Definition.Defaults
	p.Limit, p.Width = firstLimit, loadWidth
	// Slots beyond the cores add nothing if they are this machine's, and if not,
	// the load lasts longer than asked, which does no harm.
	for range 3 {
		each, err := timePartition(ctx, p)
		if err != nil {
			return p, fmt.Errorf("size the load: %w", err)
		}
		partitions := max(64, uint64(busy.Seconds()*float64(slots)/each.Seconds()))
		p.Limit = min(partitions*loadWidth, mostLimit)
	}
	return p, nil
}

// timePartition is how long one core takes for a partition about half-way to the
// limit, at best: what else the machine does counts for nothing.
func timePartition(ctx context.Context, p primes.Params) (time.Duration, error) {
	plan, err := primes.Definition.Plan(ctx, p)
	if err != nil {
		return 0, err
	}
	mapper, err := primes.Definition.Open(ctx, p, plan)
	if err != nil {
		return 0, err
	}
	do := mapFunc(mapper)
	const several = 16 // partitions share some of their work with their neighbours
	best := time.Hour
	began := time.Now()
	for at := plan.Partitions / 2; time.Since(began) < calibrateFor && at+several <= plan.Partitions; at += several {
		since := time.Now()
		for i := range uint64(several) {
			if _, err := do(ctx, at+i); err != nil {
				return 0, err
			}
		}
		best = min(best, time.Since(since)/several)
	}
	return best, nil
}

// inOneProcess runs a job in this process alone, on all cores: the reference for
// its bytes.
func inOneProcess(ctx context.Context, job jobs.Job, params jobs.Params, tell func(done, all uint64)) ([]byte, error) {
	local := jobs.Local{Slots: runtime.GOMAXPROCS(0), Attempts: client.DefaultMaxAttempts, Progress: tell}
	result, err := local.Run(ctx, job, params)
	if err != nil {
		return nil, fmt.Errorf("run the job in this process: %w", err)
	}
	return result.Result, nil
}
