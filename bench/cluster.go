package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Cluster is what is measured: workers that share a NATS and a storage.
type Cluster struct {
	Conn     *nats.Conn
	Subjects wire.Subjects
	Store    *store.Store
}

const (
	// patience bounds each wait for something that a cluster does in a moment.
	patience = time.Minute
	// glance is the time between two looks at what changes within milliseconds, and
	// look between two looks at the rest.
	glance = 5 * time.Millisecond
	look   = 50 * time.Millisecond

	askTimeout  = time.Second
	maxAttempts = 3 // of a partition, as the command line has it
)

// errNobodyLeads: nobody answered where a leader would.
var errNobodyLeads = errors.New("nobody leads")

// ask asks the leader one thing, once.
func ask[A wire.Message](ctx context.Context, c Cluster, what string, question []byte) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	msg, err := c.Conn.RequestWithContext(ctx, c.Subjects.Ask(what), question)
	if err != nil {
		var none A
		return none, fmt.Errorf("%w: %w", errNobodyLeads, err)
	}
	return wire.Decode[A](msg.Data)
}

// until looks again and again, with that pause, until something holds. Errors of
// single looks are told only where it never does.
func until(ctx context.Context, what string, pause time.Duration, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		ok, err := holds(ctx)
		if ok {
			return nil
		}
		if wait(ctx, pause) != nil {
			return errors.Join(fmt.Errorf("wait until %s: %w", what, context.Cause(ctx)), err)
		}
	}
}

// wait is over after that time, or with an error when ctx is done.
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

// leader waits until somebody leads.
func (c Cluster) leader(ctx context.Context) (info wire.LeaderInfo, err error) {
	err = until(ctx, "somebody leads", glance, func(ctx context.Context) (bool, error) {
		info, err = ask[wire.LeaderInfo](ctx, c, wire.AskLeader, nil)
		return err == nil, err
	})
	return info, err
}

// lastTerm is the newest one of the history.
func (c Cluster) lastTerm(ctx context.Context) (store.TermRecord, error) {
	terms, err := c.Store.Terms(ctx)
	if err == nil && len(terms) == 0 {
		err = errNobodyLeads
	}
	if err != nil {
		return store.TermRecord{}, err
	}
	return terms[len(terms)-1], nil
}

// awaitWorkers waits until exactly so many workers are at work or ready for it,
// and returns them.
func (c Cluster) awaitWorkers(ctx context.Context, n int) (workers []wire.WorkerInfo, err error) {
	err = until(ctx, fmt.Sprintf("%d workers are there", n), look, func(ctx context.Context) (bool, error) {
		workers, err = c.workers(ctx)
		return len(workers) == n, err
	})
	return workers, err
}

// workers are those that are at work or ready for it.
func (c Cluster) workers(ctx context.Context) ([]wire.WorkerInfo, error) {
	answer, err := ask[wire.Workers](ctx, c, wire.AskWorkers, nil)
	var here []wire.WorkerInfo
	for _, w := range answer.Workers {
		if w.State == "idle" || w.State == "busy" {
			here = append(here, w)
		}
	}
	return here, err
}

// slots is how many slots workers have together.
func slots(workers []wire.WorkerInfo) int {
	n := 0
	for _, w := range workers {
		n += w.Slots
	}
	return n
}

// submit hands the cluster a job and returns its ID.
func (c Cluster) submit(ctx context.Context, job jobs.Job, params jobs.Params) (id string, err error) {
	now := time.Now().UTC()
	id = store.NewID(now)
	return id, c.Store.Submit(ctx, store.Spec{
		ID: id, Job: job.Name(), Version: job.Version(), Params: params, MaxAttempts: maxAttempts, Submitted: now,
	})
}

// progress is what the leader says of a job; the second result is false where
// nobody leads or the leader does not have the job.
func (c Cluster) progress(ctx context.Context, id string) (wire.JobProgress, bool) {
	answer, err := ask[wire.Jobs](ctx, c, wire.AskJobs, wire.Encode(wire.JobQuery{Job: id}))
	if err != nil || len(answer.Jobs) != 1 {
		return wire.JobProgress{}, false
	}
	return answer.Jobs[0], true
}

// ended is the manifest of a job that has ended; the second result is false where
// it has not.
func (c Cluster) ended(ctx context.Context, id string) (store.Manifest, bool, error) {
	m, _, err := c.Store.Manifest(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return m, false, nil
	}
	return m, err == nil && m.State.Final(), err
}

// finish waits for a job to complete, as long as it takes, and tells how far it
// is. Storage that is away for a while is waited for as well.
func (c Cluster) finish(ctx context.Context, id string, tell func(done, all uint64)) (store.Manifest, error) {
	for {
		m, ended, err := c.ended(ctx, id)
		switch {
		case err != nil && !errors.Is(err, store.ErrUnavailable):
			return m, err
		case ended && m.State != store.Completed:
			return m, fmt.Errorf("job %s is %s: %s", id, m.State, m.Error)
		case ended:
			return m, nil
		}
		if p, ok := c.progress(ctx, id); ok {
			tell(p.Done, p.Partitions)
		}
		if err := wait(ctx, look); err != nil {
			return m, err
		}
	}
}

// cancel gives up a job that is of no more use. If that fails, the job goes on.
func (c Cluster) cancel(ctx context.Context, id string) error {
	var refused string
	err := until(ctx, "job "+id+" is cancelled", look, func(ctx context.Context) (bool, error) {
		answer, err := ask[wire.Done](ctx, c, wire.AskCancel, wire.Encode(wire.Cancel{Job: id}))
		refused = answer.Error
		return err == nil, err
	})
	if err == nil && refused != "" {
		err = fmt.Errorf("cancel job %s: %s", id, refused)
	}
	return err
}
