package cli

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// The values of --for are what the command wait waits for.
const (
	forCompleted = "completed"
	forEnded     = "ended"
	forRunning   = "running"
)

type waitFlags struct {
	until   string
	timeout time.Duration
}

func (a *app) waitCommand() *cobra.Command {
	var flags waitFlags
	cmd := &cobra.Command{
		Use:   "wait ID...",
		Short: "Wait until jobs have completed",
		Long: `Wait until jobs have completed, and print their states. The exit status is 0 if all
of them completed, 1 as soon as one failed or was cancelled, and 3 if --timeout passes
first. With --for ended, it is 0 whatever their states are. With --for running, the
command waits until all of them have begun or ended.`,
		Example: "  " + a.Name + " wait ID --timeout 1h && " + a.Name + " result ID",
		Args:    console.WantArgs(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case flags.until != forCompleted && flags.until != forEnded && flags.until != forRunning:
				return console.Usagef("--for %q: want %s, %s or %s", flags.until, forCompleted, forEnded, forRunning)
			case flags.timeout < 0:
				return console.Usagef("--timeout must be 0 or more, got %v", flags.timeout)
			}
			return a.OnCluster(func(ctx context.Context, c *client.Client) error { return a.wait(ctx, c, args, flags) })(cmd, args)
		},
		ValidArgsFunction: a.CompleteIDs,
	}
	cmd.Flags().StringVar(&flags.until, "for", forCompleted, "what to wait for: completed, ended or running")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 0, "how long to wait; 0: for ever")
	console.CompleteWords(cmd, "for", forCompleted, forEnded, forRunning)
	return cmd
}

// errWaited is the cause of the end of a wait whose timeout has passed.
var errWaited = errors.New("timeout of the command wait")

func (a *app) wait(ctx context.Context, c *client.Client, ids []string, flags waitFlags) error {
	ctx, stop := console.Interruptible(ctx)
	defer stop()
	if flags.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, flags.timeout, errWaited)
		defer cancel()
	}
	for i, prefix := range ids {
		id, err := c.Find(ctx, prefix)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	states := make([]jobState, len(ids))
	waits, waiting := errgroup.WithContext(ctx)
	for i, id := range ids {
		waits.Go(func() error {
			s, err := awaitState(waiting, c, id, flags.until)
			states[i] = jobState{id, s.State}
			return err
		})
	}
	err := waits.Wait()
	switch {
	case errors.Is(context.Cause(ctx), errWaited):
		return console.Absentf("not all of the jobs are %s after %v: '%s list' shows them", flags.until, flags.timeout, a.Name)
	case ctx.Err() != nil:
		return console.Absentf("stopped waiting; the jobs continue")
	case err != nil:
		return err
	}
	return a.Show(states, func(w io.Writer) {
		for _, s := range states {
			console.Row(w, s.ID, s.State)
		}
	})
}

// jobState is the JSON that the commands cancel and wait print for a job.
type jobState struct {
	ID    string       `json:"id"`
	State client.State `json:"state"`
}

// awaitState waits for a job, and returns an error if the job can no longer become what is waited for.
func awaitState(ctx context.Context, c *client.Client, id, until string) (client.Status, error) {
	if until != forRunning {
		s, err := c.Wait(ctx, id)
		if err == nil && until == forCompleted {
			err = s.Err()
		}
		return s, err
	}
	for s, err := range c.Watch(ctx, id) {
		if err != nil || s.State != client.Queued {
			return s, err
		}
	}
	return client.Status{}, ctx.Err()
}
