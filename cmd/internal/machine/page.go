package machine

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/worker/page"
)

// PageFlags are the flags of a page: its address, its host names and the file that permits actions.
type PageFlags struct {
	Address string
	Hosts   []string
	actions string // name of the file with the token that permits actions
}

// Register adds all flags of the page except --http, whose help text differs between commands.
func (f *PageFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.Hosts, "http-host", nil, "further name under which browsers may reach the page; may be repeated")
	cmd.Flags().StringVar(&f.actions, "http-actions", "", "file with a token of at least 16 bytes; whoever has the token may cancel, retry and resubmit jobs, requeue poisoned submissions and make the leader step down through the page")
	console.CompleteFiles(cmd, "http-actions")
}

// Token returns the token in the file, or "" if the flags name no file.
func (f PageFlags) Token() (string, error) {
	if f.actions == "" {
		return "", nil
	}
	data, err := os.ReadFile(f.actions)
	if err != nil {
		return "", console.Usagef("read the token of --http-actions: %w", err)
	}
	data = bytes.TrimSpace(data)
	if len(data) < 16 {
		return "", console.Usagef("--http-actions: the token in %s has %d bytes, want at least 16", f.actions, len(data))
	}
	return string(data), nil
}

// PageServer serves a page until Close is called.
type PageServer struct {
	*page.Page
	URL string
}

// ServePage serves the page of a cluster.
func ServePage(a *console.App, cfg cluster.Config, flags PageFlags, log *slog.Logger) (*PageServer, error) {
	token, err := flags.Token()
	if err != nil {
		return nil, err
	}
	view, err := page.New(page.Config{Cluster: cfg, Program: a.Name, Hosts: flags.Hosts, Token: token, Jobs: a.Jobs, Logger: log})
	if err != nil {
		return nil, err
	}
	address, err := view.Serve(flags.Address, nil)
	if err != nil {
		return nil, console.Usagef("serve the page: %w: give another --http", err)
	}
	return &PageServer{view, fmt.Sprintf("http://%s/", address)}, nil
}
