package cli

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/worker/page"
)

func (a *app) uiCommand() *cobra.Command {
	var (
		flags httpFlags
		log   logFlags
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
			cfg, err := a.target.config()
			if err != nil {
				return err
			}
			logger, err := log.logger(a)
			if err != nil {
				return err
			}
			c, err := a.connectTo(cmd.Context(), cfg, a.timeout) // connect once, to report a wrong configuration at the start
			if err != nil {
				return err
			}
			c.Close()
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			server, err := a.servePage(cfg, flags, logger)
			if err != nil {
				return err
			}
			defer server.close()
			err = a.show(struct {
				Page string `json:"page"`
			}{server.url}, func(w io.Writer) { row(w, "page", server.url) })
			if err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&flags.address, "http", "127.0.0.1:0", "address to serve the page on; port 0 is any free port")
	flags.register(cmd)
	log.register(cmd)
	return cmd
}

// pageServer serves a page until close is called.
type pageServer struct {
	url     string
	page    *page.Page
	server  *http.Server
	serving sync.WaitGroup
}

// servePage serves the page of a cluster.
func (a *app) servePage(cfg cluster.Config, flags httpFlags, log *slog.Logger) (*pageServer, error) {
	token, err := flags.token()
	if err != nil {
		return nil, err
	}
	view, err := page.New(page.Config{Cluster: cfg, Program: a.name, Hosts: flags.hosts, Token: token, Logger: log})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", flags.address)
	if err != nil {
		view.Close()
		return nil, usagef("serve the page: %w: give another --http", err)
	}
	s := &pageServer{
		url: fmt.Sprintf("http://%s/", listener.Addr()), page: view,
		server: &http.Server{Handler: view.Handler(), ReadHeaderTimeout: 5 * time.Second},
	}
	s.serving.Go(func() { _ = s.server.Serve(listener) }) // Serve returns when close is called
	return s, nil
}

func (s *pageServer) close() {
	_ = s.server.Close() // Close drops requests in flight
	s.serving.Wait()
	s.page.Close()
}
