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
)

func (a *app) removeCommand() *cobra.Command {
	var age time.Duration
	cmd := &cobra.Command{
		Use:     "remove [ID...]",
		Aliases: []string{"rm"},
		Short:   "Remove jobs that have ended, with their results",
		Long: `Remove jobs that have ended from the cluster's storage, with their results: those
that are named, or with --ended-before all that ended longer ago. Until then a
cluster keeps every job. A job that has not ended is an error, and nothing is
removed then. It needs no leader.`,
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
			return a.onStorage(func(ctx context.Context, c *cluster) error {
				var ids []string
				var err error
				if byAge {
					ids, err = a.endedBefore(ctx, c, time.Now().Add(-age))
				} else {
					ids, err = c.endedNamed(ctx, args)
				}
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

// endedNamed finds the jobs that were named. They must all have ended.
func (c *cluster) endedNamed(ctx context.Context, given []string) ([]string, error) {
	var ids []string
	for _, g := range given {
		id, err := c.lookup(ctx, g)
		if err != nil {
			return nil, err
		}
		r, err := c.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if state := r.manifest.State; !state.Final() {
			return nil, fmt.Errorf("job %s has not ended, it is %s: '%s cancel %s' ends it", id, state, c.program, id)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// endedBefore finds the jobs that ended before a moment.
func (a *app) endedBefore(ctx context.Context, c *cluster, moment time.Time) ([]string, error) {
	records, err := a.records(ctx, c)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range records {
		if r.manifest.State.Final() && r.manifest.Finished.Before(moment) {
			ids = append(ids, r.spec.ID)
		}
	}
	return ids, nil
}

// remove removes jobs, and shows those that it came to.
func (a *app) remove(ctx context.Context, c *cluster, ids []string) error {
	type removal struct {
		ID string `json:"id"`
	}
	gone := make([]bool, len(ids))
	removals, ctx := errgroup.WithContext(ctx)
	removals.SetLimit(jobsAtOnce)
	for i, id := range ids {
		removals.Go(func() error {
			if err := c.store.Remove(ctx, id); err != nil {
				return c.explain(fmt.Errorf("remove job %s: %w", id, err))
			}
			gone[i] = true
			return nil
		})
	}
	failed := removals.Wait()
	removed := []removal{}
	for i, id := range ids {
		if gone[i] {
			removed = append(removed, removal{id})
		}
	}
	return errors.Join(failed, a.show(removed, func(w io.Writer) {
		for _, r := range removed {
			row(w, r.ID, "removed")
		}
	}))
}
