package sim

import (
	"context"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/memlease"
)

// lease is the cluster's lease in storage. The methods of lease take effect at once. [storage.call]
// simulates delayed and lost calls.
type lease struct {
	sim      *Sim
	observed bool // true for the lease that checks observes: the lease in the storage of most processes
	record   *memlease.Storage
	lease    *memlease.Lease
}

func newLease(s *Sim, observed bool) *lease {
	record := memlease.NewWithClock(s.scenario.lease, func() time.Time { return time.Unix(0, 0).Add(s.now) })
	return &lease{s, observed, record, record.Open(nil)}
}

func (l *lease) read() (election.Record, error) { return l.record.Record(), nil }

func (l *lease) acquire(claim election.Claim) (election.Record, error) {
	old := l.record.Record()
	r, err := l.lease.Acquire(context.Background(), claim)
	if err != nil || !l.observed {
		return r, err
	}
	if old.Held && old.LeaseID != claim.LeaseID {
		l.sim.checks.changed(old.Epoch)
	}
	l.sim.checks.acquired(r, l.sim.now+l.sim.scenario.lease)
	return r, nil
}

func (l *lease) renew(held election.Record) error {
	err := l.lease.Renew(context.Background(), held)
	if err == nil && l.observed {
		l.sim.checks.acquired(held, l.sim.now+l.sim.scenario.lease)
	}
	return err
}
