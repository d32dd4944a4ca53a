package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) listCommand() *cobra.Command {
	var (
		poisoned bool
		flags    listFlags
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the cluster's jobs, the newest last",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if poisoned {
				return a.OnCluster(a.listPoisoned)(cmd, args)
			}
			if err := flags.check(); err != nil {
				return err
			}
			return a.OnCluster(func(ctx context.Context, c *client.Client) error { return a.list(ctx, c, flags) })(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&poisoned, "poison", false, "list poisoned submissions instead, and why they are: 'requeue' puts them back into the queue")
	cmd.Flags().StringSliceVar(&flags.states, "state", nil, "list only jobs in these states, separated by commas: "+strings.Join(allStates, ", "))
	cmd.Flags().StringSliceVar(&flags.kinds, "job", nil, "list only jobs of these names, separated by commas")
	cmd.Flags().StringVar(&flags.name, "name", "", "list only jobs whose name matches this pattern, such as nightly-*")
	cmd.Flags().StringToStringVar(&flags.labels, "label", nil, "list only jobs with all of these labels `NAME=VALUE`, such as team=ads, separated by commas")
	cmd.Flags().IntVar(&flags.limit, "limit", 0, "list only the newest jobs, at most this many; 0: all")
	flags.price.register(cmd)
	console.CompleteWords(cmd, "state", allStates...)
	return cmd
}

var allStates = []string{string(client.Queued), string(client.Running), string(client.Completed), string(client.Failed), string(client.Cancelled)}

// listFlags select the jobs that the command list shows.
type listFlags struct {
	states, kinds []string          // empty: all
	name          string            // pattern of names; empty: all
	labels        map[string]string // labels that a job must have
	limit         int               // 0: no limit
	price         priceFlag
}

func (f listFlags) check() error {
	for _, s := range f.states {
		if !slices.Contains(allStates, s) {
			return console.Usagef("--state %q: want %s", s, strings.Join(allStates, ", "))
		}
	}
	if _, err := path.Match(f.name, ""); err != nil {
		return console.Usagef("--name %q: want a pattern such as nightly-*", f.name)
	}
	if f.limit < 0 {
		return console.Usagef("--limit must be 0 or more, got %d", f.limit)
	}
	return f.price.check()
}

// selects reports whether the command shows a job.
func (f listFlags) selects(s client.Status) bool {
	for label, value := range f.labels {
		if s.Labels[label] != value {
			return false
		}
	}
	if matches, _ := path.Match(f.name, s.Name); f.name != "" && !matches {
		return false
	}
	return (len(f.states) == 0 || slices.Contains(f.states, string(s.State))) && (len(f.kinds) == 0 || slices.Contains(f.kinds, s.Job))
}

func (a *app) list(ctx context.Context, c *client.Client, flags listFlags) error {
	outdated := false
	list, err := newStream[jobStatus](a, "ID", "JOB", console.State("STATE"), "DONE", "PARTITIONS", "COST", "AGE", "NAME", "REASON")
	if err != nil {
		return err
	}
	show := func(job client.Status) error {
		outdated = outdated || isOutdated(job)
		done := "-"
		if job.Partitions > 0 {
			done = fmt.Sprintf("%d%%", human.Percent(job.Done, job.Needed()))
		}
		return list.add(newJobStatus(job, flags.price), job.ID, job.Job, console.State(job.State), done, human.Count(job.Partitions), flags.price.cell(job.SlotSeconds), human.Age(time.Since(job.Submitted)), title(job), reason(job))
	}
	var newest []client.Status // the newest jobs so far, if their number is limited
	damaged, err := c.Each(ctx, func(job client.Status) error {
		switch {
		case !flags.selects(job):
			return nil
		case flags.limit == 0:
			return show(job)
		case len(newest) == flags.limit:
			newest = newest[1:]
		}
		newest = append(newest, job)
		return nil
	})
	if err != nil {
		return err
	}
	for _, job := range newest {
		if err := show(job); err != nil {
			return err
		}
	}
	a.noteDamaged(damaged)
	if outdated {
		a.Note("%s: this is what the last checkpoints say", noLeader)
	}
	return list.end()
}

// reason returns why a job failed, waits, does not advance or is not whole, or an empty text.
func reason(s client.Status) string {
	switch {
	case s.Error != "":
		return human.FirstLine(s.Error)
	case s.Live != nil:
		return human.FirstLine(s.Live.Trouble)
	case isOutdated(s):
		return noLeader
	}
	if command, does := answer.Rest(s); command != "" {
		return fmt.Sprintf("%s skipped: '%s' %s", human.Count(len(s.Skipped)), command, does)
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
