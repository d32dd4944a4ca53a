package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a job",
		Long: `Cancel a job. When the command returns, the cancellation is durable. It needs a
leader. A job that has ended stays as it is; that is an error unless it was
cancelled.`,
		Args: console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			if err := c.Cancel(ctx, id); err != nil {
				return err
			}
			return a.Show(jobState{id, client.Cancelled}, func(w io.Writer) { console.Row(w, id, "cancelled") })
		}),
		ValidArgsFunction: a.CompleteID,
	}
}
