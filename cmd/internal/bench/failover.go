package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

type failoverFlags struct {
	benchmark
	how    string
	kills  int
	size   int // number of worker processes of the cluster
	slots  int
	watch  time.Duration
	attach bool
	verify bool
	params console.ParamFlags
}

func failoverCommand(a *console.App) *cobra.Command {
	var flags failoverFlags
	cmd := &cobra.Command{
		Use:   "failover [JOB]",
		Short: "Measure the cost of losing the leader",
		Long: `Start workers, give them a job, kill the leader, measure, and repeat. Reports how
long each step of the failover took, throughput during it relative to normal, how
much work was lost, and whether the result has the same bytes as in one process.

Each of --kills takes about twice --watch plus two seconds; the default takes a
minute. Comparing the bytes takes at least as long again: --verify=false omits it.

With --attach, the cluster that --nats, --cluster and --storage name is measured: its
leader is asked to step down. A job can be given, which must last until the end; the
default is primes. The clocks of the workers should be synchronized. Throughput is
what the leader knows: choose a job whose partitions end several times a second.
Repeated executions are not known.`,
		Example: "  " + a.Name + " bench failover --kills 5 --plot failover.svg",
		Args:    console.WantArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.attach && !cmd.Flags().Changed("how") {
				flags.how = string(bench.StepDown)
			}
			if err := flags.check(cmd, args); err != nil {
				return err
			}
			var failed error
			r, err := measure(cmd.Context(), a, &flags.benchmark, func(ctx context.Context, tell tell) (r bench.FailoverReport, err error) {
				r, failed = measureFailover(ctx, a, &flags, args, tell)
				return r, failed
			})
			if flags.attach && errors.Is(err, machine.ErrInterrupted) {
				err = interruptedAttached(failed)
			}
			if some := len(r.Failovers) - r.Throughput["after"].Of; flags.attach && some > 0 {
				a.Note("the throughput of %s is left out: the leader received results less often than every 250 ms. Use a job with shorter partitions", english.Plural(some, "failover", ""))
			}
			if r.Same != nil && !*r.Same {
				err = errors.Join(err, errors.New("the bytes differ"))
			}
			return err
		},
		ValidArgsFunction: a.CompleteJob,
	}
	flags.register(cmd)
	flags.params.Limit = client.MaxParams
	flags.params.Register(a, cmd)
	cmd.Flags().StringVar(&flags.how, "how", string(bench.Kill), "how the leader is removed: kill (SIGKILL), term (SIGTERM: it hands over) or stop (SIGSTOP: it is frozen for a while)")
	cmd.Flags().IntVar(&flags.kills, "kills", 5, fmt.Sprintf("number of failovers, 1 to %d", bench.MaxFailovers))
	cmd.Flags().IntVar(&flags.size, "workers", 4, "number of worker processes")
	cmd.Flags().IntVar(&flags.slots, "slots", 1, "slots of each worker")
	cmd.Flags().DurationVar(&flags.watch, "watch", 5*time.Second, fmt.Sprintf("time after each failover in which throughput is measured, 1s to %v", human.Duration(bench.MaxWatch)))
	cmd.Flags().BoolVar(&flags.attach, "attach", false, "measure a running cluster, by asking its leader to step down")
	cmd.Flags().BoolVar(&flags.verify, "verify", true, "run the job to its end, run it again in this process, and compare the bytes")
	console.CompleteWords(cmd, "how", string(bench.Kill), string(bench.Term), string(bench.Stop))
	return cmd
}

func (f *failoverFlags) check(cmd *cobra.Command, args []string) error {
	changed := cmd.Flags().Changed
	switch how := bench.How(f.how); {
	case f.kills < 1 || f.kills > bench.MaxFailovers:
		return console.Usagef("--kills must be 1 to %d, got %d", bench.MaxFailovers, f.kills)
	case f.watch < time.Second || f.watch > bench.MaxWatch:
		return console.Usagef("--watch must be 1s to %v, got %v", human.Duration(bench.MaxWatch), f.watch)
	case f.attach && (changed("how") || changed("workers") || changed("slots")):
		return console.Usagef("--attach excludes --how, --workers and --slots: it asks the leader of a running cluster to step down")
	case f.attach && len(args) == 0 && (changed("param") || changed("params")):
		return console.Usagef("parameters need a job")
	case f.attach:
	case len(args) > 0 || changed("param") || changed("params"):
		return console.Usagef("a job needs --attach")
	case how != bench.Kill && how != bench.Term && how != bench.Stop:
		return console.Usagef("--how must be %s, %s or %s, got %q", bench.Kill, bench.Term, bench.Stop, f.how)
	case f.size < 2:
		return console.Usagef("--workers must be at least 2, so that another worker can lead, got %d", f.size)
	case f.slots < 1 || f.slots > wire.MaxSlots:
		return console.Usagef("--slots must be 1 to %d, got %d", wire.MaxSlots, f.slots)
	}
	return f.benchmark.check()
}

// interruptedAttached returns the error for an interrupted benchmark of a running cluster. The error says
// whether the benchmark's job is still in the cluster; nothing else of the benchmark can remain there.
func interruptedAttached(failed error) error {
	if errors.Is(failed, bench.ErrJobGoesOn) {
		return fmt.Errorf("interrupted: %w", failed)
	}
	return errors.New("interrupted; no job is left behind")
}

func measureFailover(ctx context.Context, a *console.App, flags *failoverFlags, args []string, tell tell) (bench.FailoverReport, error) {
	cfg := bench.FailoverConfig{
		How: bench.How(flags.how), Failovers: flags.kills, Watch: flags.watch, Verify: flags.verify, Progress: tell,
	}
	if flags.attach {
		return measureAttached(ctx, a, cfg, flags, args)
	}
	tell("starting the workers", 0, 0)
	g, err := startGround(ctx, a, &flags.benchmark)
	if err != nil {
		return bench.FailoverReport{}, err
	}
	defer g.close()
	if err := g.startWorkers(g.traces, flags.size, flags.slots); err != nil {
		return bench.FailoverReport{}, err
	}
	cfg.Cluster, cfg.Flock, cfg.Traces, cfg.Workers = g.client, g.workers, g.traces, flags.size
	return bench.Failover(ctx, cfg)
}

// measureAttached runs the failover benchmark on a running cluster.
func measureAttached(ctx context.Context, a *console.App, cfg bench.FailoverConfig, flags *failoverFlags, args []string) (bench.FailoverReport, error) {
	var (
		job    jobs.Job
		params jobs.Params
		err    error
	)
	if len(args) > 0 {
		if job, err = a.Job(args[0]); err != nil {
			return bench.FailoverReport{}, err
		}
		if params, err = flags.params.Read(a, job); err != nil {
			return bench.FailoverReport{}, err
		}
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return bench.FailoverReport{}, err
	}
	defer c.Close()
	workers, err := awaitTwoWorkers(ctx, a, c)
	if err != nil {
		return bench.FailoverReport{}, err
	}
	cfg.Cluster, cfg.Workers, cfg.Job, cfg.Params = c, workers, job, params
	return bench.Failover(ctx, cfg)
}

// awaitTwoWorkers waits until the leader knows at least two workers, so that one can take over from
// the other, and returns the number of workers. A new leader learns of the workers one by one, so
// it may know fewer than two at first.
func awaitTwoWorkers(ctx context.Context, a *console.App, c *client.Client) (int, error) {
	const least = 2
	deadline := time.Now().Add(a.Timeout)
	for {
		answer, err := c.Workers(ctx)
		workers := len(answer.Workers)
		switch {
		case err != nil || workers >= least:
			return workers, err
		case time.Now().After(deadline):
			return 0, console.Absentf("cluster %s has %s, and a failover takes at least %d: start more with '%s worker'", c.Cluster().Name, english.Plural(workers, "worker", ""), least, a.Name)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(console.PollInterval):
		}
	}
}
