package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/leases"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker/internal/executor"
	"github.com/bellwether-compute/bellwether/worker/internal/imds"
)

// ErrStuck means that a worker has stopped although code of a job has not returned. If code that
// does not return occupies all slots for 10 s, the worker drains and stops, so that a supervisor can
// start it again. The goroutines of code that does not return continue to run, so the program must exit.
var ErrStuck = executor.ErrStuck

// Run runs a worker process. Run returns nil after an orderly stop, that is, when ctx has ended or
// Azure evicts the machine. Run returns [ErrConfig] if cfg is not valid, [cluster.ErrPayload] if a
// NATS server refuses large messages, and [ErrStuck] if code of a job did not return.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return configError{fmt.Errorf("configure worker: %w", err)}
	}
	log := cfg.Logger.With("self", cfg.ID)
	ctx, stop := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	logged := make(chan struct{})
	notStopped := context.AfterFunc(ctx, func() {
		defer close(logged)
		log.Info("Stopping gracefully", "reason", context.Cause(ctx))
	})
	defer func() {
		if !notStopped() {
			<-logged
		}
	}()
	if !cfg.WatchEvictions {
		return connectAndRun(ctx, cfg, log)
	}

	service := imds.New(cfg.MetadataURL)
	defer service.Close()
	evictions := make(chan imds.Event, 1)
	wg.Go(func() {
		if event, evicted := awaitEviction(ctx, service, log); evicted {
			evictions <- event
			stop(fmt.Errorf("eviction announced by Azure: %s, not before %s", event.Type, cmp.Or(event.NotBefore, "now")))
		}
	})
	err := connectAndRun(ctx, cfg, log)
	select {
	case event := <-evictions:
		approveEviction(service, event, log)
	default:
	}
	return err
}

// connectAndRun connects to NATS and storage, retrying until both answer, and runs the
// process until ctx is done.
func connectAndRun(ctx context.Context, cfg Config, log *slog.Logger) error {
	subjects, err := cfg.Cluster.Subjects()
	if err != nil {
		return err
	}
	if cfg.SetGOMAXPROCS {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cfg.Slots + 2))
	}
	if cfg.LimitMemory { // collections are short even if held partials use most of the memory, because these contain no pointers
		debug.SetMemoryLimit(cfg.Memory)
	}
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	nc, err := connectNATS(cfg, refuse, log)
	if err != nil {
		return err
	}
	defer nc.Close()
	bulk, err := connectBulk(cfg)
	if err != nil {
		return err
	}
	defer bulk.Close()
	p := process{
		cfg: cfg, since: time.Now(), subjects: subjects, nc: nc, bulk: bulk, log: log,
		health: newHealth(cfg, nc),
	}
	ctx, release := jobs.WithGrant(cluster.With(source.Watch(ctx, p.throttled), cfg.Cluster), cfg.Grant)
	defer release()
	if cfg.HTTP != "" {
		server, err := serveHTTP(cfg, p.health, log)
		if err != nil {
			return err
		}
		defer server.Close()
	}
	storage, err := retryOpen(ctx, log, func(ctx context.Context) (*cluster.Storage, error) {
		return p.openStorage(ctx)
	})
	if err == nil && storage != nil {
		defer storage.Close()
		err = p.identifyAndRun(ctx, storage)
	}
	if refused := context.Cause(ctx); errors.Is(refused, cluster.ErrPayload) {
		return errors.Join(refused, err)
	}
	return err
}

// throttled counts and logs that storage throttles requests of jobs.
func (p *process) throttled(t source.Throttling) {
	if !t.Ended {
		p.health.metrics.throttled.Inc()
	}
	t.Log(p.log)
}

// identifyAndRun reads the storage's identity, retrying until storage answers, and runs the process
// until ctx is done. Opening storage and reading the identity are separate attempts, so that a
// failed read does not open the storage again.
func (p *process) identifyAndRun(ctx context.Context, storage *cluster.Storage) error {
	identity, err := retryOpen(ctx, p.log, func(ctx context.Context) (*string, error) {
		identity, err := p.store.Identity(ctx)
		return &identity, storage.Explain(err)
	})
	if err != nil || identity == nil {
		return err
	}
	p.opened, p.storage, p.election.Storage = storage, *identity, *identity
	return p.run(ctx)
}

// openStorage opens the storage and its lease. The metrics count the calls to storage and to the lease.
func (p *process) openStorage(ctx context.Context) (*cluster.Storage, error) {
	where := p.cfg.Cluster
	where.Logger = p.log
	storage, err := where.OpenStorage(ctx, p.nc)
	if err != nil {
		return nil, err
	}
	p.election = election.Config{ID: p.cfg.ID, Duration: p.cfg.Lease, Logger: p.log}
	lease, err := leases.Open(ctx, storage, &p.election)
	if err != nil {
		storage.Close()
		return nil, err
	}
	p.lease = countLease(lease, p.health.metrics.leaseCall)
	p.store = storage.Store(p.health.metrics.storageCall)
	p.partials = p.store
	if storage.Config().Storage == cluster.JetStream { // large partials need a second connection, so that other messages do not wait behind them
		again, err := where.OpenStorage(ctx, p.bulk) // OpenStorage uses the connection p.bulk, so the storage need not be closed
		if err != nil {
			return nil, err
		}
		p.partials = again.Store(p.health.metrics.storageCall)
	}
	return storage, nil
}

// reconnectWait is the shortest pause between two attempts to connect to NATS. A random time of up
// to reconnectWait is added to the pause. reconnectWait is much shorter than a lease, but long
// enough to spread the reconnects of many clients.
const reconnectWait = 250 * time.Millisecond

// connectNATS returns a connection that connects in the background, and reconnects after each loss
// without a limit of attempts. connectNATS calls refuse if a server cannot be used.
func connectNATS(cfg Config, refuse func(error), log *slog.Logger) (*nats.Conn, error) {
	last := ""
	connected := func(message string) nats.ConnHandler {
		return func(nc *nats.Conn) {
			log.Info(message, "url", nc.ConnectedUrlRedacted())
			if err := cluster.CheckNATS(nc); err != nil {
				refuse(err)
			}
		}
	}
	return cfg.Cluster.ConnectNATS(cfg.Name+" worker "+cfg.ID,
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // retry after refused credentials too, because an operator may correct them
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ConnectHandler(connected("Connected to NATS")),
		nats.ReconnectHandler(connected("Reconnected to NATS")),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if !nc.IsClosed() {
				log.Warn("Lost the connection to NATS", "error", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { // only one goroutine calls the handler
			if text := err.Error(); text != last {
				last = text
				log.Warn("Cannot reach NATS, retrying", "error", err)
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

// connectBulk returns a connection for the bytes of large partials. connectBulk logs nothing,
// because the connection of connectNATS logs problems with NATS.
func connectBulk(cfg Config) (*nats.Conn, error) {
	return cfg.Cluster.ConnectNATS(cfg.Name+" worker "+cfg.ID+" bulk",
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // errors are ignored here, because the failed fetch is logged
	)
}

const (
	openPause    = 100 * time.Millisecond
	openPauseMax = 2 * time.Second
)

// retryOpen calls open until it succeeds. An attempt has no time limit, because each call to storage
// has its own, and a distant server needs several seconds for all calls together. If ctx ends first, retryOpen returns neither a value nor
// an error. retryOpen returns an error of open that retries cannot fix.
func retryOpen[T any](ctx context.Context, log *slog.Logger, open func(context.Context) (*T, error)) (*T, error) {
	last := ""
	for pause := openPause; ; pause = min(2*pause, openPauseMax) {
		opened, err := open(ctx)
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
			log.Warn("Cannot open storage, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(pause):
		}
	}
}
