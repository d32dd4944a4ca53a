package election

import "context"

// Lease is a mutual exclusion record in storage. It excludes by time, and so
// only decides who tries; what must never go wrong rests on the epoch. Every
// call returns within a bounded time, with ErrUnavailable if it must.
type Lease interface {
	// Read returns the record as it is.
	Read(ctx context.Context) (Record, error)
	// Acquire makes the claimant the holder under the next epoch, or fails with
	// ErrHeld. Once it returns, the record says so, and the lease's duration has
	// started no earlier than the call. The same claim again, by a claimant that
	// did not hear the answer, gets the same epoch.
	Acquire(ctx context.Context, claim Claim) (Record, error)
	// Renew starts the lease's duration anew, or fails with ErrLost.
	Renew(ctx context.Context, held Record) error
	// Release frees the lease and keeps the record, so that epochs go on growing.
	// It fails with ErrLost where the lease is somebody else's by now.
	Release(ctx context.Context, held Record) error
}

// Transferrer is a Lease that a holder can pass on without a gap.
type Transferrer interface {
	// Transfer changes the lease to another lease ID: who claims over that ID gets
	// it. The record keeps its epoch and holder and has the new lease ID. The
	// former holder can no longer renew, but can still release under the new ID.
	Transfer(ctx context.Context, held Record, leaseID string) error
}
