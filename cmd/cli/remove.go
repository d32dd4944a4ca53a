package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) removeCommand() *cobra.Command {
	var age time.Duration
	cmd := &cobra.Command{
		Use:     "remove [ID...]",
		Aliases: []string{"rm"},
		Short:   "Remove jobs that have ended, with their results",
		Long: `Remove jobs that have ended from the cluster's storage, with their results: those
with the given IDs, which must be complete, or with --ended-before all that ended
longer ago. A cluster keeps every job until it is removed. If a given job has not
ended, nothing is removed. A damaged job can be removed by its ID. No leader is
needed.`,
		Example: "  " + a.name + " remove --ended-before 168h",
		Args:    wantArgs(0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			byAge := cmd.Flags().Changed("ended-before")
			switch {
			case byAge && len(args) > 0:
				return usagef("IDs and --ended-before exclude each other")
			case !byAge && len(args) == 0:
				return usagef("which jobs? Give IDs, or --ended-before with an age")
			case age < 0:
				return usagef("--ended-before must be 0 or more, got %v", age)
			}
			return a.onCluster(func(ctx context.Context, c *client.Client) error {
				ctx, stop := interruptible(ctx)
				defer stop()
				if byAge {
					removed, damaged, err := c.RemoveEndedBefore(ctx, time.Now().Add(-age))
					a.noteDamaged(damaged)
					return a.showRemoved(removed, err)
				}
				return a.showRemoved(c.Remove(ctx, args...))
			})(cmd, args)
		},
		ValidArgsFunction: a.completeIDs,
	}
	cmd.Flags().DurationVar(&age, "ended-before", 0, "remove all jobs that ended longer ago than this")
	return cmd
}

// showRemoved prints the removed jobs, even if the removal of other jobs failed.
func (a *app) showRemoved(ids []string, err error) error {
	notEnded, ok := errors.AsType[*client.JobError](err)
	switch {
	case ok:
		return &statusError{statusFailed, fmt.Errorf("%w: '%s cancel %s' ends it", err, a.name, notEnded.ID)}
	case errors.Is(err, client.ErrNotFound):
		return usagef("%w: '%s list' shows the jobs, and 'remove' takes complete IDs", err, a.name)
	case errors.Is(err, client.ErrNewer):
		return &statusError{statusFailed, fmt.Errorf("%w: remove it with that", err)}
	case err != nil && len(ids) == 0:
		return err
	case errors.Is(err, context.Canceled):
		err = fmt.Errorf("interrupted: %w", err)
	}
	type removal struct {
		ID string `json:"id"`
	}
	removed := []removal{}
	for _, id := range ids {
		removed = append(removed, removal{id})
	}
	return errors.Join(err, a.show(removed, func(w io.Writer) {
		for _, r := range removed {
			row(w, r.ID, "removed")
		}
	}))
}
