package election

import (
	"context"

	"github.com/bellwether-compute/bellwether/election/machine"
)

// Record says which process holds the lease, or held it last. The zero Record means that the lease
// was never held. See [machine.Record] for the fields.
type Record = machine.Record

// Claim is one attempt to become the holder. See [machine.Claim] for the fields.
type Claim = machine.Claim

// Lease is a mutual exclusion record in storage. A Lease excludes other processes only for a
// limited time, so it merely decides which process tries to lead. Safety rests on the epoch, not on
// the Lease. Every call to a Lease returns within a bounded time: if storage does not answer in
// time, the call fails with ErrUnavailable.
type Lease interface {
	// Read returns the current record.
	Read(ctx context.Context) (Record, error)
	// Acquire makes the claimant the holder under the next epoch after the record's epoch and
	// claim.Above, or fails with ErrHeld. After
	// Acquire has returned, the record names the claimant. The lease's duration begins during the
	// call, not before it. A claimant that did not get the answer may repeat the claim, and then
	// gets the same epoch.
	Acquire(ctx context.Context, claim Claim) (Record, error)
	// Renew restarts the lease's duration, or fails with ErrLost.
	Renew(ctx context.Context, held Record) error
	// Release frees the lease and keeps the record, so that epochs keep growing. It fails with
	// ErrLost if the lease was lost.
	Release(ctx context.Context, held Record) error
}

// Transferrer is an optional interface of a [Lease] that its holder can transfer to another process
// without releasing it first.
type Transferrer interface {
	// Transfer changes the lease's ID: the process that claims with Replaces set to the new ID gets
	// the lease. After Transfer, the record has the same epoch and holder and the new lease ID. The
	// former holder can no longer renew the lease, but can release it under the new ID.
	Transfer(ctx context.Context, held Record, leaseID string) error
}
