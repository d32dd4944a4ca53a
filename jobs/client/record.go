package client

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// record is what storage has of a job.
type record struct {
	spec     store.Spec
	manifest store.Manifest // has only the state queued if no leader has begun the job
}

// record reads a job from storage. Along with an error it returns what it could read.
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

// maxParallel is how many jobs are read or removed at once. Each takes several
// requests to storage, and there may be thousands of jobs.
const maxParallel = 16

// DamagedJob is a job that [Client.List] could not read.
type DamagedJob struct {
	ID  string
	Err error // is ErrDamaged

	manifest store.Manifest // if that could be read
}

// records reads jobs, in that order. Jobs that are missing were removed just now, and
// are left out.
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
