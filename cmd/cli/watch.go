package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/progress"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch ID",
		Short: "Show a job's progress until it ends, then its result",
		Long: `Show a job's progress until it ends, then its result as 'result' does. Watching does
not affect the job: interrupt it at any time.`,
		Args:              console.WantArgs(1, 1),
		RunE:              a.OnJob(a.watch),
		ValidArgsFunction: a.CompleteID,
	}
}

// watch shows progress until the job has ended, and then shows the job's outcome.
func (a *app) watch(ctx context.Context, c *client.Client, id string) error {
	ctx, stop := console.Interruptible(ctx)
	defer stop()
	p := progress.New(a.Err)
	_, err := progress.WatchUntil(ctx, c, id, p, a.noteAbsence(ctx, c, p))
	p.Clear()
	if err != nil {
		if ctx.Err() != nil {
			return console.Absentf("stopped watching; job %s continues: '%s watch %s' shows it again", id, a.Name, id)
		}
		return err
	}
	o, err := c.Outcome(ctx, id)
	if err != nil {
		return err
	}
	return answer.NewOutcome(o).Show(a.App)
}

// absenceNoted is the time without a leader after which watch prints a note that no worker answers.
// absenceNoted is longer than an election takes.
const absenceNoted = 3 * time.Second

// noteAbsence returns a function for watchUntil that prints a note once if no worker answers. The
// returned function always returns false, so that watchUntil continues.
func (a *app) noteAbsence(ctx context.Context, c *client.Client, p *progress.Progress) func(client.Status) bool {
	led, noted := time.Now(), false
	return func(s client.Status) bool {
		switch cluster := c.Cluster(); {
		case s.Epoch > 0:
			led = time.Now()
		case !noted && !s.State.Final() && time.Since(led) > absenceNoted:
			noted = true
			p.Clear()
			if c.Unused(ctx) {
				a.Note("no worker has used the storage of cluster %s: if workers are running, their stored data was lost, so restart them", cluster.Name)
			}
			a.Note("no worker of cluster %s answers: the job waits until there is one on the same NATS servers, with storage %s; start one with '%s worker', or see --cluster and --nats",
				cluster.Name, cluster.Storage, a.Name)
		}
		return false
	}
}
