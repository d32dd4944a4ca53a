package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/spf13/cobra"
)

// defaultHTTP is the default address for the command health. The workers in the files under deploy
// listen on this address.
const defaultHTTP = ":9464"

// healthAnswer is the part of a worker's answer on /healthz that the command health shows.
type healthAnswer struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons"` // reasons why the worker is not healthy, or not ready if OK is true
	Leads   bool     `json:"leads"`
}

func (a *app) healthCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask one worker process whether it is healthy",
		Long: `Ask the worker process at --http whether its loops turn, as GET /healthz does. The
command needs neither NATS nor storage. It suits health checks of containers whose
image has no other program.

A worker that waits for NATS, storage or a leader is healthy, because a restart would
not help. A worker whose stored data was lost or replaced is not healthy.

Exit status: 0 if the worker is healthy, 1 if it is not, 3 if it does not answer
within --reply-timeout.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), a.Timeout)
			defer cancel()
			answer, err := askHealth(ctx, address)
			if err != nil {
				return console.Absentf("no worker answers on %s: %w", address, err)
			}
			if !answer.OK {
				return fmt.Errorf("the worker on %s is not healthy: %s", address, strings.Join(answer.Reasons, ", "))
			}
			return a.Show(answer, func(w io.Writer) {
				console.Row(w, "healthy", answer.OK)
				console.Row(w, "leads", answer.Leads)
				if len(answer.Reasons) > 0 {
					console.Row(w, "not ready", strings.Join(answer.Reasons, ", "))
				}
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&address, "http", defaultHTTP, "address that the worker was given with its flag --http")
	return cmd
}

// askHealth requests /healthz from the worker at an address. An address without a host means this machine.
func askHealth(ctx context.Context, address string) (answer healthAnswer, err error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://worker/healthz", nil)
	if err != nil {
		return answer, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusServiceUnavailable {
		return answer, errors.New(response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("read the answer: %w", err)
	}
	return answer, nil
}
