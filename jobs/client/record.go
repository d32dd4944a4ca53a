package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

type record struct {
	spec     store.Spec
	manifest store.Manifest // manifest of the job; contains only State, Queued, if no leader has begun the job
	rows     bool           // the result describes an output of rows; known only if the job keeps what a retry of skipped partitions needs
}

// record reads a job's spec and manifest from storage. If only one of them is damaged, record
// returns the other one together with the error.
func (c *Client) record(ctx context.Context, s *store.Store, id string) (record, error) {
	// The manifest is read before the spec, because a removal deletes the spec before the manifest.
	manifest, err := c.manifest(ctx, s, id)
	spec, specErr := s.Spec(ctx, id)
	if errors.Is(specErr, store.ErrNotFound) && manifest.State == store.Queued {
		specErr = c.errNoJob(id)
	}
	if specErr != nil {
		return record{spec: store.Spec{ID: id}, manifest: manifest}, c.explain(fmt.Errorf("read job %s: %w", id, specErr))
	}
	r := record{spec: spec.Spec, manifest: manifest}
	if err != nil || !r.completable() || !hasOutput(r.spec.Params) { // results without an output may be large
		return r, err
	}
	switch result, err := s.Result(ctx, id, manifest.SHA256); {
	case err == nil:
		r.rows = ofRows(result)
	case !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt): // a retry writes such a result again
		return r, c.explain(fmt.Errorf("read the result of job %s: %w", id, err))
	}
	return r, nil
}

func (c *Client) manifest(ctx context.Context, s *store.Store, id string) (store.Manifest, error) {
	m, _, err := s.Manifest(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Manifest{State: store.Queued}, nil
	case err != nil:
		return m, c.explain(fmt.Errorf("read the checkpoint of job %s: %w", id, err))
	}
	return m, nil
}

// maxParallel is the number of jobs that are read or removed in parallel. Each job needs
// several requests to storage, and there may be thousands of jobs.
const maxParallel = 16

// maxBatch is the number of jobs that readJobs keeps in memory.
const maxBatch = 64

// DamagedJob is a job that [Client.List] or [Client.Each] could not read.
type DamagedJob struct {
	ID  string
	Err error // reason, which wraps ErrDamaged

	state State // state in the manifest; empty if the manifest could not be read
}

// readJobs reads the jobs with the given IDs in order, calls keep with each record, and passes the
// result of keep to visit. The function keep is called from several goroutines. readJobs reads the
// jobs in batches and retains only the results of keep, because records are large. If a job does
// not exist, readJobs skips it, because the job may have been removed since the IDs were listed. At
// the first error of visit, readJobs stops.
func readJobs[T any](ctx context.Context, c *Client, s *store.Store, ids []string, keep func(record) T, visit func(T) error) (damaged []DamagedJob, err error) {
	for batch := range slices.Chunk(ids, maxBatch) {
		kept, errs, states := make([]T, len(batch)), make([]error, len(batch)), make([]State, len(batch))
		reads, ctx := errgroup.WithContext(ctx)
		reads.SetLimit(maxParallel)
		for i, id := range batch {
			reads.Go(func() error {
				r, err := c.record(ctx, s, id)
				errs[i], states[i] = err, r.manifest.State
				switch {
				case err == nil:
					kept[i] = keep(r)
				case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDamaged):
					return err
				}
				return nil
			})
		}
		if err := reads.Wait(); err != nil {
			return nil, err
		}
		for i, err := range errs {
			switch {
			case err == nil:
				if err := visit(kept[i]); err != nil {
					return nil, err
				}
			case errors.Is(err, ErrDamaged):
				damaged = append(damaged, DamagedJob{batch[i], err, states[i]})
			}
		}
	}
	return damaged, nil
}
