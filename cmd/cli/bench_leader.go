package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
)

// benchLeaderCommand returns the command that leads a cluster for "bench scale". The leading
// process does nothing else, so its resource usage is the cost of leading.
func (a *app) benchLeaderCommand() *cobra.Command {
	var log logFlags
	cmd := &cobra.Command{
		Use:    "leader CLUSTER",
		Short:  "Lead a cluster of bench scale",
		Hidden: true,
		Args:   wantArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			logger, err := log.logger(a)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			ctx, orphaned := context.WithCancel(ctx)
			defer orphaned()
			go func() {
				_, _ = io.Copy(io.Discard, a.In) // Copy returns when the parent process ends
				orphaned()
			}()
			cfg, err := a.target.config()
			if err != nil {
				return err
			}
			return bench.Lead(ctx, cfg.NATS.URL, args[0], logger)
		},
	}
	log.register(cmd)
	return cmd
}
