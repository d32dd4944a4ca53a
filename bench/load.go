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
	// loadWidth is the number of integers in a partition. A partition takes about a millisecond,
	// so that short windows contain many partitions.
	loadWidth = 2_000_000
	// firstLimit is the first limit of the search for primes that primesFor tries.
	firstLimit = 10_000_000_000
	mostLimit  = 10_000_000_000_000 // largest limit that the job primes accepts
	// calibrateFor is the time for which partitions are timed with each limit.
	calibrateFor = 300 * time.Millisecond
)

// primesFor returns a search for primes that keeps slots, each as fast as a core of this machine, busy for about
// the given time. It tries several limits, because the time per partition grows with the limit.
func primesFor(ctx context.Context, slots int, busy time.Duration) (primes.Params, error) {
	p := primes.Definition.Defaults
	p.Limit, p.Width = firstLimit, loadWidth
	// The slots of a remote cluster may be slower than this machine. A job that lasts longer than
	// planned does no harm.
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

// timePartition returns the shortest time of a partition, which excludes other load on the machine.
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
	const several = 16 // several neighbouring partitions are timed together, because they share a part of their work
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

// inOneProcess runs a job in this process on all cores, for comparison with the cluster's result.
func inOneProcess(ctx context.Context, job jobs.Job, params jobs.Params, tell func(done, all uint64)) ([]byte, error) {
	return granted(ctx, jobs.Grant{}, job, params, tell)
}

// granted is like inOneProcess for a job that needs a grant.
func granted(ctx context.Context, grant jobs.Grant, job jobs.Job, params jobs.Params, tell func(done, all uint64)) ([]byte, error) {
	local := jobs.Local{Slots: runtime.GOMAXPROCS(0), Attempts: client.DefaultMaxAttempts, Grant: grant, Progress: tell}
	result, err := local.Run(ctx, job, params)
	if err != nil {
		return nil, fmt.Errorf("run the job in this process: %w", err)
	}
	return result.Result, nil
}
