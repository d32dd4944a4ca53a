package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/cmd/internal/inprocess"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/worker"
)

type runFlags struct {
	params    console.ParamFlags
	program   programFlags
	slots     int
	attempts  int
	compare   bool // run the job several times and compare the bytes
	save      string
	memory    string
	partition uint64
	dryRun    bool
	stopAfter time.Duration
	audit     auditFlag
	reuse     reuseFlags

	onlyOne bool // run only the partition
}

func (a *app) runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run JOB [-- PROGRAM [ARGUMENT...]]",
		Short: "Run a whole job in this process, without a cluster",
		Long: `Run a whole job in this process, without a cluster. A cluster's result has the same
bytes. Progress goes to standard error, the result to standard output.

With --check, the job is run several times, with other numbers of slots and other cuts of
its partitions, and with partials encoded and decoded or not. If the bytes of a partial or
of the result differ between two runs, the error names the node and the runs, and the exit
status is 1. Use parameters for which the job is short.

With --dry-run, the job is only planned. The output shows the partitions, and for jobs such as
scan the columns and bytes of the input.

With --partition, only this partition is run, to find out why it failed on a cluster. It
prints the error, or the size and the SHA-256 of the encoded partial.

With -p input=-, the job reads standard input, which is first copied to a temporary file.

With --reuse, a run computes only what earlier runs have not computed. The folder contains
partial results of earlier runs with the same parameters. A run of 366 files after a run of
365 of them reads only the new file, and its result has the same bytes as without --reuse.
A file that was modified less than 10 s before the run began is read again in the next run.
With --dry-run too, the output shows how many partitions would be computed and why: new and
changed objects, or what differs from the most similar run, such as a parameter or the build.
The command kept lists and drops what is in the folder.

With --stop-after, a job with estimates ends when the time is up. The result is that of its
largest prefix that is judged by then, and is not the same in every run. A job with rounds
ends with the result of its finished rounds.

The job fails if it needs more memory than --memory, for example because of many groups. A job with
rounds keeps its data in up to three quarters of it between rounds, and loads the rest again.
Workers move large partials to disk instead.`,
		Example: "  " + a.Name + " run " + a.exampleJob() + "\n  " + a.Name + " run " + a.exampleJob() + " --check",
		Args:    console.WantJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.onlyOne = cmd.Flags().Changed("partition")
			if err := flags.reuse.check(cmd, "check", "partition", "audit"); err != nil {
				return err
			}
			return a.run(cmd.Context(), flags, args)
		},
		ValidArgsFunction: a.CompleteJob,
	}
	flags.params.Register(a.App, cmd)
	flags.program.register(cmd)
	flags.audit.register(cmd)
	flags.reuse.register(cmd)
	cmd.Flags().IntVar(&flags.slots, "slots", runtime.GOMAXPROCS(0), "number of partitions to run at once")
	cmd.Flags().IntVar(&flags.attempts, "max-attempts", client.DefaultMaxAttempts, "how often to try a partition that fails, in all")
	cmd.Flags().Uint64Var(&flags.partition, "partition", 0, "run only this partition")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "check and plan the job, run nothing")
	cmd.Flags().BoolVar(&flags.compare, "check", false, "run the job several times in different ways and compare the bytes")
	cmd.Flags().DurationVar(&flags.stopAfter, "stop-after", 0, stopAfterHelp)
	cmd.Flags().StringVar(&flags.memory, "memory", "", "most memory that the job may use, such as 3GiB (default three quarters of the cgroup's limit, or of the machine's memory)")
	cmd.Flags().StringVar(&flags.save, "save", "", saveHelp)
	return cmd
}

// check returns an error if flags exclude each other or do not suit the job.
func (f *runFlags) check(job jobs.Job, share uint32) error {
	switch {
	case f.slots < 1 || f.attempts < 1:
		return console.Usagef("--slots and --max-attempts must be at least 1")
	case f.save != "" && !job.Attaches():
		return console.Usagef("--save: the results of job %s have no attachment", job.Name())
	case f.dryRun && (f.compare || f.save != "" || f.onlyOne || f.stopAfter != 0):
		return console.Usagef("--dry-run excludes --check, --partition, --save and --stop-after")
	case f.dryRun:
		return nil
	case f.compare && share > 0:
		return console.Usagef("--check and --audit exclude each other: a check computes each partition several times")
	case f.stopAfter < 0:
		return console.Usagef("--stop-after %v: want a time above 0, or 0 for no limit", f.stopAfter)
	case f.stopAfter > 0 && (f.compare || f.onlyOne):
		return console.Usagef("--stop-after excludes --check and --partition")
	case f.onlyOne && (f.compare || f.save != ""):
		return console.Usagef("--partition excludes --check and --save, which need all partitions")
	}
	return nil
}

// read reads the parameters of a job, and the files that it needs.
func (f *runFlags) read(a *app, job jobs.Job, program []string) (p jobs.Params, files []jobs.File, err error) {
	pairs, files, err := f.program.read(a, job, program)
	if err != nil {
		return nil, nil, err
	}
	p, err = f.params.Read(a.App, job, pairs...)
	if err == nil && f.stopAfter > 0 && !job.StopsEarly(p) {
		err = console.Usagef("--stop-after: job %s has neither estimates nor rounds with these parameters, so it cannot end early", job.Name())
	}
	return p, files, err
}

// run runs a job in this process, as the flags say.
func (a *app) run(ctx context.Context, flags runFlags, args []string) error {
	job, err := a.Job(args[0])
	if err != nil {
		return err
	}
	memory, err := machine.ParseMemory(flags.memory)
	if err != nil {
		return err
	}
	share, err := flags.audit.share()
	if err != nil {
		return err
	}
	if err := flags.check(job, share); err != nil {
		return err
	}
	p, files, err := flags.read(a, job, args[1:])
	if err != nil {
		return err
	}
	ctx, release, err := a.withStandardInput(jobs.WithFiles(ctx, jobs.Files(files)), job, p)
	if err != nil {
		return err
	}
	defer release()
	if flags.dryRun {
		return a.dryRun(ctx, job, p, nil, flags.reuse.openOf)
	}
	ctx, stop := console.Interruptible(a.OnTarget(ctx))
	defer stop()
	ctx = jobs.WithLog(ctx, a.printLog())
	memory = cmp.Or(memory, worker.DefaultMemory())
	ctx, free := machine.LimitMemory(ctx, memory)
	defer free()
	local := jobs.Local{Memory: memory, Slots: flags.slots, Attempts: flags.attempts, Audit: jobs.Audit{Share: share, Seed: string(p)}, Grant: a.OwnGrant(), StopAfter: flags.stopAfter}
	if flags.onlyOne {
		return a.runPartition(ctx, job, p, local, flags.partition)
	}
	list, reuse, err := flags.reuse.open(ctx, job, p)
	if err != nil {
		return err
	}
	local.Reuse = reuse
	o, attachment := inprocess.Run(ctx, a.App, job, p, local, flags.compare)
	flags.reuse.close(ctx, a.App, list, &o)
	if err := a.showOrSave(o, flags.save); err != nil || flags.save == "" {
		return err
	}
	if attachment.Name() == "" {
		return errors.New("the result has no attachment, so nothing was saved")
	}
	return a.saveAttachment(flags.save, attachment, func(w io.Writer) error {
		_, err := w.Write(attachment.Data())
		return err
	})
}

// partitionOutcome is the output of the command "run --partition".
type partitionOutcome struct {
	Job        string  `json:"job"`
	Version    string  `json:"version"`
	Partition  uint64  `json:"partition"`
	Partitions uint64  `json:"partitions"` // number of partitions of the job
	Bytes      int     `json:"bytes"`      // size of the encoded partial in bytes
	SHA256     string  `json:"sha256"`     // SHA-256 of the encoded partial
	Took       float64 `json:"seconds"`
}

// runPartition runs one partition of a job in this process.
func (a *app) runPartition(ctx context.Context, job jobs.Job, params jobs.Params, local jobs.Local, partition uint64) error {
	began := time.Now()
	partial, partitions, err := local.RunPartition(ctx, job, params, partition)
	if err != nil {
		return err
	}
	took := time.Since(began)
	o := partitionOutcome{
		Job: job.Name(), Version: job.Version(), Partition: partition, Partitions: partitions,
		Bytes: len(partial), SHA256: client.Fingerprint(partial), Took: took.Seconds(),
	}
	return a.Show(o, func(w io.Writer) {
		console.Row(w, "job", o.Job+" "+o.Version)
		console.Row(w, "partition", fmt.Sprintf("%s of %s", human.Count(partition), human.Count(partitions)))
		console.Row(w, "took", human.Duration(took))
		console.Row(w, "bytes", o.Bytes)
		console.Row(w, "sha256", o.SHA256)
	})
}
