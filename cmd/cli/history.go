package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history",
		Short: "List the changes of leader, the newest last",
		Long: `List the changes of leader, the newest last: the cause of each and how long its
steps took. Each step begins when the one before ends:

  detect        from the previous leader's last sign of life to the decision to replace it
  elect         until the lease is acquired
  fence         until no earlier leader can write
  resume        until work can be assigned
  work          until a worker is assigned work, counted from the begin of the first job
  result        until a worker reports a new result

The causes:

  first     the cluster had no leader before
  handover  the previous leader stopped and handed over
  died      its process had ended
  silent    its process did not answer
  expired   its lease expired
  free      no worker held the lease`,
		Args: cobra.NoArgs,
		RunE: a.OnCluster(func(ctx context.Context, c *client.Client) error {
			terms, err := c.History(ctx)
			if err != nil {
				return err
			}
			terms = answer.Listed(terms)
			return a.ShowList(terms, func(w io.Writer) { showTerms(w, terms) })
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func showTerms(w io.Writer, terms []client.Term) {
	console.Row(w, "EPOCH", "AT", "CAUSE", "DETECT", "ELECT", "FENCE", "RESUME", "WORK", "RESULT", "WORKER")
	for _, t := range terms {
		p := t.Phases()
		console.Row(w, t.Epoch, t.At.Local().Format("01-02 15:04:05"), t.Cause, step(p[0]), step(p[1]), step(p[2]), step(p[3]), step(p[4]), step(p[5]), t.Worker)
	}
}

// step formats the duration of a step.
func step(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	if *d < time.Second {
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
