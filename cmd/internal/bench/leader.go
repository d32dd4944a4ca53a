package bench

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

// leaderCommand returns the command that leads a cluster for "bench scale". The leading
// process does nothing else, so its resource usage is the cost of leading.
func leaderCommand(a *console.App) *cobra.Command {
	var log console.LogFlags
	cmd := &cobra.Command{
		Use:    "leader CLUSTER",
		Short:  "Lead a cluster of bench scale",
		Hidden: true,
		Args:   console.WantArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			logger, err := log.Logger(a)
			if err != nil {
				return err
			}
			ctx, stop := console.Interruptible(cmd.Context())
			defer stop()
			ctx, orphaned := context.WithCancel(ctx)
			defer orphaned()
			go func() {
				_, _ = io.Copy(io.Discard, a.In) // Copy returns when the parent process ends
				orphaned()
			}()
			cfg, err := a.Target.Config()
			if err != nil {
				return err
			}
			return bench.Lead(ctx, cfg.NATS.URL, args[0], logger)
		},
	}
	log.Register(cmd, "info")
	return cmd
}
