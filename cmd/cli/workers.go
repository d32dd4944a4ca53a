package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) workersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "workers",
		Short: "List the cluster's workers",
		Args:  cobra.NoArgs,
		RunE: a.onCluster(func(ctx context.Context, c *client.Client) error {
			answer, err := c.Workers(ctx)
			if err != nil {
				return err
			}
			workers := append([]client.Worker{}, answer.Workers...) // [] in JSON, not null
			return a.show(workers, func(w io.Writer) {
				row(w, "ID", "HOST", "PID", "SLOTS", "LEADER", "STATE", "UP")
				for _, k := range workers {
					leads := ""
					if k.Leader {
						leads = "leads"
					}
					row(w, k.ID, k.Host, k.PID, k.Slots, leads, k.State, duration(time.Since(k.Since).Round(time.Second)))
				}
				if answer.More > 0 {
					row(w, fmt.Sprintf("and %d more", answer.More))
				}
			})
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}
