package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

func (a *app) removeCommand() *cobra.Command {
	var age time.Duration
	cmd := &cobra.Command{
		Use:     "remove [ID...]",
		Aliases: []string{"rm"},
		Short:   "Remove jobs that have ended, with their results",
		Long: `Remove jobs that have ended from the cluster's storage, with their results: those
that are named, by their whole IDs, or with --ended-before all that ended longer
ago. Until then a cluster keeps every job. A job that has not ended is an error, and
nothing is removed then; one that is damaged can be removed by its ID. It needs no
leader.`,
		Example: "  " + a.name + " remove --ended-before 168h",
		Args:    takes(0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			byAge := cmd.Flags().Changed("ended-before")
			switch {
			case byAge && len(args) > 0:
				return usagef("IDs and --ended-before exclude each other")
			case !byAge && len(args) == 0:
				return usagef("which jobs? Give IDs, or --ended-before with how long ago")
			case age < 0:
				return usagef("--ended-before must be 0 or more, got %v", age)
			}
			return a.onStorage(func(ctx context.Context, c *clusterConn) error {
				ctx, stop := interruptible(ctx)
				defer stop()
				ids, err := a.removable(ctx, c, args, time.Now().Add(-age))
				if err != nil {
					return err
				}
				return a.remove(ctx, c, ids)
			})(cmd, args)
		},
		ValidArgsFunction: a.completeIDs,
	}
	cmd.Flags().DurationVar(&age, "ended-before", 0, "remove all jobs that ended longer ago than this")
	return cmd
}

// removable finds the jobs to remove: those that are named or, without names, those
// that ended before a moment. What is left of jobs that were removed is always removable.
func (a *app) removable(ctx context.Context, c *clusterConn, named []string, before time.Time) ([]string, error) {
	half, err := c.store.HalfRemoved(ctx)
	if err != nil {
		return nil, c.explain(fmt.Errorf("list jobs: %w", err))
	}
	if len(named) > 0 {
		return c.removableOf(ctx, named, half)
	}
	records, err := a.all(ctx, c)
	if err != nil {
		return nil, err
	}
	ids := half
	for _, r := range records {
		if r.manifest.State.Final() && r.manifest.Finished.Before(before) {
			ids = append(ids, r.spec.ID)
		}
	}
	return ids, nil
}

// removableOf checks that all jobs that are named can be removed: they have ended, or
// are damaged, so that nobody can begin them.
func (c *clusterConn) removableOf(ctx context.Context, named, half []string) ([]string, error) {
	ids, err := c.jobs(ctx)
	if err != nil {
		return nil, err
	}
	named = slices.Compact(slices.Sorted(slices.Values(named)))
	for _, id := range named {
		if !slices.Contains(ids, id) && !slices.Contains(half, id) {
			return nil, usagef("cluster %s has no job %s: '%s list' shows those it has, and a removal takes whole IDs", c.name, id, c.program)
		}
	}
	records, damaged, err := c.records(ctx, named)
	if err != nil {
		return nil, err
	}
	for _, d := range damaged {
		if errors.Is(d.err, store.ErrNewer) {
			return nil, fmt.Errorf("%w: remove it with that", d.err)
		}
		if d.manifest.State == store.Running { // whose leader has read the rest before
			records = append(records, d.record)
		}
	}
	for _, r := range records {
		if id, state := r.spec.ID, r.manifest.State; !state.Final() {
			return nil, fmt.Errorf("job %s has not ended, it is %s: '%s cancel %s' ends it", id, state, c.program, id)
		}
	}
	return named, nil
}

// remove removes jobs, and shows those that are gone. After an error, or when it is
// interrupted, it goes on with those it has begun, and begins no more.
func (a *app) remove(ctx context.Context, c *clusterConn, ids []string) error {
	type removal struct {
		ID string `json:"id"`
	}
	next, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(ids))
	var removals errgroup.Group
	removals.SetLimit(jobsAtOnce)
	for i, id := range ids {
		removals.Go(func() error {
			if errs[i] = next.Err(); errs[i] != nil {
				return nil
			}
			if err := c.store.Remove(context.WithoutCancel(ctx), id); err != nil {
				errs[i] = c.explain(fmt.Errorf("remove job %s: %w", id, err))
				stop()
			}
			return nil
		})
	}
	_ = removals.Wait() // errs has them
	removed := []removal{}
	var failed []error
	for i, err := range errs {
		switch {
		case err == nil:
			removed = append(removed, removal{ids[i]})
		case !errors.Is(err, context.Canceled):
			failed = append(failed, err)
		}
	}
	if ctx.Err() != nil && len(removed) < len(ids) {
		failed = append(failed, fmt.Errorf("interrupted: %d jobs of %d are removed", len(removed), len(ids)))
	}
	return errors.Join(append(failed, a.show(removed, func(w io.Writer) {
		for _, r := range removed {
			row(w, r.ID, "removed")
		}
	}))...)
}
