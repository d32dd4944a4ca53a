package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) retryCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "retry ID",
		Short: "Submit a job again that failed or skipped something, and keep what it has done",
		Long: `Submit a job again that failed, was cancelled, or has completed with skipped partitions
(submit --max-skipped), with the same options, and print the ID of the new job.

The new job keeps the partitions of the old one's last checkpoint. It tries those again
that the old one skipped. Of a completed job it computes only these, and its result is that of
a job that has skipped nothing; the files of programs that were missing are added to its output.
An output of rows, such as that of scan, cannot be completed. The new job may skip partitions
again, and be retried again. A completed job keeps nothing if it has estimates, has skipped
more than 1,000 partitions, or would have to keep more than 1 GiB.

The new job reads the objects that the old one has listed. If you have replaced some of them
since, use 'resubmit', because partitions that read them would fail.

A job with an output that failed keeps nothing, because its objects are removed. Remove the old
job only after the new one has begun.`,
		Args: console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			retried, err := a.retry(ctx, c, id)
			if err != nil {
				return err
			}
			return a.submitted(ctx, c, retried, wait)
		}),
		ValidArgsFunction: a.CompleteID,
	}
	registerWait(cmd, &wait)
	return cmd
}

// retry submits a job again. A failed job whose partials refer to objects of its output is computed from the beginning, because
// the workers remove the objects of a job that has failed.
func (a *app) retry(ctx context.Context, c *client.Client, id string) (string, error) {
	s, err := c.Status(ctx, id)
	if err != nil {
		return "", err
	}
	job, err := a.Job(s.Job)
	if err != nil {
		return c.Retry(ctx, id)
	}
	again, recomputes, err := c.RetryAs(ctx, job, id)
	if recomputes != nil && err == nil {
		a.Note("the new job computes all partitions: %v", recomputes)
	}
	return again, err
}

func (a *app) resubmitCommand() *cobra.Command {
	var (
		pairs []string
		wait  bool
	)
	cmd := &cobra.Command{
		Use:   "resubmit ID",
		Short: "Submit a job again, with other parameters where given",
		Long: `Submit a job again with the same options, files and parameters, except those that -p gives,
and print the ID of the new job. Nothing of the old job is used: see 'retry' for a job
that failed.`,
		Example: "  " + a.Name + " resubmit ID -p day=2026-11-25",
		Args:    console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			changed, err := a.changedParams(ctx, c, id, pairs)
			if err != nil {
				return err
			}
			again, err := c.Resubmit(ctx, id, changed)
			if err != nil {
				return err
			}
			return a.submitted(ctx, c, again, wait)
		}),
		ValidArgsFunction: a.CompleteID,
	}
	cmd.Flags().StringArrayVarP(&pairs, "param", "p", nil, "a parameter as name=value; may be repeated")
	registerWait(cmd, &wait)
	return cmd
}

// changedParams returns the parameters of a job with the changes that pairs make, or nil if there are none.
func (a *app) changedParams(ctx context.Context, c *client.Client, id string, pairs []string) (jobs.Params, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	old, err := c.Status(ctx, id)
	if err != nil {
		return nil, err
	}
	job, err := a.Job(old.Job)
	if err != nil {
		return nil, err
	}
	if job.Version() != old.Version {
		return nil, console.Usagef("job %s has version %s of %s, and this program has version %s: submit it with 'submit'", id, old.Version, old.Job, job.Version())
	}
	return console.ChangedParams(job, old.Params, pairs)
}

func registerWait(cmd *cobra.Command, wait *bool) {
	cmd.Flags().BoolVar(wait, "wait", false, "show progress until the job ends, then its result; exit with the status of 'result'")
}

// submitted prints the ID of a submitted job; if wait is true, it then shows progress until the job has ended.
func (a *app) submitted(ctx context.Context, c *client.Client, id string, wait bool) error {
	if wait {
		a.Note("submitted %s", id)
		return a.watch(ctx, c, id)
	}
	if _, err := c.WorkersAfter(ctx, "", 0); errors.Is(err, client.ErrNoLeader) {
		a.Note("no worker of cluster %s answers: the job waits until there is one", c.Cluster().Name)
	}
	answer := struct {
		ID string `json:"id"`
	}{id}
	return a.Show(answer, func(w io.Writer) { console.Row(w, id) })
}
