package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// event is the JSON that the command events prints for an event of a job.
type event struct {
	At     time.Time `json:"at"`
	Worker string    `json:"worker"`
	Text   string    `json:"text"`
}

func (a *app) eventsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "events ID",
		Short: "List what has happened to a job: failures, retries, deaths of workers, leaders",
		Long: `List what has happened to a job, the oldest first: which worker was assigned work first,
which partitions failed or ran again, which worker died and what was assigned to it, what
was blamed or skipped, and which leaders have worked on the job.

Events are in storage within seconds, and stay until the job is removed. If there are
many, about 128 KiB of the newest ones of each leader are kept. Of a job that ends within
seconds and without trouble, only begin and end are known.`,
		Args: console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			list, err := a.readEvents(ctx, c, id)
			if err != nil {
				return err
			}
			out, err := newStream[event](a, "AT", "WORKER", "EVENT")
			if err != nil {
				return err
			}
			for _, e := range list {
				if err := out.add(e, e.cells()...); err != nil {
					return err
				}
			}
			return out.end()
		}),
		ValidArgsFunction: a.CompleteID,
	}
}

func (e event) cells() []any {
	return []any{human.Time(e.At), cmp.Or(e.Worker, "-"), human.FirstLine(e.Text)}
}

// readEvents returns the events of a job. Begin and end come from the job's record.
func (a *app) readEvents(ctx context.Context, c *client.Client, id string) (list []event, err error) {
	s, err := c.Status(ctx, id)
	if err != nil {
		return nil, err
	}
	reader := c.Events(id)
	lines, err := reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	a.noteLost(reader)
	add := func(at time.Time, worker, text string) {
		if !at.IsZero() {
			list = append(list, event{at, worker, text})
		}
	}
	add(s.Submitted, "", "Job submitted")
	add(s.Started, "", "Job begun")
	for _, l := range lines {
		add(l.At, l.Worker, l.Text)
	}
	add(s.Finished, "", strings.TrimSuffix(fmt.Sprintf("Job %s: %s", s.State, s.Error), ": "))
	slices.SortStableFunc(list, func(a, b event) int { return a.At.Compare(b.At) })
	return list, nil
}

// noteLost prints a note if lines are missing.
func (a *app) noteLost(r *client.JournalReader) {
	if r.Dropped > 0 {
		a.Note("%s lines were dropped, because there were too many", human.Count(r.Dropped))
	}
	if r.Cut {
		a.Note("earlier lines are not kept")
	}
}
