package worker

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/coordinator"
	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/natspeers"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/journal"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/executor"
	"github.com/bellwether-compute/bellwether/worker/internal/podcost"
)

// process is a worker process with its open connections and servers.
type process struct {
	cfg      Config
	since    time.Time
	subjects wire.Subjects
	nc       *nats.Conn
	bulk     *nats.Conn // connection for the bytes of large partials
	store    *store.Store
	partials *store.Store // access to storage over the connection for large partials
	opened   *cluster.Storage
	storage  string // identity of the storage
	lease    election.Lease
	election election.Config
	health   *health
	journal  *journal.Journal
	log      *slog.Logger
}

// run executes partitions, and leads if elected, until ctx is done. It then stops the parts of the
// process in order. First the executor drains: the leader makes the executor's results durable. A leader
// hands over as soon as its own executor reports that it drains (see package term), unless no other worker
// can lead. The process takes part in elections until its executor has drained, because that needs a
// leader even if all processes of the cluster stop.
func (p *process) run(ctx context.Context) error {
	p.journal = journal.New(p.store, p.log)
	defer p.writeJournal(ctx)()
	e, err := executor.New(p.nc, p.partials, executor.Config{
		Subjects: p.subjects, ID: p.cfg.ID, Slots: p.cfg.Slots, Host: hostname(), PID: os.Getpid(), Since: p.since,
		Storage: p.storage, Version: p.cfg.Version,
		Bulk: p.bulk, Memory: p.cfg.Memory, SpillDir: spillDir(p.cfg.SpillDir, p.log),
		Jobs: p.cfg.Jobs, DrainTimeout: p.cfg.DrainTimeout, Logger: p.log,
		Journal:    p.journal,
		ReportDone: p.health.metrics.reportDone, MergeDone: p.health.metrics.mergeDone,
		Leads: func() bool { return p.health.epoch.Load() != 0 },
		ReadEpoch: func(ctx context.Context) (uint64, error) {
			record, err := p.lease.Read(ctx)
			return record.Epoch, err
		},
	})
	if err != nil {
		return err
	}
	group, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	working, drain := context.WithCancel(failed) // also done if the executor or the election fails
	defer drain()
	defer context.AfterFunc(ctx, drain)()
	standing, leave := context.WithCancel(failed)
	defer leave()
	p.health.executor.Store(e)
	group.Go(func() error {
		defer leave()
		defer p.health.ended.Store(true)
		return e.Run(working)
	})
	group.Go(func() error { return p.stand(standing) })
	group.Go(func() error {
		p.watchStorage(working)
		return nil
	})
	if p.cfg.PodDeletionCost {
		group.Go(func() error {
			p.annotatePod(working, e)
			return nil
		})
	}
	return group.Wait()
}

// writeJournal writes the journals of jobs until the function stop is called, which writes the last lines.
func (p *process) writeJournal(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.journal.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// stand takes part in elections until ctx is done, and leads if elected.
func (p *process) stand(ctx context.Context) error {
	peers, err := natspeers.New(p.nc, p.subjects, p.cfg.ID, p.storage, p.log)
	if err != nil {
		return err
	}
	defer peers.Close()
	leader, err := coordinator.New(coordinator.Config{
		Config: term.Config{
			Worker: p.cfg.ID, Host: hostname(), PID: os.Getpid(),
			Ledger: ledger.Config{MeanTimeBetweenFailures: p.cfg.MeanTimeBetweenFailures, MaxWorkers: p.cfg.MaxWorkers},
			Store:  p.store, Storage: p.storage, Jobs: p.cfg.Jobs, Observe: p.health.metrics.observe, Logger: p.log,
			Journal: p.journal,
		},
		Subjects: p.subjects, Conn: p.nc, OnTurn: p.health.leaderTurned,
	})
	if err != nil {
		return err
	}
	return election.Run(ctx, p.lease, timePings(peers, p.health.metrics.pingDone), p.election, func(ctx context.Context, t *election.Term) (string, error) {
		if err := p.mayLead(ctx); err != nil {
			return "", err
		}
		defer p.health.leads(t)()
		return leader.Lead(ctx, t)
	})
}

// annotatePod updates the annotation of this process's Kubernetes pod until ctx is done.
func (p *process) annotatePod(ctx context.Context, e *executor.Worker) {
	annotator, err := podcost.New(podcost.Config{
		URL: p.cfg.Pod.API, Pod: p.cfg.Pod.Name, Namespace: p.cfg.Pod.Namespace, Cost: func() float64 { return e.DeathCost() / float64(p.cfg.Slots) }, Logger: p.log,
	})
	if err != nil {
		p.log.Warn("Cannot annotate the pod with the cost of its deletion", "error", err)
		return
	}
	annotator.Run(ctx)
}
