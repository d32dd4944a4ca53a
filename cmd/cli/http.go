package cli

import (
	"bytes"
	"os"

	"github.com/spf13/cobra"
)

// httpFlags are the flags of a page: its address, its host names and the file that permits actions.
type httpFlags struct {
	address string
	hosts   []string
	actions string // name of the file with the token that permits actions
}

// register adds all flags of the page except --http, whose help text differs between commands.
func (f *httpFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.hosts, "http-host", nil, "further name under which browsers may reach the page; may be repeated")
	cmd.Flags().StringVar(&f.actions, "http-actions", "", "file with a token of at least 16 bytes; whoever has the token may cancel jobs, requeue poisoned submissions and make the leader step down through the page")
	completeFiles(cmd, "http-actions")
}

// token returns the token in the file, or "" if the flags name no file.
func (f httpFlags) token() (string, error) {
	if f.actions == "" {
		return "", nil
	}
	data, err := os.ReadFile(f.actions)
	if err != nil {
		return "", usagef("read the token of --http-actions: %w", err)
	}
	data = bytes.TrimSpace(data)
	if len(data) < 16 {
		return "", usagef("--http-actions: the token in %s has %d bytes, want at least 16", f.actions, len(data))
	}
	return string(data), nil
}
