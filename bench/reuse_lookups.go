package bench

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// ReuseLookups is the search for the kept partials of a job of many small partitions.
type ReuseLookups struct {
	Partitions uint64  `json:"partitions"`
	Kept       uint64  `json:"kept"` // number of kept partials
	Wall       float64 `json:"wall_s"`
	Memory     int64   `json:"memory_bytes"` // memory of the index, in which the partials are found
}

type lookupParams struct {
	Partitions uint64 `json:"partitions"`
}

// lookups is a job whose partitions are just worth keeping: each takes 4 µs and has a partial of a few bytes.
var lookups = jobs.Definition[lookupParams, uint64, uint64]{
	Name: "lookups", Version: "1", Defaults: lookupParams{Partitions: 1},
	Plan: func(_ context.Context, p lookupParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open: func(context.Context, lookupParams, jobs.Plan) (jobs.Mapper[uint64], error) {
		return lookupMapper{}, nil
	},
	Merge:  func(a, b uint64) (uint64, error) { return a + b, nil },
	Finish: func(_ context.Context, _ lookupParams, root uint64) (uint64, error) { return root, nil },
}

type lookupMapper struct{}

func (lookupMapper) Map(_ context.Context, partition uint64) (uint64, error) {
	for began := time.Now(); time.Since(began) < 4*time.Microsecond; {
	}
	return partition, nil
}

// lookUp runs the job once, and measures the search for its kept partials.
func (c ReuseConfig) lookUp(ctx context.Context) (*ReuseLookups, error) {
	c.Progress("running a job of many partitions", 0, 0)
	c.Dir = filepath.Join(c.Dir, "lookups")
	job := jobs.MustNew(lookups)
	params, err := job.EncodeParams(lookupParams{c.Lookups})
	if err != nil {
		return nil, err
	}
	list, reuse, err := c.open(ctx, job, params)
	if err != nil {
		return nil, err
	}
	_, err = jobs.Local{Slots: c.Slots, Attempts: 1, Reuse: reuse}.Run(ctx, job, params)
	list.Close(ctx)
	r := &ReuseLookups{Partitions: c.Lookups, Kept: list.Stats().Kept}
	if err != nil {
		return nil, err
	}
	list, reuse = nil, jobs.Reuse{}
	before := heap()
	var times []float64
	for range c.Rounds {
		began := time.Now()
		if list, reuse, err = c.open(ctx, job, params); err != nil {
			return nil, err
		}
		found, err := c.find(ctx, job, params, reuse)
		if err != nil {
			return nil, err
		}
		if found != c.Lookups {
			return nil, fmt.Errorf("%d of %d partitions were found", found, c.Lookups)
		}
		times = append(times, time.Since(began).Seconds())
	}
	r.Wall, r.Memory = Median(times), heap()-before
	runtime.KeepAlive(list)
	return r, nil
}

// find returns how many partitions of the job are kept, as the worker that plans a job finds it.
func (c ReuseConfig) find(ctx context.Context, job jobs.Job, params jobs.Params, reuse jobs.Reuse) (uint64, error) {
	plan, err := job.Plan(ctx, params)
	if err != nil {
		return 0, err
	}
	task, err := job.Engine().Open(ctx, params, plan.Partitions, plan.Data)
	if err != nil {
		return 0, err
	}
	found, err := task.Find(ctx, reuse)
	if closeErr := task.Close(); err == nil {
		err = closeErr
	}
	return found.Partitions, err
}

// heap returns the bytes of all live objects.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (r *ReuseLookups) table(w io.Writer) {
	fmt.Fprintf(w, "\n\tPARTITIONS\tKEPT\tWALL\tMEMORY\n")
	fmt.Fprintf(w, "finding what is kept\t%d\t%d\t%.0f ms\t%s bytes\n", r.Partitions, r.Kept, 1e3*r.Wall, about(float64(r.Memory)))
}
