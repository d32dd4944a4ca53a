package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Cancel cancels a job. When Cancel returns, the cancellation is durable. Cancel fails with
// [ErrEnded] if the job has failed or completed, and succeeds if the job is already cancelled.
func (c *Client) Cancel(ctx context.Context, id string) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	r, err := c.record(ctx, s, id)
	if err != nil {
		return err
	}
	if !r.manifest.State.Final() {
		done, err := askUntil[wire.Done](ctx, c, wire.AskCancel, wire.Encode(wire.Cancel{Job: id}))
		if err != nil {
			return err
		}
		if r, err = c.record(ctx, s, id); err != nil {
			return err
		}
		if done.Error != "" && !r.manifest.State.Final() {
			return fmt.Errorf("cancel job %s: %s", id, done.Error)
		}
	}
	if r.manifest.State != Cancelled {
		return &JobError{ID: id, State: r.manifest.State, Err: ErrEnded}
	}
	return nil
}

// Remove removes jobs that have ended, and their results, from storage. Remove works without a
// leader. If one of the jobs has not ended ([ErrNotEnded]) or does not exist, Remove removes none
// of them. Remove also removes damaged jobs, except jobs that a later version of Bellwether wrote.
// After an error, or when ctx is done, Remove completes the removals that it has begun, and removes
// no further jobs. Remove returns the IDs of the removed jobs.
func (c *Client) Remove(ctx context.Context, ids ...string) (removed []string, err error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if err := c.checkRemovable(ctx, s, ids); err != nil {
		return nil, err
	}
	return c.remove(ctx, s, ids)
}

// RemoveEndedBefore removes all jobs that ended before moment. RemoveEndedBefore also completes
// removals that were interrupted. RemoveEndedBefore does not remove damaged jobs, and returns a
// list of them.
func (c *Client) RemoveEndedBefore(ctx context.Context, moment time.Time) (removed []string, damaged []DamagedJob, err error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids, err := c.halfRemoved(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	all, err := c.ids(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	damaged, err = readJobs(ctx, c, s, all, func(r record) (ended string) {
		if r.manifest.State.Final() && r.manifest.Finished.Before(moment) {
			return r.spec.ID
		}
		return ""
	}, func(ended string) error {
		if ended != "" {
			ids = append(ids, ended)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	removed, err = c.remove(ctx, s, ids)
	return removed, damaged, err
}

func (c *Client) halfRemoved(ctx context.Context, s *store.Store) ([]string, error) {
	ids, err := s.HalfRemoved(ctx)
	if err != nil {
		return nil, c.explain(fmt.Errorf("list jobs: %w", err))
	}
	return ids, nil
}

// checkRemovable returns an error for a job that has not ended, unless it is damaged and cannot run.
func (c *Client) checkRemovable(ctx context.Context, s *store.Store, ids []string) error {
	half, err := c.halfRemoved(ctx, s)
	if err != nil {
		return err
	}
	all, err := c.ids(ctx, s)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.Contains(all, id) && !slices.Contains(half, id) {
			return c.errNoJob(id)
		}
	}
	var notEnded *JobError
	damaged, err := readJobs(ctx, c, s, ids, func(r record) *JobError {
		if r.manifest.State.Final() {
			return nil
		}
		return &JobError{ID: r.spec.ID, State: r.manifest.State, Err: ErrNotEnded}
	}, func(e *JobError) error {
		notEnded = cmp.Or(notEnded, e)
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range damaged {
		if errors.Is(d.Err, ErrNewer) {
			return d.Err
		}
		if d.state == Running { // a leader that read the records before they were damaged may still run the job
			notEnded = cmp.Or(notEnded, &JobError{ID: d.ID, State: d.state, Err: ErrNotEnded})
		}
	}
	if notEnded != nil {
		return notEnded
	}
	return nil
}

func (c *Client) remove(ctx context.Context, s *store.Store, ids []string) (removed []string, err error) {
	next, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(ids))
	var removals errgroup.Group
	removals.SetLimit(maxParallel)
	for i, id := range ids {
		removals.Go(func() error {
			if errs[i] = next.Err(); errs[i] != nil {
				return nil
			}
			if err := s.Remove(context.WithoutCancel(ctx), id); err != nil {
				errs[i] = c.explain(fmt.Errorf("remove job %s: %w", id, err))
				stop()
			}
			return nil
		})
	}
	_ = removals.Wait() // the slice errs already contains the errors
	var failed []error
	for i, err := range errs {
		switch {
		case err == nil:
			removed = append(removed, ids[i])
		case !errors.Is(err, context.Canceled):
			failed = append(failed, err)
		}
	}
	if ctx.Err() != nil && len(removed) < len(ids) {
		failed = append(failed, fmt.Errorf("%d of %d jobs removed: %w", len(removed), len(ids), ctx.Err()))
	}
	return removed, errors.Join(failed...)
}
