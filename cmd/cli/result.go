package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) resultCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "result ID",
		Short: "Show the result of a job that has ended",
		Long: `Show the result of a job that has ended. The exit status is 0 if it completed, 1
if it failed or was cancelled, 3 if it has not ended.`,
		Args: takes(1, 1),
		RunE: a.onJob(func(ctx context.Context, c *clusterConn, id string) error {
			r, err := c.record(ctx, id)
			if err != nil {
				return err
			}
			if state := r.manifest.State; !state.Final() {
				return absentf("job %s has not ended, it is %s: '%s watch %s' waits for it", id, state, c.program, id)
			}
			o, err := c.outcome(ctx, r)
			if err != nil {
				return err
			}
			return a.showOutcome(o)
		}),
		ValidArgsFunction: a.completeID,
	}
}
