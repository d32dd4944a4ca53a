package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
)

// submitFlags are the flags of the command submit. Most of them set options of the submission
// directly, and [client.SubmitOptions.Check] checks these options.
type submitFlags struct {
	options client.SubmitOptions
	params  console.ParamFlags
	program programFlags
	audit   auditFlag
	wait    bool
	dryRun  bool
	reuse   bool
	keep    string
}

// read completes the options of the submission of a job.
func (f *submitFlags) read(a *app, job jobs.Job, program []string) (o client.SubmitOptions, err error) {
	o = f.options
	if f.wait && f.dryRun {
		return o, console.Usagef("--wait and --dry-run exclude each other")
	}
	switch {
	case f.reuse:
		if o.Keep, err = parseKeep(cmp.Or(f.keep, defaultKeep)); err != nil {
			return o, err
		}
	case f.keep != "":
		return o, console.Usagef("--keep: want --reuse too")
	}
	if o.Audit, err = f.audit.share(); err != nil {
		return o, err
	}
	pairs, files, err := f.program.read(a, job, program)
	if err != nil {
		return o, err
	}
	params, err := f.params.Read(a.App, job, pairs...)
	if err == nil {
		err = refuseStandardInput(job, params)
	}
	if err != nil {
		return o, err
	}
	o.Params, o.Files = params, files
	o.Unchecked = func(reason error) { a.Note("the input was not checked: %v", human.FirstLine(reason.Error())) }
	o.Placed = func(p client.Place) {
		switch {
		case p.Before > 0 && p.More:
			a.Note("the leader has its maximum of active jobs; at least %s waiting jobs begin earlier", human.Count(uint64(p.Before)))
		case p.Before > 0:
			a.Note("the leader has its maximum of active jobs; %s waiting jobs begin earlier", human.Count(uint64(p.Before)))
		}
	}
	_, err = o.Check(job)
	return o, err
}

const stopAfterHelp = "for a job with estimates or rounds: after this time, end it with the result of its largest finished prefix, or of its finished rounds, which is not the same in every run; 0: never"

func (f *submitFlags) register(a *app, cmd *cobra.Command) {
	f.params.Limit = client.MaxParams
	f.params.Register(a.App, cmd)
	f.program.register(cmd)
	f.audit.register(cmd)
	registerWait(cmd, &f.wait)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "check and plan the job in this process, submit nothing")
	cmd.Flags().BoolVar(&f.reuse, "reuse", false, "reuse partial results of earlier jobs with --reuse, and keep those of this job in the cluster's storage")
	cmd.Flags().StringVar(&f.keep, "keep", "", "most bytes to keep in the cluster's storage; what was not used for the longest time is dropped, and after 30 days (default "+defaultKeep+")")
	cmd.Flags().BoolVar(&f.options.Queue, "queue", false, "submit the job also if no worker runs it, or the cluster has had no worker yet: the job waits for one")
	cmd.Flags().StringVar(&f.options.Name, "name", "", "a name for people, such as nightly-2026-11-25: 'list' shows it")
	cmd.Flags().StringToStringVar(&f.options.Labels, "label", nil, "labels for people as `NAME=VALUE`, such as team=ads, separated by commas: 'list --label' selects by them")
	cmd.Flags().StringSliceVar(&f.options.After, "after", nil, "IDs of jobs, separated by commas: the job begins when they have completed, and fails if one of them fails")
	cmd.Flags().StringVar(&f.options.From, "from", "", "for a job with rounds: `ID` of a job of the same kind from whose last state the job continues, when that job has ended")
	cmd.Flags().BoolVar(&f.options.NoCheck, "no-check", false, "do not look at the input of the job from here, because the workers see other files")
	cmd.Flags().IntVar(&f.options.Priority, "priority", 0, "jobs of a higher priority run first")
	cmd.Flags().IntVar(&f.options.MaxAttempts, "max-attempts", client.DefaultMaxAttempts, "how often to try a partition that fails, in all")
	cmd.Flags().Uint64Var(&f.options.MaxSkipped, "max-skipped", 0, "number of partitions that may be left out of the result because they keep failing")
	cmd.Flags().BoolVar(&f.options.StrictBuilds, "strict-builds", false, "run the job on workers of one build: one architecture, level of it such as GOAMD64, and version of Go")
	cmd.Flags().DurationVar(&f.options.Timeout, "timeout", 0, "fail the job if it takes longer than this; 0: it may take any time")
	cmd.Flags().DurationVar(&f.options.StopAfter, "stop-after", 0, stopAfterHelp)
	cmd.Flags().DurationVar(&f.options.PartitionTimeout, "partition-timeout", 0, "a partition that takes longer than this has failed; 0: the limit of the job's definition, by default 24h")
	console.RefuseZero(cmd, "max-attempts")
}

func (a *app) submitCommand() *cobra.Command {
	var flags submitFlags
	cmd := &cobra.Command{
		Use:   "submit JOB [-- PROGRAM [ARGUMENT...]]",
		Short: "Submit a job to a cluster and print its ID",
		Long: `Submit a job to a cluster and print its ID. When the command returns, the job is
durable: workers run it as soon as there are any. A job that no worker of the cluster runs is
refused, and so is a cluster that no worker has used, unless --queue is given.

With --after, the job begins when other jobs have completed, and fails if one of them does
not. It also waits for jobs whose output it reads, as in -p input=job:ID.

If this process can read the input of a job such as scan, it refuses columns that the input
does not have. --dry-run shows the columns, the partitions and the bytes of the input.

With --from, a job with rounds continues from the last state of an earlier job of the same
kind, for example with more rounds or other data. The earlier job may have failed or been
cancelled: then it is the state of the round in which it ended.

With --reuse, partitions whose input earlier jobs with --reuse have read are not computed
again. The result has the same bytes. With --dry-run, --reuse says how many partitions would
be computed and why: new and changed objects, or what differs from the most similar job, such
as a parameter, the version or the build. See 'kept' for what the cluster keeps.`,
		Example: "  " + a.Name + " submit " + a.exampleJob() + " --wait",
		Args:    console.WantJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := a.Job(args[0])
			if err != nil {
				return err
			}
			options, err := flags.read(a, job, args[1:])
			if err != nil {
				return err
			}
			if flags.dryRun {
				ctx := jobs.WithFiles(cmd.Context(), jobs.Files(options.Files))
				return a.dryRun(ctx, job, options.Params.(jobs.Params), &options, a.keptInCluster(options))
			}
			return a.submit(cmd.Context(), job, options, flags.wait)
		},
		ValidArgsFunction: a.CompleteJob,
	}
	flags.register(a, cmd)
	return cmd
}

// submit submits the job; if wait is true, it then shows progress until the job has ended.
func (a *app) submit(ctx context.Context, job jobs.Job, o client.SubmitOptions, wait bool) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	id, err := c.Submit(ctx, job, o)
	switch {
	case errors.Is(err, client.ErrUnknown) && job.Restricted():
		return console.Absentf("%w: the job is restricted: start workers with --%s %s, or submit it with --queue, and it waits for them", err, allowFlagName, job.Name())
	case err != nil:
		return err
	}
	return a.submitted(ctx, c, id, wait)
}

// keptOf returns the kept partials of a job, or nil, and what they are compared with.
type keptOf func(ctx context.Context, job jobs.Job, params jobs.Params) (*kept.Partials, jobs.Reuse, earlierJob, error)

// keptInCluster returns the function that returns the partials that a job with these options would reuse.
func (a *app) keptInCluster(o client.SubmitOptions) keptOf {
	return func(ctx context.Context, job jobs.Job, params jobs.Params) (*kept.Partials, jobs.Reuse, earlierJob, error) {
		if o.Keep == 0 {
			return nil, jobs.Reuse{}, earlierJob{}, nil
		}
		c, err := a.Connect(ctx)
		if err != nil {
			return nil, jobs.Reuse{}, earlierJob{}, err
		}
		defer c.Close()
		list, reuse, err := openKept(ctx, kept.Config{Limit: o.Keep}, job, params, func() (kept.Blobs, error) { return c.Kept(ctx) })
		return list, reuse, earlierOf(ctx, list), err
	}
}

// submission is the output of a command with the flag --dry-run.
type submission struct {
	Job        string          `json:"job"`
	Version    string          `json:"version"`
	Params     json.RawMessage `json:"params"`
	Partitions uint64          `json:"partitions"`

	Priority    *int    `json:"priority,omitempty"` // priority of the job; only for the command submit, like the next three fields
	MaxAttempts *int    `json:"max_attempts,omitempty"`
	MaxSkipped  *uint64 `json:"max_skipped,omitempty"`
	Strict      bool    `json:"strict_builds,omitempty"`

	Computed *uint64       `json:"computed,omitempty"` // number of partitions that would be computed; only with --reuse, like the next field
	Missing  *jobs.Missing `json:"missing,omitempty"`  // why they would be computed
	Differs  []string      `json:"differs,omitempty"`  // what differs from the most similar job: version, build and parameters

	Input *jobs.Preview `json:"input,omitempty"`
}

// dryRun plans the job in this process and prints what would be run. The parameter o contains
// the options of a submission, or is nil. The function reuse returns the kept partials of the job, or nil if none are
// reused.
func (a *app) dryRun(ctx context.Context, job jobs.Job, params jobs.Params, o *client.SubmitOptions, reuse keptOf) error {
	ctx, release := jobs.WithGrant(a.OnTarget(ctx), a.OwnGrant())
	defer release()
	plan, err := job.Plan(ctx, params)
	if err != nil {
		return err
	}
	answer := submission{Job: job.Name(), Version: job.Version(), Params: json.RawMessage(params), Partitions: plan.Partitions}
	if o != nil {
		answer.Priority, answer.MaxAttempts, answer.MaxSkipped, answer.Strict = &o.Priority, &o.MaxAttempts, &o.MaxSkipped, o.StrictBuilds
	}
	if job.Previews() {
		input, err := job.Preview(ctx, params, plan)
		if err != nil {
			return err
		}
		answer.Input = &input
	}
	list, from, earlier, err := reuse(ctx, job, params)
	if err != nil {
		return err
	}
	if list != nil {
		missing, err := jobs.Local{Grant: a.OwnGrant(), Reuse: from}.Missing(ctx, job, params, plan, earlier.objects, earlier.compares)
		if err != nil {
			return err
		}
		answer.Computed, answer.Missing, answer.Differs = &missing.Partitions, &missing, earlier.differs
	}
	return a.Show(answer, func(w io.Writer) {
		console.Row(w, "job", answer.Job+" "+answer.Version)
		console.Row(w, "params", string(params))
		console.Row(w, "partitions", human.Count(plan.Partitions))
		if answer.Computed != nil {
			console.Row(w, "computed", describeMissing(*answer.Missing, plan.Partitions, earlier))
		}
		if o != nil {
			console.Row(w, "priority", o.Priority)
			console.Row(w, "max attempts", o.MaxAttempts)
			console.Row(w, "max skipped", o.MaxSkipped)
		}
		if answer.Strict {
			console.Row(w, "strict builds", "yes")
		}
		if in := answer.Input; in != nil {
			console.Row(w, "objects", human.Count(in.Objects))
			console.Row(w, "bytes", human.Count(in.Bytes))
			for _, c := range in.Columns {
				console.Row(w, "column", c.Name, c.Type)
			}
		}
	})
}
