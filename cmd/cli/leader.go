package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) leaderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "leader",
		Short: "Show who leads, or let another worker lead",
		Args:  cobra.NoArgs,
		RunE: a.OnCluster(func(ctx context.Context, c *client.Client) error {
			leader, err := c.Leader(ctx)
			if err != nil {
				return err
			}
			return a.showLeader(leader)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "step-down",
		Short: "Ask the leader to hand over to another worker, and show who leads then",
		Args:  cobra.NoArgs,
		RunE: a.OnCluster(func(ctx context.Context, c *client.Client) error {
			old, err := c.StepDown(ctx)
			if err != nil {
				return err
			}
			leader, err := c.LeaderAfter(ctx, old.Epoch)
			if err != nil {
				return fmt.Errorf("%s stepped down: %w", old.Worker, err)
			}
			return a.showLeader(leader)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	})
	return cmd
}

func (a *app) showLeader(leader client.Leader) error {
	return a.Show(leader, func(w io.Writer) {
		console.Row(w, "epoch", leader.Epoch)
		console.Row(w, "worker", leader.Worker)
		console.Row(w, "host", leader.Host)
		console.Row(w, "pid", leader.PID)
		console.Row(w, "storage", leader.Storage)
		console.Row(w, "since", fmt.Sprintf("%s (%s)", human.Time(leader.Since), human.Duration(time.Since(leader.Since).Round(time.Second))))
	})
}
