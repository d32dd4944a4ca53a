package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) listCommand() *cobra.Command {
	var poisoned bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the cluster's jobs, the newest last",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if poisoned {
				return a.OnCluster(a.listPoisoned)(cmd, args)
			}
			return a.OnCluster(a.list)(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&poisoned, "poison", false, "list poisoned submissions instead, and why they are: 'requeue' puts them back into the queue")
	return cmd
}

func (a *app) list(ctx context.Context, c *client.Client) error {
	outdated := false
	list := a.newStream("ID", "JOB", "STATE", "DONE", "PARTITIONS", "SUBMITTED", "REASON")
	damaged, err := c.Each(ctx, func(job client.Status) error {
		outdated = outdated || isOutdated(job)
		done := "-"
		if job.Partitions > 0 {
			done = fmt.Sprintf("%d%%", human.Percent(job.Done, job.Partitions))
		}
		return list.add(newJobStatus(job), job.ID, job.Job, job.State, done, human.Count(job.Partitions), human.Time(job.Submitted), reason(job))
	})
	if err != nil {
		return err
	}
	a.noteDamaged(damaged)
	if outdated {
		a.Note("%s: this is what the last checkpoints say", noLeader)
	}
	return list.end()
}

// reason returns why a job failed, waits or does not advance, or an empty text.
func reason(s client.Status) string {
	switch {
	case s.Error != "":
		return human.FirstLine(s.Error)
	case s.Live != nil:
		return human.FirstLine(s.Live.Trouble)
	case isOutdated(s):
		return noLeader
	}
	return ""
}

// noteDamaged prints a note for each damaged job, because the list omits damaged jobs.
func (a *app) noteDamaged(damaged []client.DamagedJob) {
	for _, d := range damaged {
		if errors.Is(d.Err, client.ErrNewer) {
			a.Note("%v", d.Err)
		} else {
			a.Note("%v: '%s remove' takes its ID", d.Err, a.Name)
		}
	}
}

const noLeader = "nobody leads at the moment"

// isOutdated reports whether no leader answered, so that the job may have advanced beyond the
// checkpoint in the status.
func isOutdated(s client.Status) bool { return s.Epoch == 0 && !s.State.Final() }
