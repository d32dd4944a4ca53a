package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/cmd/internal/inprocess"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) runCommand() *cobra.Command {
	var (
		params    console.ParamFlags
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
		Example: "  " + a.Name + " run " + a.exampleJob() + "\n  " + a.Name + " run " + a.exampleJob() + " --check",
		Args:    wantJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := a.Job(args[0])
			if err != nil {
				return err
			}
			if slots < 1 || attempts < 1 {
				return console.Usagef("--slots and --max-attempts must be at least 1")
			}
			if save != "" && !job.Attaches() {
				return console.Usagef("--save: the results of job %s have no attachment", job.Name())
			}
			share, err := audit.share()
			if err != nil {
				return err
			}
			pairs, files, err := program.read(job, args[1:])
			if err != nil {
				return err
			}
			p, err := params.Read(a.App, job, pairs...)
			if err != nil {
				return err
			}
			if dryRun {
				if check || save != "" || cmd.Flags().Changed("partition") {
					return console.Usagef("--dry-run excludes --check, --partition and --save")
				}
				return a.dryRun(cmd.Context(), job, p, nil)
			}
			ctx, stop := console.Interruptible(jobs.WithFiles(a.OnTarget(cmd.Context()), jobs.Files(files)))
			defer stop()
			local := jobs.Local{Slots: slots, Attempts: attempts, Audit: jobs.Audit{Share: share, Seed: string(p)}, Grant: a.OwnGrant()}
			if check && share > 0 {
				return console.Usagef("--check and --audit exclude each other: a check computes each partition several times")
			}
			if cmd.Flags().Changed("partition") {
				if check || save != "" {
					return console.Usagef("--partition excludes --check and --save, which need all partitions")
				}
				return a.runPartition(ctx, job, p, local, partition)
			}
			o, attachment := inprocess.Run(ctx, a.App, job, p, local, check)
			if err := o.Show(a.App); err != nil || save == "" {
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
		ValidArgsFunction: a.CompleteJob,
	}
	params.Register(a.App, cmd)
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
	return a.Show(o, func(w io.Writer) {
		console.Row(w, "job", o.Job+" "+o.Version)
		console.Row(w, "partition", fmt.Sprintf("%s of %s", humanize.Comma(int64(partition)), humanize.Comma(int64(partitions))))
		console.Row(w, "took", human.Duration(took))
		console.Row(w, "bytes", o.Bytes)
		console.Row(w, "sha256", o.SHA256)
	})
}
