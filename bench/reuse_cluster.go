package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
)

// ReuseCluster is the configuration of the runs of [Reuse] in a cluster.
type ReuseCluster struct {
	// Cluster is a client of a cluster whose workers are the processes of Flock. The workers know
	// the job scan and may read the files.
	Cluster *client.Client
	Flock   *procs.Supervisor
	Workers int
}

// ReuseClusterReport is the result of the runs of Reuse in a cluster. The processor times are those of all workers
// together.
type ReuseClusterReport struct {
	Workers int `json:"workers"`
	FirstRuns
	Again Spread      `json:"again_ms"` // times of the same job again, from the submission to the durable result
	Cases []ReuseCase `json:"cases"`
}

// againRuns is the number of runs of the same job again for each round.
const againRuns = 4

// firstInCluster measures the first job, and beside it a job that keeps nothing, and then the same job again.
func (c ReuseConfig) firstInCluster(ctx context.Context) (*ReuseClusterReport, error) {
	r := &ReuseClusterReport{Workers: c.Cluster.Workers}
	if _, err := awaitWorkers(ctx, c.Cluster.Cluster, r.Workers); err != nil {
		return r, err
	}
	first, err := c.firstRuns("first job in a cluster", func(t *scanTimes, keeps bool) error {
		if keeps {
			if err := c.dropAll(ctx); err != nil {
				return err
			}
		}
		return c.timeJob(ctx, t, keeps)
	})
	if err != nil {
		return r, err
	}
	r.FirstRuns = first
	if r.KeptBytes, err = c.settled(ctx); err != nil {
		return r, err
	}
	var again []float64
	for range againRuns * c.Rounds {
		one, err := c.runInCluster(ctx, true)
		if err != nil {
			return r, err
		}
		again = append(again, 1e3*one.seconds)
	}
	r.Again = spreadOf(again)
	return r, nil
}

// timeJob measures a job in the cluster. The last packs are written after the end of the job, so the processor time is
// measured until nothing more is written, which takes some idle time after each job.
func (c ReuseConfig) timeJob(ctx context.Context, t *scanTimes, reuse bool) error {
	before, err := c.workersCPU()
	if err != nil {
		return err
	}
	one, err := c.runInCluster(ctx, reuse)
	if err == nil {
		_, err = c.settled(ctx)
	}
	if err != nil {
		return err
	}
	after, err := c.workersCPU()
	t.wall, t.cpu = append(t.wall, one.seconds), append(t.cpu, (after-before).Seconds())
	return err
}

// workersCPU returns the processor time of all workers since they began.
func (c ReuseConfig) workersCPU() (sum time.Duration, err error) {
	for _, p := range c.Cluster.Flock.Running() {
		cpu, err := cpuOf(p.PID())
		if err != nil {
			return 0, err
		}
		sum += cpu
	}
	return sum, nil
}

// runInCluster runs the scan of all files in the cluster.
func (c ReuseConfig) runInCluster(ctx context.Context, reuse bool) (r reuseRun, err error) {
	job, params, err := c.job()
	if err != nil {
		return r, err
	}
	o := client.SubmitOptions{Params: params}
	if reuse {
		o.Keep = kept.DefaultLimit
	}
	id, err := c.Cluster.Cluster.Submit(ctx, job, o)
	if err != nil {
		return r, err
	}
	s, err := finish(ctx, c.Cluster.Cluster, id, func(uint64, uint64) {})
	if err != nil {
		return r, errors.Join(err, cancel(context.WithoutCancel(ctx), c.Cluster.Cluster, id))
	}
	r = reuseRun{partitions: s.Partitions, seconds: lasted(s).Seconds()}
	if s.Reuse != nil {
		r.reused = s.Reuse.Partitions
	}
	got, err := c.Cluster.Cluster.Outcome(ctx, id)
	r.result = got.Result
	return r, err
}

// settled waits until the workers have written what they keep, and returns its size.
func (c ReuseConfig) settled(ctx context.Context) (bytes int64, err error) {
	blobs, err := c.Cluster.Cluster.Kept(ctx)
	if err != nil {
		return 0, err
	}
	since := time.Now()
	err = until(ctx, "the workers have written what they keep", look, func(ctx context.Context) (bool, error) {
		list, err := kept.List(ctx, blobs)
		now := int64(0)
		for _, one := range list {
			now += one.Bytes
		}
		if now != bytes {
			bytes, since = now, time.Now()
		}
		return err == nil && time.Since(since) > time.Second, err
	})
	return bytes, err
}

// dropAll drops what the cluster keeps.
func (c ReuseConfig) dropAll(ctx context.Context) error {
	blobs, err := c.Cluster.Cluster.Kept(ctx)
	if err != nil {
		return err
	}
	list, err := kept.List(ctx, blobs)
	for _, one := range list {
		err = errors.Join(err, kept.Drop(ctx, blobs, one))
	}
	return err
}

func (r *ReuseClusterReport) table(w io.Writer, bytes int64) {
	fmt.Fprintf(w, "\nin a cluster of %d workers with one slot each\n\n", r.Workers)
	r.FirstRuns.table(w, bytes)
	fmt.Fprintf(w, "\n\tMEDIAN\tP95\tWORST\n")
	fmt.Fprintf(w, "the same job again\t%.0f ms\t%.0f ms\t%.0f ms\n", r.Again.Median, r.Again.P95, r.Again.Worst)
	cases(w, r.Cases)
}
