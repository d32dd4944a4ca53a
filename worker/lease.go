package worker

import (
	"context"

	"github.com/bellwether-compute/bellwether/election"
)

// leaseCalls are the names under which lease calls are counted, in the same metric as storage
// calls.
var leaseCalls = []string{"lease_read", "lease_acquire", "lease_renew", "lease_release", "lease_transfer"}

// countLease wraps a lease so that its calls are counted. After each call to the lease, the wrapper
// calls done with the call's name and error.
func countLease(lease election.Lease, done func(name string, err error)) election.Lease {
	c := countedLease{lease, done}
	if t, ok := lease.(election.Transferrer); ok {
		return countedTransferrer{c, t}
	}
	return c
}

type countedLease struct {
	election.Lease
	done func(name string, err error)
}

func (l countedLease) Read(ctx context.Context) (election.Record, error) {
	record, err := l.Lease.Read(ctx)
	l.done("lease_read", err)
	return record, err
}

func (l countedLease) Acquire(ctx context.Context, claim election.Claim) (election.Record, error) {
	record, err := l.Lease.Acquire(ctx, claim)
	l.done("lease_acquire", err)
	return record, err
}

func (l countedLease) Renew(ctx context.Context, held election.Record) error {
	err := l.Lease.Renew(ctx, held)
	l.done("lease_renew", err)
	return err
}

func (l countedLease) Release(ctx context.Context, held election.Record) error {
	err := l.Lease.Release(ctx, held)
	l.done("lease_release", err)
	return err
}

// countedTransferrer is a separate type, because only some leases have the method Transfer.
type countedTransferrer struct {
	countedLease
	transferrer election.Transferrer
}

func (l countedTransferrer) Transfer(ctx context.Context, held election.Record, leaseID string) error {
	err := l.transferrer.Transfer(ctx, held, leaseID)
	l.done("lease_transfer", err)
	return err
}
