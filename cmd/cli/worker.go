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
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/exec/account"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker"
)

const (
	defaultLease = 15 * time.Second
	minLease     = 100 * time.Millisecond

	defaultDrain = 20 * time.Second
	minDrain     = time.Second // a checkpoint takes less than this time

	defaultMTBF = 6 * time.Hour // mean time between failures of spot machines
	minMTBF     = time.Minute
)

type workerFlags struct {
	slots       int
	http        machine.PageFlags
	lease       time.Duration
	drain       time.Duration
	memory      string
	spillDir    string
	mtbf        time.Duration
	withParent  bool
	evictions   bool
	podCost     bool
	metadataURL string
	allow       allowFlag
	grant       console.GrantFlags
	log         console.LogFlags
}

func (a *app) workerCommand() *cobra.Command {
	var flags workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run one worker, which may be elected leader",
		Long: `Run one worker of a cluster, which may be elected leader. It waits for NATS and
storage for as long as they are not available, and keeps running through outages.

SIGTERM or Ctrl-C stops it gracefully: it finishes running partitions, waits until
their results are durable, and hands over if it leads. Partitions that take longer
than --drain-timeout are cancelled and run again elsewhere. A supervisor should wait
10 seconds longer than that before it kills the worker. A second signal ends the
worker at once, which costs the cluster a moment of work.

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
--memory bounds the memory that they take; beyond it they go to files in --spill-dir.
A large partial is written to storage when the work behind it is worth the write:
that depends on --mtbf, the time for which workers live on average.

Jobs read files and blobs only where --files and --containers allow it, and web servers
only by https at public addresses, unless --web names them. The cluster's own container
is never allowed.

A restricted job lets its submitter harm the worker. The worker runs a restricted job
only if --allow names it; 'catalog' shows which jobs are restricted. --exec-programs
limits which programs the job exec may start, and --exec-user runs them as another user.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			memory, err := flags.check()
			if err != nil {
				return err
			}
			return a.worker(cmd.Context(), flags, memory)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.register(a, cmd)
	return cmd
}

func (f *workerFlags) register(a *app, cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.slots, "slots", runtime.GOMAXPROCS(0), "number of partitions to run at once")
	cmd.Flags().StringVar(&f.http.Address, "http", "", "address to serve the page, /healthz, /readyz and /metrics on, such as :9464")
	f.http.Register(cmd)
	cmd.Flags().DurationVar(&f.lease, "lease", defaultLease, "how long the lease lasts, the same for all workers of a cluster; with storage "+string(cluster.Azure)+", whole seconds from 15s to 1m")
	cmd.Flags().DurationVar(&f.drain, "drain-timeout", defaultDrain, "how long running partitions may take to end when the worker is told to stop")
	cmd.Flags().StringVar(&f.memory, "memory", "", "memory for large partials, such as 3GiB (default three quarters of the cgroup's limit, or of the machine's memory)")
	cmd.Flags().StringVar(&f.spillDir, "spill-dir", "", "folder for large partials that do not fit in memory (default that for temporary files)")
	cmd.Flags().DurationVar(&f.mtbf, "mtbf", defaultMTBF, "how long workers live on average, which decides when large partials are written to storage")
	cmd.Flags().BoolVar(&f.evictions, "watch-evictions", false, "stop gracefully when Azure is about to evict the machine")
	cmd.Flags().BoolVar(&f.podCost, "pod-deletion-cost", false, "annotate this worker's pod with what its death would cost")
	cmd.Flags().BoolVar(&f.withParent, "with-parent", false, "end at once when standard input closes")
	cmd.Flags().StringVar(&f.metadataURL, "metadata-url", "", "URL of Azure's metadata service")
	for _, hidden := range []string{"with-parent", "metadata-url"} {
		if err := cmd.Flags().MarkHidden(hidden); err != nil {
			panic(err) // the flag was registered above, so there is no error
		}
	}
	f.allow.register(a, cmd)
	f.grant.Register(cmd)
	f.log.Register(cmd, "info")
}

// check returns the memory for large partials in bytes, and an error if a flag is out of range.
func (f *workerFlags) check() (memory int64, err error) {
	if f.slots < 1 || f.slots > wire.MaxSlots {
		return 0, console.Usagef("--slots must be 1 to %d, got %d", wire.MaxSlots, f.slots)
	}
	if f.lease < minLease {
		return 0, console.Usagef("--lease must be at least %v, got %v", minLease, f.lease)
	}
	if f.drain < minDrain {
		return 0, console.Usagef("--drain-timeout must be at least %v, got %v", minDrain, f.drain)
	}
	memory, err = machine.ParseMemory(f.memory)
	if err != nil {
		return 0, err
	}
	if info, err := os.Stat(f.spillDir); f.spillDir != "" && (err != nil || !info.IsDir()) {
		return 0, console.Usagef("--spill-dir must be an existing folder, got %q", f.spillDir)
	}
	if f.mtbf < minMTBF {
		return 0, console.Usagef("--mtbf must be at least %v, got %v", minMTBF, f.mtbf)
	}
	return memory, nil
}

// checkGrant returns an error if the process cannot apply a grant.
func checkGrant(g jobs.Grant) error {
	if slices.Contains(g.Programs, "") {
		return console.Usagef("--exec-programs, %s %q: want names or paths of programs, separated by commas", console.EnvPrograms, strings.Join(g.Programs, ","))
	}
	if err := g.Validate(); err != nil {
		return console.Usagef("--containers and --web, %s and %s: %w", console.EnvContainers, console.EnvWeb, err)
	}
	if err := account.Check(g.User); err != nil {
		return console.Usagef("--exec-user, %s: %w", console.EnvUser, err)
	}
	return nil
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
func (a *app) worker(ctx context.Context, flags workerFlags, memory int64) error {
	log, err := flags.log.Logger(a.App)
	if err != nil {
		return err
	}
	target, err := a.Target.Config()
	if err != nil {
		return err
	}
	allowed, err := flags.allow.filter(a.Jobs)
	if err != nil {
		return err
	}
	grant := flags.grant.Grant(a.App, flags.withParent) // the command dev starts the workers of the user's own cluster
	if err := checkGrant(grant); err != nil {
		return err
	}
	token, err := flags.http.Token()
	if err != nil {
		return err
	}
	signals, ignore := console.StopSignals()
	defer ignore()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var orphaned chan struct{}
	if flags.withParent {
		orphaned = make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, a.In)
			close(orphaned)
		}()
	}
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, worker.Config{
			Cluster: target, Jobs: allowed, Allow: restricted(allowed), Grant: grant,
			Slots: flags.slots, SetGOMAXPROCS: os.Getenv("GOMAXPROCS") == "",
			Lease: flags.lease, DrainTimeout: flags.drain,
			Memory: memory, LimitMemory: os.Getenv("GOMEMLIMIT") == "", SpillDir: flags.spillDir, MeanTimeBetweenFailures: flags.mtbf,
			HTTP: flags.http.Address, HTTPHosts: flags.http.Hosts, HTTPToken: token, Name: a.Name, Version: readBuild(a.Name).Version,
			WatchEvictions: flags.evictions, PodDeletionCost: flags.podCost, Pod: thisPod(), MetadataURL: flags.metadataURL, Logger: log,
		})
	}()
	for stopping := false; ; stopping = true {
		select {
		case err := <-ended:
			return a.Explain(err)
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
