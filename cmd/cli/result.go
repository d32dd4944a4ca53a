package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) resultCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "result ID",
		Short: "Show the result of a job that has ended",
		Long: `Show the result of a job that has ended. The exit status is 0 if it completed, 1
if it failed or was cancelled, 3 if it has not ended.`,
		Args: wantArgs(1, 1),
		RunE: a.onJob(func(ctx context.Context, c *client.Client, id string) error {
			o, err := c.Outcome(ctx, id)
			if errors.Is(err, client.ErrNotEnded) {
				return absentf("%w: '%s watch %s' waits for it", err, a.name, id)
			}
			if err != nil {
				return err
			}
			return a.showOutcome(newOutcome(o))
		}),
		ValidArgsFunction: a.completeID,
	}
}
