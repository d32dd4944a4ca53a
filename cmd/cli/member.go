package cli

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/coordinator"
	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/natspeers"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/executor"
)

// member is a process of a cluster: a worker that takes part in elections.
type member struct {
	id       string
	subjects wire.Subjects
	slots    int
	drain    time.Duration // for running partitions to end
	since    time.Time
	jobs     []jobs.Job
	nc       *nats.Conn
	store    *store.Store
	lease    election.Lease
	election election.Config // ID and Logger are filled in
	vitals   *vitals         // of the process, for those who ask
	log      *slog.Logger
}

// run works, and leads where elected, until ctx is done and everything is in
// order: first the worker drains, so that whoever leads, this process maybe, makes
// durable what it holds; then the election ends, with a handover if this process
// leads.
func (m member) run(ctx context.Context) error {
	w, err := executor.New(m.nc, m.store, executor.Config{
		Subjects: m.subjects, ID: m.id, Slots: m.slots, Host: hostname(), PID: os.Getpid(), Since: m.since,
		Jobs: m.jobs, DrainTimeout: m.drain, ReportDone: m.vitals.metrics.reportDone, Logger: m.log,
	})
	if err != nil {
		return err
	}
	group, hard := errgroup.WithContext(context.WithoutCancel(ctx))
	soft, drain := context.WithCancel(hard) // also done if a part fails
	defer drain()
	defer context.AfterFunc(ctx, drain)()
	drained, leave := context.WithCancel(hard)
	defer leave()
	m.vitals.work(w)
	group.Go(func() error {
		defer leave()
		defer m.vitals.leave()
		return w.Run(soft)
	})
	group.Go(func() error { return m.takePart(drained) })
	return group.Wait()
}

// takePart takes part in elections until drained is done.
func (m member) takePart(drained context.Context) error {
	peers, err := natspeers.New(m.nc, m.subjects, m.id, m.log)
	if err != nil {
		return err
	}
	defer peers.Close()
	leader, err := coordinator.New(coordinator.Config{
		Config: term.Config{
			Worker: m.id, Host: hostname(), PID: os.Getpid(),
			Store: m.store, Jobs: m.jobs, Observe: m.vitals.metrics.observe, Logger: m.log,
		},
		Subjects: m.subjects, Conn: m.nc, OnTurn: m.vitals.leaderTurned,
	})
	if err != nil {
		return err
	}
	cfg := m.election
	cfg.ID, cfg.Logger = m.id, m.log
	return election.Run(drained, m.lease, peers, cfg, func(ctx context.Context, t *election.Term) (string, error) {
		defer m.vitals.lead(t)()
		return leader.Lead(ctx, t)
	})
}
