package cli

import (
	"context"
	"errors"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// leaseCalls are the names of a lease's calls, beside those of storage.
var leaseCalls = []string{"lease_read", "lease_acquire", "lease_renew", "lease_release", "lease_transfer"}

// observeLease has a function told of each call to the lease.
func observeLease(lease election.Lease, observe func(store.Call)) election.Lease {
	o := observedLease{lease, observe}
	if t, ok := lease.(election.Transferrer); ok {
		return observedTransferrer{o, t}
	}
	return o
}

type observedLease struct {
	election.Lease
	observe func(store.Call)
}

func (l observedLease) tell(name string, err error) {
	if errors.Is(err, election.ErrHeld) || errors.Is(err, election.ErrLost) {
		err = errors.Join(err, store.ErrConflict) // a race that another has won
	}
	l.observe(store.Call{Name: name, Kind: "lease", Err: err})
}

func (l observedLease) Read(ctx context.Context) (election.Record, error) {
	record, err := l.Lease.Read(ctx)
	l.tell("lease_read", err)
	return record, err
}

func (l observedLease) Acquire(ctx context.Context, claim election.Claim) (election.Record, error) {
	record, err := l.Lease.Acquire(ctx, claim)
	l.tell("lease_acquire", err)
	return record, err
}

func (l observedLease) Renew(ctx context.Context, held election.Record) error {
	err := l.Lease.Renew(ctx, held)
	l.tell("lease_renew", err)
	return err
}

func (l observedLease) Release(ctx context.Context, held election.Record) error {
	err := l.Lease.Release(ctx, held)
	l.tell("lease_release", err)
	return err
}

type observedTransferrer struct {
	observedLease
	transferrer election.Transferrer
}

func (l observedTransferrer) Transfer(ctx context.Context, held election.Record, leaseID string) error {
	err := l.transferrer.Transfer(ctx, held, leaseID)
	l.tell("lease_transfer", err)
	return err
}
