package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch ID",
		Short: "Show a job's progress until it ends, then its result",
		Long: `Show a job's progress until it ends, then its result as 'result' does. Watching does
not affect the job: interrupt it at any time.`,
		Args:              wantArgs(1, 1),
		RunE:              a.onJob(a.watch),
		ValidArgsFunction: a.completeID,
	}
}

// watch shows progress until the job has ended, and then shows the job's outcome.
func (a *app) watch(ctx context.Context, c *client.Client, id string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	p := newProgress(a.Err)
	_, err := watchUntil(ctx, c, id, p, a.noteAbsence(c, p))
	p.clear()
	if err != nil {
		if ctx.Err() != nil {
			return absentf("stopped watching; job %s continues: '%s watch %s' shows it again", id, a.name, id)
		}
		return err
	}
	o, err := c.Outcome(ctx, id)
	if err != nil {
		return err
	}
	return a.showOutcome(newOutcome(o))
}

// absenceNoted is the time without a leader after which watch prints a note that no worker answers.
// absenceNoted is longer than an election takes.
const absenceNoted = 3 * time.Second

// noteAbsence returns a function for watchUntil that prints a note once if no worker answers. The
// returned function always returns false, so that watchUntil continues.
func (a *app) noteAbsence(c *client.Client, p *progress) func(client.Status) bool {
	led, noted := time.Now(), false
	return func(s client.Status) bool {
		switch cluster := c.Cluster(); {
		case s.Epoch > 0:
			led = time.Now()
		case !noted && !s.State.Final() && time.Since(led) > absenceNoted:
			noted = true
			p.clear()
			a.note("no worker of cluster %s answers: the job waits until there is one on the same NATS servers, with storage %s; start one with '%s worker', or see --cluster and --nats",
				cluster.Name, cluster.Storage, a.name)
		}
		return false
	}
}

// watchUntil shows progress until the job has ended or the function enough returns true, and then
// returns the job's status. If enough is nil, watchUntil waits until the job has ended.
func watchUntil(ctx context.Context, c *client.Client, id string, p *progress, enough func(client.Status) bool) (client.Status, error) {
	var last client.Status
	for s, err := range c.Watch(ctx, id) {
		if err != nil {
			return s, err
		}
		if last = s; enough != nil && enough(s) {
			break
		}
		p.show(clusterSnapshot(s))
	}
	return last, nil
}

// clusterSnapshot returns the progress of a job on a cluster.
func clusterSnapshot(s client.Status) snapshot {
	shown := snapshot{State: s.State, Done: s.Done + unreported(s), All: s.Partitions, Stage: stageWords(s), Cluster: true, Epoch: s.Epoch}
	if s.Live != nil {
		shown.Workers, shown.Trouble = s.Live.Workers, s.Live.Trouble
		if s.Stage() == client.Mapping {
			shown.Rate = s.Live.Rate
		}
	}
	if left, ok := s.Remaining(); ok {
		shown.Left = left
	}
	return shown
}

// unreported returns the number of partitions that have run but do not count as finished yet.
func unreported(s client.Status) uint64 {
	if s.Live == nil {
		return 0
	}
	return s.Live.Unreported
}
