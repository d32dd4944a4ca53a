package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a job",
		Long: `Cancel a job. When the command returns, that is durable. It needs a leader. A job
that has ended stays as it is, which is an error unless it was cancelled.`,
		Args:              takes(1, 1),
		RunE:              a.onJob(a.cancel),
		ValidArgsFunction: a.completeID,
	}
}

func (a *app) cancel(ctx context.Context, c *clusterConn, id string) error {
	r, err := c.record(ctx, id)
	if err != nil {
		return err
	}
	if !r.manifest.State.Final() {
		done, err := insist[wire.Done](ctx, c, wire.AskCancel, wire.Encode(wire.Cancel{Job: id}))
		if err != nil {
			return err
		}
		if r, err = c.record(ctx, id); err != nil {
			return err
		}
		if done.Error != "" && r.manifest.State != store.Cancelled {
			return fmt.Errorf("cancel job %s: %s", id, done.Error)
		}
	}
	if r.manifest.State != store.Cancelled {
		return fmt.Errorf("job %s has ended already: it is %s", id, r.manifest.State)
	}
	answer := struct {
		ID    string      `json:"id"`
		State store.State `json:"state"`
	}{id, r.manifest.State}
	return a.show(answer, func(w io.Writer) { row(w, id, "cancelled") })
}
