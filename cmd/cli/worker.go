package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/exec/account"
	"github.com/bellwether-compute/bellwether/worker"
)

// workerFlags are the flags of the command worker. Most of them set fields of the configuration
// directly, and [worker.Run] checks these fields.
type workerFlags struct {
	cfg        worker.Config
	http       machine.PageFlags
	memory     string
	withParent bool
	allow      allowFlag
	grant      console.GrantFlags
	log        console.LogFlags
}

func (a *app) workerCommand() *cobra.Command {
	var flags workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run one worker, which may be elected leader",
		Long: `Run one worker of a cluster, which may be elected leader. It waits for NATS and
storage for as long as they are not available, and keeps running through outages.

SIGTERM or Ctrl-C stops it gracefully: if it leads, it hands over to another worker. It
finishes running partitions and waits until their results are durable. Partitions that
take longer than --drain-timeout are cancelled and run again elsewhere. A supervisor
should wait 10 seconds longer than that before it kills the worker. A second signal ends
the worker at once, which costs the cluster a moment of work.

With --http, GET /healthz answers 200 while the loops of the process turn and its
storage has not been replaced: restart the worker otherwise. GET /readyz answers 200
while the worker is in contact with a leader, which may be the worker itself. If they
answer 503, the body gives the reasons. GET /metrics serves metrics for Prometheus.
GET / is a page that shows the cluster, and /api/v1/ its data. Everybody who can reach
the address can read them.

With --watch-evictions, the worker asks Azure's metadata service every second
whether its virtual machine is about to be evicted, redeployed or rebooted. If it is,
the worker stops gracefully and then approves the event, so that Azure need not wait.
Use it for one worker per machine, with a --drain-timeout below the 30 seconds that
spot machines get. Freeze events (pauses of a few seconds) are ignored.

With --pod-deletion-cost in a pod, the worker annotates its pod with the seconds of work
that its death would cost, at most every 30 seconds, so that Kubernetes deletes the
cheapest pods first. POD_NAME and POD_NAMESPACE name the pod, and its service account
may patch pods; the chart's value podDeletionCost sets this up.

Large partial results stay with the workers that made them, which also merge them.
--memory bounds the memory that they take; beyond it they go to files in --spill-dir. What they
leave, up to three quarters, jobs with rounds use to keep their data between rounds.
A large partial is written to storage when the work behind it is worth the write:
that depends on --mtbf, the time for which workers live on average.

Jobs read files and blobs only where --files and --containers allow it, and web servers
only by https at public addresses, unless --web names them. The cluster's own container
is never allowed.

A restricted job lets its submitter harm the worker. The worker runs a restricted job
only if --allow names it; 'catalog' shows which jobs are restricted. --exec-programs
limits which programs the job exec may start, and --exec-user runs them as another user.
Programs cannot read the worker's environment or memory, unless they run as root. They
can read files of their user, such as --creds, and flags: put passwords in neither.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := flags.config(a)
			if err != nil {
				return err
			}
			return a.worker(cmd.Context(), cfg, flags.withParent)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.register(a, cmd)
	return cmd
}

func (f *workerFlags) register(a *app, cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.cfg.Slots, "slots", runtime.GOMAXPROCS(0), "number of partitions to run at once")
	cmd.Flags().StringVar(&f.http.Address, "http", "", "address to serve the page, /healthz, /readyz and /metrics on, such as :9464")
	f.http.Register(cmd)
	cmd.Flags().DurationVar(&f.cfg.Lease, "lease", worker.DefaultLease, "how long the lease lasts, the same for all workers of a cluster; with storage "+string(cluster.Azure)+", whole seconds from 15s to 1m")
	cmd.Flags().DurationVar(&f.cfg.DrainTimeout, "drain-timeout", worker.DefaultDrainTimeout, "how long running partitions may take to end when the worker is told to stop")
	cmd.Flags().StringVar(&f.memory, "memory", "", "memory for large partials and for data that rounds keep, such as 3GiB (default three quarters of the cgroup's limit, or of the machine's memory)")
	cmd.Flags().StringVar(&f.cfg.SpillDir, "spill-dir", "", "folder for large partials that do not fit in memory (default that for temporary files)")
	cmd.Flags().DurationVar(&f.cfg.MeanTimeBetweenFailures, "mtbf", worker.DefaultMTBF, "how long workers live on average, which decides when large partials are written to storage")
	cmd.Flags().IntVar(&f.cfg.MaxWorkers, "max-workers", worker.DefaultMaxWorkers, "how many workers the cluster may have, the same for all workers")
	cmd.Flags().BoolVar(&f.cfg.WatchEvictions, "watch-evictions", false, "stop gracefully when Azure is about to evict the machine")
	cmd.Flags().BoolVar(&f.cfg.PodDeletionCost, "pod-deletion-cost", false, "annotate this worker's pod with what its death would cost")
	cmd.Flags().BoolVar(&f.withParent, "with-parent", false, "end at once when standard input closes")
	cmd.Flags().StringVar(&f.cfg.MetadataURL, "metadata-url", "", "URL of Azure's metadata service")
	for _, hidden := range []string{"with-parent", "metadata-url"} {
		if err := cmd.Flags().MarkHidden(hidden); err != nil {
			panic(err) // the flag was registered above, so there is no error
		}
	}
	f.allow.register(a, cmd)
	f.grant.Register(cmd)
	f.log.Register(cmd, "info")
	console.RefuseZero(cmd, "slots", "lease", "drain-timeout", "mtbf", "max-workers")
}

// config returns the configuration of the worker from the flags and the environment.
func (f *workerFlags) config(a *app) (cfg worker.Config, err error) {
	cfg = f.cfg
	if cfg.Memory, err = machine.ParseMemory(f.memory); err != nil {
		return cfg, err
	}
	if cfg.Logger, err = f.log.Logger(a.App); err != nil {
		return cfg, err
	}
	if cfg.Cluster, err = a.Target.Config(); err != nil {
		return cfg, err
	}
	if cfg.Jobs, err = f.allow.filter(a.Jobs); err != nil {
		return cfg, err
	}
	cfg.Allow = restricted(cfg.Jobs)
	cfg.Grant = f.grant.Grant(a.App, f.withParent) // the command dev starts the workers of the user's own cluster
	if !f.withParent && slices.Contains(cfg.Grant.Containers, jobs.AnyAccount) {
		return cfg, console.Usagef("--containers, %s %s: name the accounts, because workers send tokens of their identity to them", console.EnvContainers, jobs.AnyAccount)
	}
	if err := account.Check(cfg.Grant.User); err != nil {
		return cfg, console.Usagef("--exec-user, %s: %w", console.EnvUser, err)
	}
	if cfg.HTTPToken, err = f.http.Token(); err != nil {
		return cfg, err
	}
	cfg.HTTP, cfg.HTTPHosts = f.http.Address, f.http.Hosts
	cfg.SetGOMAXPROCS = os.Getenv("GOMAXPROCS") == ""
	cfg.LimitMemory = os.Getenv("GOMEMLIMIT") == ""
	cfg.Name, cfg.Version = a.Name, readBuild(a.Name).Version
	cfg.Pod = thisPod()
	return cfg, nil
}

// thisPod returns the Kubernetes pod in which this process runs.
func thisPod() worker.Pod {
	pod := worker.Pod{Name: os.Getenv("POD_NAME"), Namespace: os.Getenv("POD_NAMESPACE")}
	if host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
		pod.API = "https://" + net.JoinHostPort(host, port)
	}
	return pod
}

// worker runs a worker until ctx ends or a signal stops it gracefully. worker returns at once after
// a second signal, or when the parent process ends. The process must then exit, because goroutines
// of the worker may still run.
func (a *app) worker(ctx context.Context, cfg worker.Config, withParent bool) error {
	if err := machine.Protect(); err != nil {
		return fmt.Errorf("hide the environment from programs of jobs: %w", err)
	}
	signals, ignore := console.StopSignals()
	defer ignore()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var orphaned chan struct{}
	if withParent {
		orphaned = make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, a.In)
			close(orphaned)
		}()
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx, cfg) }()
	for stopping := false; ; stopping = true {
		select {
		case err := <-ended:
			return err
		case <-orphaned:
			return errors.New("the process that started this worker has ended")
		case s := <-signals:
			if stopping {
				return fmt.Errorf("second signal (%v): ended without waiting for running partitions", s)
			}
			stop(fmt.Errorf("signal: %v", s))
		}
	}
}
