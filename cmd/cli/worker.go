package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/cli/imds"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/leases"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/executor"
)

const (
	defaultLease = 15 * time.Second
	leastLease   = 100 * time.Millisecond

	defaultDrain = 20 * time.Second
	leastDrain   = time.Second // leaves room for a checkpoint
)

type workerFlags struct {
	slots      int
	http       string
	lease      time.Duration
	drain      time.Duration
	withParent bool
	evictions  bool
	metadata   string // URL of Azure's metadata service
	log        logFlags
}

func (a *app) workerCommand() *cobra.Command {
	var flags workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run one worker, which may come to lead",
		Long: `Run one worker of a cluster, which may come to lead. It waits for NATS and storage
as long as it takes, and goes on through their outages.

SIGTERM or Ctrl-C stops it in order: it finishes the partitions that run, waits
until what it has computed is durable, and hands over if it leads. Partitions that
take longer than --drain-timeout are cancelled, and run again elsewhere. Whatever
would kill it then should wait 10 seconds more. A second signal ends it at once,
which costs the others a moment of work.

With --http, GET /healthz answers 200 while the process's loops run, and GET /readyz 200
while it is in contact with a leader, which may be itself; both say what is the
matter. GET /metrics has figures for Prometheus.

With --watch-evictions, the worker asks Azure's metadata service every second
whether its virtual machine is about to be taken away, moved or started anew, and
then stops in order as above and tells Azure that it need not wait. Give it to one
worker of a machine only, with a --drain-timeout below the 30 seconds that spot
machines have. A machine that is to stand still for some seconds works on.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.slots < 1 || flags.slots > wire.MaxSlots {
				return usagef("--slots must be 1 to %d, got %d", wire.MaxSlots, flags.slots)
			}
			if flags.lease < leastLease {
				return usagef("--lease must be at least %v, got %v", leastLease, flags.lease)
			}
			if flags.drain < leastDrain {
				return usagef("--drain-timeout must be at least %v, got %v", leastDrain, flags.drain)
			}
			return a.worker(cmd.Context(), flags)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().IntVar(&flags.slots, "slots", runtime.GOMAXPROCS(0), "how many partitions to run at once")
	cmd.Flags().StringVar(&flags.http, "http", "", "address to serve /healthz, /readyz and /metrics on, such as :9464")
	cmd.Flags().DurationVar(&flags.lease, "lease", defaultLease, "how long the lease lasts, the same for all workers of a cluster; with storage "+string(cluster.Azure)+", whole seconds from 15s to 1m")
	cmd.Flags().DurationVar(&flags.drain, "drain-timeout", defaultDrain, "how long running partitions have to end when the worker is told to stop")
	cmd.Flags().BoolVar(&flags.evictions, "watch-evictions", false, "stop in order when Azure is about to take the machine away")
	cmd.Flags().BoolVar(&flags.withParent, "with-parent", false, "end at once when standard input closes")
	cmd.Flags().StringVar(&flags.metadata, "metadata-url", imds.URL, "Azure's metadata service")
	for _, hidden := range []string{"with-parent", "metadata-url"} {
		if err := cmd.Flags().MarkHidden(hidden); err != nil {
			panic(err) // the flag was registered above
		}
	}
	flags.log.register(cmd)
	return cmd
}

// worker runs a worker until a signal, or the end of ctx, stops it in order; or a
// second signal, or the end of its parent, at once. In the latter case it returns
// with goroutines at work: the process is to end with it.
func (a *app) worker(ctx context.Context, flags workerFlags) error {
	log, err := flags.log.logger(a)
	if err != nil {
		return err
	}
	id := newWorkerID()
	log = log.With("self", id)
	signals, ignore := stopSignals()
	defer ignore()
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	var orphaned chan struct{}
	if flags.withParent {
		orphaned = make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, a.In)
			close(orphaned)
		}()
	}
	service := imds.New(flags.metadata)
	defer service.Close()
	evictions := make(chan imds.Event, 1)
	if flags.evictions {
		var watching sync.WaitGroup
		defer watching.Wait()
		defer stop()
		watching.Go(func() {
			if event, evicted := awaitEviction(ctx, service, log); evicted {
				evictions <- event
			}
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- a.work(ctx, id, flags, log) }()
	var eviction *imds.Event // that ends this worker
	for stopping, wished := false, false; ; {
		select {
		case err := <-ended:
			if eviction != nil {
				approveEviction(service, *eviction, log)
			}
			return err
		case event := <-evictions:
			if !stopping {
				log.Info("Azure is about to take the machine away, stopping in order", "cause", event.Type, "until", event.NotBefore)
				stopping, eviction = true, &event
				stop()
			}
		case <-orphaned:
			return errors.New("the process that started this worker is gone")
		case s := <-signals:
			if wished {
				return fmt.Errorf("second signal (%v): ended without waiting for running partitions", s)
			}
			wished = true
			if !stopping {
				log.Info("Stopping in order", "signal", s.String())
				stopping = true
				stop()
			}
		}
	}
}

// work connects, opens storage and works until ctx is done.
func (a *app) work(ctx context.Context, id string, flags workerFlags, log *slog.Logger) error {
	cfg, err := a.target.config()
	if err != nil {
		return err
	}
	cfg.Logger = log
	subjects, err := cfg.Subjects()
	if err != nil {
		return a.explain(err)
	}
	keepToSlots(flags.slots)
	nc, err := connectWorker(cfg, a.name, id, log)
	if err != nil {
		return a.explain(err)
	}
	defer nc.Close()

	v := newVitals(executor.Status{ID: id, Slots: flags.slots}, nc, readBuild(a.name))
	if flags.http != "" {
		server, err := serveVitals(flags.http, v, log)
		if err != nil {
			return err
		}
		defer server.close()
	}
	opened, err := patiently(ctx, log, "Waiting for storage", func(ctx context.Context) (*workerStorage, error) {
		return openWorkerStorage(ctx, nc, cfg, election.Config{Duration: flags.lease}, v.metrics.storageCall)
	})
	if err != nil || opened == nil {
		return a.explain(err)
	}
	defer opened.storage.Close()
	m := member{
		id: id, subjects: subjects, slots: flags.slots, drain: flags.drain, lease: opened.lease, election: opened.election,
		since: time.Now(), jobs: a.jobs, nc: nc, store: opened.store, vitals: v, log: log,
	}
	return m.run(ctx)
}

// workerStorage is what a worker opens of storage.
type workerStorage struct {
	storage  *cluster.Storage
	store    *store.Store
	lease    election.Lease
	election election.Config
}

func openWorkerStorage(ctx context.Context, nc *nats.Conn, cfg cluster.Config, elect election.Config, observe func(store.Call)) (*workerStorage, error) {
	s, err := cfg.OpenStorage(ctx, nc)
	if err != nil {
		return nil, err
	}
	lease, err := leases.Open(ctx, s, &elect)
	if err != nil {
		s.Close()
		return nil, err
	}
	return &workerStorage{s, s.Store(store.WithObserver(observe)), observeLease(lease, observe), elect}, nil
}

// keepToSlots lets Go's scheduler use one core more than there are slots, where
// the machine has more: the slots keep theirs busy, messages do not wait behind
// them, and the garbage collector does not spread over cores that belong to
// others. GOMAXPROCS in the environment goes before.
func keepToSlots(slots int) {
	if os.Getenv("GOMAXPROCS") == "" && slots+1 < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(slots + 1)
	}
}

// connectWorker connects for good: it never gives up, and connects again
// whenever the connection is lost.
func connectWorker(cfg cluster.Config, program, id string, log *slog.Logger) (*nats.Conn, error) {
	last := ""
	return cfg.ConnectNATS(program+" worker "+id,
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // credentials may be set right while the worker waits
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ConnectHandler(func(nc *nats.Conn) { log.Info("Connected to NATS", "url", nc.ConnectedUrlRedacted()) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("Connected to NATS again", "url", nc.ConnectedUrlRedacted()) }),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() {
				log.Warn("Lost the connection to NATS", "error", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { // called from one goroutine
			if text := err.Error(); text != last {
				last = text
				log.Warn("NATS cannot be reached, trying again and again", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			log.Warn("NATS reports an error", "subject", subject, "error", err)
		}),
	)
}

// reconnectWait, and up to as much again by chance, passes between two tries to
// reach NATS: short against a lease, long enough for a server with many clients.
const reconnectWait = 250 * time.Millisecond

// patiently opens something until that succeeds, ctx is done (then it is nil) or
// it fails in a way that waiting does not mend.
func patiently[T any](ctx context.Context, log *slog.Logger, what string, open func(context.Context) (*T, error)) (*T, error) {
	const (
		each = 5 * time.Second
		most = 2 * time.Second
	)
	last := ""
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, most) {
		tryCtx, cancel := context.WithTimeout(ctx, each)
		opened, err := open(tryCtx)
		cancel()
		switch {
		case err == nil:
			return opened, nil
		case ctx.Err() != nil:
			return nil, nil
		case !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, election.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		}
		if text := err.Error(); text != last {
			last = text
			log.Warn(what, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(pause):
		}
	}
}

// newWorkerID makes an ID that no other process has: the host's name, for people,
// and chance.
func newWorkerID() string {
	var suffix [4]byte
	_, _ = rand.Read(suffix[:]) // never fails: see crypto/rand
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, strings.ToLower(hostname()))
	name = strings.Trim(name[:min(len(name), 60)], "-")
	if name == "" {
		name = "worker"
	}
	return name + "-" + hex.EncodeToString(suffix[:])
}

// hostname is the host's name, or empty where that cannot be told.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
