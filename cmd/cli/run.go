package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func (a *app) runCommand() *cobra.Command {
	var (
		params    paramFlags
		program   programFlags
		slots     int
		attempts  int
		check     bool
		save      string
		partition uint64
		dryRun    bool
		audit     auditFlag
	)
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
prints the error, or the size and the SHA-256 of the encoded partial.`,
		Example: "  " + a.name + " run " + a.exampleJob() + "\n  " + a.name + " run " + a.exampleJob() + " --check",
		Args:    wantJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := a.job(args[0])
			if err != nil {
				return err
			}
			if slots < 1 || attempts < 1 {
				return usagef("--slots and --max-attempts must be at least 1")
			}
			if save != "" && !job.Attaches() {
				return usagef("--save: the results of job %s have no attachment", job.Name())
			}
			share, err := audit.share()
			if err != nil {
				return err
			}
			pairs, files, err := program.read(job, args[1:])
			if err != nil {
				return err
			}
			p, err := params.read(a, job, pairs...)
			if err != nil {
				return err
			}
			if dryRun {
				if check || save != "" || cmd.Flags().Changed("partition") {
					return usagef("--dry-run excludes --check, --partition and --save")
				}
				return a.dryRun(cmd.Context(), job, p, nil)
			}
			a.useTarget()
			ctx, stop := interruptible(jobs.WithFiles(cmd.Context(), jobs.Files(files)))
			defer stop()
			local := jobs.Local{Slots: slots, Attempts: attempts, Audit: jobs.Audit{Share: share, Seed: string(p)}}
			if check && share > 0 {
				return usagef("--check and --audit exclude each other: a check computes each partition several times")
			}
			if cmd.Flags().Changed("partition") {
				if check || save != "" {
					return usagef("--partition excludes --check and --save, which need all partitions")
				}
				return a.runPartition(ctx, job, p, local, partition)
			}
			o, attachment := a.runLocal(ctx, job, p, local, check)
			if err := a.showOutcome(o); err != nil || save == "" {
				return err
			}
			if attachment.Name() == "" {
				return errors.New("the result has no attachment, so nothing was saved")
			}
			return a.saveAttachment(save, attachment, func(w io.Writer) error {
				_, err := w.Write(attachment.Data())
				return err
			})
		},
		ValidArgsFunction: a.completeJob,
	}
	params.register(a, cmd)
	program.register(cmd)
	audit.register(cmd)
	cmd.Flags().IntVar(&slots, "slots", runtime.GOMAXPROCS(0), "number of partitions to run at once")
	cmd.Flags().IntVar(&attempts, "max-attempts", client.DefaultMaxAttempts, "how often to try a partition that fails, in all")
	cmd.Flags().Uint64Var(&partition, "partition", 0, "run only this partition")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "check and plan the job, run nothing")
	cmd.Flags().BoolVar(&check, "check", false, "run the job several times in different ways and compare the bytes")
	cmd.Flags().StringVar(&save, "save", "", "write the attachment of the result to this file")
	return cmd
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
	return a.show(o, func(w io.Writer) {
		row(w, "job", o.Job+" "+o.Version)
		row(w, "partition", fmt.Sprintf("%s of %s", humanize.Comma(int64(partition)), humanize.Comma(int64(partitions))))
		row(w, "took", duration(took))
		row(w, "bytes", o.Bytes)
		row(w, "sha256", o.SHA256)
	})
}

// localID is shown as the job ID of a job that ran only in this process.
const localID = "local"

// runLocal runs a job in this process and shows progress. If check is true, runLocal runs the job
// several times and compares the runs. The second result of runLocal is the attachment of the job's
// result.
func (a *app) runLocal(ctx context.Context, job jobs.Job, params jobs.Params, local jobs.Local, check bool) (outcome, jobs.Attachment) {
	var done, all atomic.Uint64
	local.Progress = func(d, n uint64) {
		all.Store(n)
		for old := done.Load(); d > old && !done.CompareAndSwap(old, d); old = done.Load() {
		}
	}
	started := time.Now()
	o := outcome{
		ID: localID, Job: job.Name(), Version: job.Version(), Epochs: listed(nil), Skipped: listed(nil), Builds: []string{wire.ThisBuild()},
		Submitted: timestamp(started), Started: timestamp(started),
	}

	var speed speedometer
	stop := a.follow(func() snapshot {
		s := snapshot{State: client.Running, Done: done.Load(), All: all.Load()}
		s.Rate = speed.observe(time.Now(), s.Done)
		return s
	})
	result, runs, err := runOrCheck(ctx, job, params, local, check)
	stop()

	o.Finished = timestamp(time.Now())
	switch {
	case err == nil:
		o.State, o.Partitions, o.Executed = client.Completed, result.Partitions, done.Load()
		o.Repeated = o.Executed - o.Partitions
		o.Result, o.SHA256 = result.Result, client.Fingerprint(result.Result)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		o.State, o.Partitions, o.Executed = client.Cancelled, all.Load(), done.Load()
	default:
		o.State, o.Partitions, o.Executed, o.Error = client.Failed, all.Load(), done.Load(), err.Error()
	}
	if check && err == nil {
		a.note("the bytes are the same in %d runs: %s", len(runs), strings.Join(runs, "; "))
	}
	return o, result.Attachment
}

// runOrCheck runs a job once, or checks the job if check is true. If check is true, runOrCheck also returns
// descriptions of the runs.
func runOrCheck(ctx context.Context, job jobs.Job, params jobs.Params, local jobs.Local, check bool) (jobs.LocalResult, []string, error) {
	if !check {
		result, err := local.Run(ctx, job, params)
		return result, nil, err
	}
	checked, err := jobs.Check{Slots: local.Slots, Attempts: local.Attempts, Progress: local.Progress}.Run(ctx, job, params)
	return checked.LocalResult, checked.Runs, err
}

// follow shows snapshots in the background until the returned function stop is called.
func (a *app) follow(look func() snapshot) (stop func()) {
	p := newProgress(a.Err)
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(p.every())
		defer tick.Stop()
		for {
			select {
			case <-ended:
				p.clear()
				return
			case <-tick.C:
				p.show(look())
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}
}
