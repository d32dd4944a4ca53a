package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// endings tells when jobs have ended. One question to the leader serves for all that
// are waited for, so that the looking does not slow down what is measured.
type endings struct {
	cluster Cluster

	mu      sync.Mutex
	waiting []*awaited
}

// awaited is a job whose end somebody waits for.
type awaited struct {
	id    string
	seen  bool      // the leader had it
	since time.Time // when storage was last asked
	ended chan struct{}
}

// unseen is how long a job that the leader never spoke of is left alone before
// storage is asked: it may have come and gone between two questions.
const unseen = 250 * time.Millisecond

// await waits until a job has ended, however it did.
func (e *endings) await(ctx context.Context, id string) error {
	job := &awaited{id: id, since: time.Now(), ended: make(chan struct{})}
	e.mu.Lock()
	e.waiting = append(e.waiting, job)
	e.mu.Unlock()
	select {
	case <-job.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch looks after the jobs that are waited for until ctx is done.
func (e *endings) watch(ctx context.Context) error {
	for wait(ctx, glance) == nil {
		if err := e.look(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// look finds those that have ended. A leader no longer speaks of a job once its end
// is durable.
func (e *endings) look(ctx context.Context) error {
	e.mu.Lock()
	waiting := slices.Clone(e.waiting)
	e.mu.Unlock()
	active, err := ask[wire.Jobs](ctx, e.cluster, wire.AskJobs, wire.Encode(wire.JobQuery{}))
	if err != nil {
		return nil // nobody leads at the moment
	}
	for _, job := range waiting {
		here := slices.ContainsFunc(active.Jobs, func(p wire.JobProgress) bool { return p.Job == job.id })
		job.seen = job.seen || here
		if here || !job.seen && time.Since(job.since) < unseen {
			continue
		}
		job.since = time.Now()
		_, ended, err := e.cluster.ended(ctx, job.id)
		if err != nil {
			return err
		}
		if ended {
			close(job.ended)
			e.forget(job)
		}
	}
	return nil
}

func (e *endings) forget(job *awaited) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = slices.DeleteFunc(e.waiting, func(o *awaited) bool { return o == job })
}
