package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
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
needed. With storage jetstream, the NATS server's data folder shrinks within a few
minutes: every two minutes the server compacts its files of which less than half is in
use, except the files of up to 8 MiB that it is writing. A folder of a few MiB may
therefore stay as large as it is.`,
		Example: "  " + a.Name + " remove --ended-before 168h",
		Args:    console.WantArgs(0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			byAge := cmd.Flags().Changed("ended-before")
			switch {
			case byAge && len(args) > 0:
				return console.Usagef("IDs and --ended-before exclude each other")
			case !byAge && len(args) == 0:
				return console.Usagef("which jobs? Give IDs, or --ended-before with an age")
			case age < 0:
				return console.Usagef("--ended-before must be 0 or more, got %v", age)
			}
			return a.OnCluster(func(ctx context.Context, c *client.Client) error {
				ctx, stop := console.Interruptible(ctx)
				defer stop()
				if byAge {
					removed, damaged, err := c.RemoveEndedBefore(ctx, time.Now().Add(-age))
					a.noteDamaged(damaged)
					return a.showRemoved(removed, err)
				}
				return a.showRemoved(c.Remove(ctx, args...))
			})(cmd, args)
		},
		ValidArgsFunction: a.CompleteIDs,
	}
	cmd.Flags().DurationVar(&age, "ended-before", 0, "remove all jobs that ended longer ago than this")
	return cmd
}

// showRemoved prints the removed jobs, even if the removal of other jobs failed.
func (a *app) showRemoved(ids []string, err error) error {
	notEnded, ok := errors.AsType[*client.JobError](err)
	switch {
	case ok:
		return &console.StatusError{Status: console.StatusFailed, Err: fmt.Errorf("%w: '%s cancel %s' ends it", err, a.Name, notEnded.ID)}
	case errors.Is(err, client.ErrNotFound):
		return console.Usagef("%w: '%s list' shows the jobs, and 'remove' takes complete IDs", err, a.Name)
	case errors.Is(err, client.ErrNewer):
		return &console.StatusError{Status: console.StatusFailed, Err: fmt.Errorf("%w: remove it with that", err)}
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
	return errors.Join(err, a.Show(removed, func(w io.Writer) {
		for _, r := range removed {
			console.Row(w, r.ID, "removed")
		}
	}))
}
