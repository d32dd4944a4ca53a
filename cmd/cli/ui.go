package cli

import (
	"io"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/spf13/cobra"
)

func (a *app) uiCommand() *cobra.Command {
	var (
		flags machine.PageFlags
		log   console.LogFlags
	)
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve a page that shows the cluster",
		Long: `Serve a page that shows the cluster, until Ctrl-C: its leaders, jobs and workers, what
each partition of a job does, and a replay of a job's life. Workers with --http serve the
same page. The data of the page are under /api/v1/, as JSON.

Everybody who can reach the address can read the page, so it is on 127.0.0.1 by default.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.Target.Config()
			if err != nil {
				return err
			}
			logger, err := log.Logger(a.App)
			if err != nil {
				return err
			}
			c, err := a.ConnectTo(cmd.Context(), cfg, a.Timeout) // connect once, to report a wrong configuration at the start
			if err != nil {
				return err
			}
			c.Close()
			ctx, stop := console.Interruptible(cmd.Context())
			defer stop()
			server, err := machine.ServePage(a.App, cfg, flags, logger)
			if err != nil {
				return err
			}
			defer server.Close()
			err = a.Show(struct {
				Page string `json:"page"`
			}{server.URL}, func(w io.Writer) { console.Row(w, "page", server.URL) })
			if err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&flags.Address, "http", "127.0.0.1:0", "address to serve the page on; port 0 is any free port")
	flags.Register(cmd)
	log.Register(cmd, "info")
	return cmd
}
