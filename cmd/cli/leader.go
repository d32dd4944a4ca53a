package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func (a *app) leaderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "leader",
		Short: "Show who leads, or have another worker lead",
		Args:  takes(0, 0),
		RunE: a.onLeader(func(ctx context.Context, c *clusterConn) error {
			leader, err := insist[wire.LeaderInfo](ctx, c, wire.AskLeader, nil)
			if err != nil {
				return err
			}
			return a.showLeader(leader)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "step-down",
		Short: "Have the leader hand over to another worker, and show who leads then",
		Args:  takes(0, 0),
		RunE: a.onLeader(func(ctx context.Context, c *clusterConn) error {
			leader, err := c.stepDown(ctx)
			if err != nil {
				return err
			}
			return a.showLeader(leader)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	})
	return cmd
}

func (a *app) showLeader(leader wire.LeaderInfo) error {
	return a.show(leader, func(w io.Writer) {
		row(w, "epoch", leader.Epoch)
		row(w, "worker", leader.Worker)
		row(w, "host", leader.Host)
		row(w, "pid", leader.PID)
		row(w, "since", fmt.Sprintf("%s (%s)", clock(leader.Since), duration(time.Since(leader.Since).Round(time.Second))))
	})
}

// stepDown asks the leader to step down and waits for one of a higher epoch.
func (c *clusterConn) stepDown(ctx context.Context) (wire.LeaderInfo, error) {
	old, err := insist[wire.LeaderInfo](ctx, c, wire.AskStepDown, nil)
	if err != nil {
		return old, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for {
		leader, err := insist[wire.LeaderInfo](ctx, c, wire.AskLeader, nil)
		if err != nil {
			return leader, err
		}
		if leader.Epoch > old.Epoch {
			return leader, nil
		}
		select {
		case <-ctx.Done():
			return leader, absentf("%s stepped down, but nobody else leads after %v", old.Worker, c.timeout)
		case <-time.After(askInterval):
		}
	}
}
