package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// maxPriority bounds --priority on both sides of 0.
const maxPriority = 1000

type submitFlags struct {
	params   paramFlags
	wait     bool
	dryRun   bool
	priority int
	attempts int
	skipped  uint64
}

func (f submitFlags) check() error {
	switch {
	case f.attempts < 1:
		return usagef("--max-attempts must be at least 1, got %d", f.attempts)
	case f.priority < -maxPriority || f.priority > maxPriority:
		return usagef("--priority must be %d to %d, got %d", -maxPriority, maxPriority, f.priority)
	case f.skipped > store.MaxSkipped:
		return usagef("--max-skipped must be at most %s, got %s", humanize.Comma(int64(store.MaxSkipped)), humanize.Comma(int64(f.skipped)))
	case f.wait && f.dryRun:
		return usagef("--wait and --dry-run exclude each other")
	}
	return nil
}

func (a *app) submitCommand() *cobra.Command {
	var flags submitFlags
	cmd := &cobra.Command{
		Use:   "submit JOB",
		Short: "Submit a job to a cluster and print its ID",
		Long: `Submit a job to a cluster and print its ID. When the command returns, the job is
durable: workers take it up whenever there are any.`,
		Example: "  " + a.name + " submit " + a.exampleJob() + " --wait",
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := a.job(args[0])
			if err != nil {
				return err
			}
			if err := flags.check(); err != nil {
				return err
			}
			params, err := flags.params.read(a, job)
			if err != nil {
				return err
			}
			spec := store.Spec{
				Job: job.Name(), Version: job.Version(), Params: params,
				Priority: flags.priority, MaxAttempts: flags.attempts, MaxSkipped: flags.skipped,
			}
			if flags.dryRun {
				return a.dryRun(cmd.Context(), job, spec)
			}
			return a.submit(cmd.Context(), spec, flags.wait)
		},
		ValidArgsFunction: a.completeJob,
	}
	flags.params.register(a, cmd)
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "show progress until the job ends, then its result; the exit status is that of 'result'")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "check and plan the job here, submit nothing")
	cmd.Flags().IntVar(&flags.priority, "priority", 0, "jobs of a higher priority go first")
	cmd.Flags().IntVar(&flags.attempts, "max-attempts", defaultAttempts, "how often to try a partition that fails")
	cmd.Flags().Uint64Var(&flags.skipped, "max-skipped", 0, "how many partitions may be left out of the result because they keep failing")
	return cmd
}

// submit hands the job to the cluster.
func (a *app) submit(ctx context.Context, spec store.Spec, wait bool) error {
	c, err := a.openTarget(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.submit(ctx, &spec); err != nil {
		return err
	}
	if wait {
		a.note("submitted %s", spec.ID)
		return a.watch(ctx, c, spec.ID)
	}
	answer := struct {
		ID string `json:"id"`
	}{spec.ID}
	return a.show(answer, func(w io.Writer) { row(w, spec.ID) })
}

// submit gives the job an ID and makes it durable.
func (c *clusterConn) submit(ctx context.Context, spec *store.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	spec.Submitted = time.Now().UTC()
	spec.ID = store.NewID(spec.Submitted)
	if err := c.store.Submit(ctx, *spec); err != nil {
		return c.explain(fmt.Errorf("submit job %s: %w", spec.Job, err))
	}
	return nil
}

// dryRun shows what would be submitted, planned in this process.
func (a *app) dryRun(ctx context.Context, job jobs.Job, spec store.Spec) error {
	plan, err := job.Plan(ctx, spec.Params)
	if err != nil {
		return err
	}
	answer := struct {
		Job         string          `json:"job"`
		Version     string          `json:"version"`
		Params      json.RawMessage `json:"params"`
		Partitions  uint64          `json:"partitions"`
		Priority    int             `json:"priority"`
		MaxAttempts int             `json:"max_attempts"`
		MaxSkipped  uint64          `json:"max_skipped"`
	}{spec.Job, spec.Version, json.RawMessage(spec.Params), plan.Partitions, spec.Priority, spec.MaxAttempts, spec.MaxSkipped}
	return a.show(answer, func(w io.Writer) {
		row(w, "job", spec.Job+" "+spec.Version)
		row(w, "params", string(spec.Params))
		row(w, "partitions", humanize.Comma(int64(plan.Partitions)))
		row(w, "priority", spec.Priority)
		row(w, "max attempts", spec.MaxAttempts)
		row(w, "max skipped", spec.MaxSkipped)
	})
}
