package client

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// record holds the stored spec and manifest of a job.
type record struct {
	spec     store.Spec
	manifest store.Manifest // has only State, which is queued, if no leader has begun the job
}

// record reads a job's spec and manifest from storage. If only one of the two is
// damaged, record returns the other one along with the error.
func (c *Client) record(ctx context.Context, s *store.Store, id string) (record, error) {
	// A removal deletes the spec before the manifest.
	manifest, err := c.manifest(ctx, s, id)
	spec, specErr := s.Spec(ctx, id)
	if specErr != nil {
		return record{store.Spec{ID: id}, manifest}, c.explain(fmt.Errorf("read job %s: %w", id, specErr))
	}
	return record{spec, manifest}, err
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

// DamagedJob is a job that [Client.List] could not read.
type DamagedJob struct {
	ID  string
	Err error // wraps ErrDamaged

	manifest store.Manifest // zero if the manifest could not be read
}

// records reads jobs and returns them in the order of ids. It skips jobs that do not
// exist, because they may have been removed since their IDs were listed.
func (c *Client) records(ctx context.Context, s *store.Store, ids []string) (records []record, damaged []DamagedJob, err error) {
	all, errs := make([]record, len(ids)), make([]error, len(ids))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(maxParallel)
	for i, id := range ids {
		reads.Go(func() error {
			all[i], errs[i] = c.record(ctx, s, id)
			if errors.Is(errs[i], ErrNotFound) || errors.Is(errs[i], ErrDamaged) {
				return nil
			}
			return errs[i]
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, nil, err
	}
	for i, err := range errs {
		switch {
		case err == nil:
			records = append(records, all[i])
		case errors.Is(err, ErrDamaged):
			damaged = append(damaged, DamagedJob{ids[i], err, all[i].manifest})
		}
	}
	return records, damaged, nil
}
