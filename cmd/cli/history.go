package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history",
		Short: "List the changes of leader, the newest last",
		Long: `List the changes of leader, the newest last: the cause of each and how long its
steps took, in milliseconds. Each step begins when the one before ends:

  detect        from the previous leader's last sign of life to the decision to replace it
  elect         until the lease is acquired
  fence         until no earlier leader can write
  resume        until work can be assigned
  first work    until a worker is assigned work
  first result  until a worker reports a new result

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
			changes := []answer.Change{}
			for _, t := range terms {
				changes = append(changes, answer.NewChange(t))
			}
			return a.Show(changes, func(w io.Writer) { showChanges(w, changes) })
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func showChanges(w io.Writer, changes []answer.Change) {
	console.Row(w, "EPOCH", "AT", "CAUSE", "DETECT", "ELECT", "FENCE", "RESUME", "FIRST WORK", "FIRST RESULT", "WORKER")
	for _, c := range changes {
		console.Row(w, c.Epoch, human.Time(c.At), c.Cause, step(c.Detect), step(c.Elect), step(c.Fence), step(c.Resume), optionalStep(c.FirstAssignment), optionalStep(c.FirstResult), c.Worker)
	}
}

// step formats the duration of a step, in milliseconds.
func step(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", ms)
}

func optionalStep(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *ms)
}
