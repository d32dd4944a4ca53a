package election

import (
	"context"
	"errors"
)

// Errors that lease drivers return, wrapped, whatever their SDK calls them.
var (
	// ErrHeld: somebody else holds the lease, and not the holder the claim names.
	ErrHeld = errors.New("lease is held")
	// ErrLost: the lease is no longer this holder's. It never comes back.
	ErrLost = errors.New("lease is lost")
	// ErrUnavailable: storage cannot be reached or refuses for now. What was asked
	// may have happened all the same.
	ErrUnavailable = errors.New("lease storage unavailable")
)

// Record says who holds the lease, or held it last. The zero Record is that of a
// lease never held.
type Record struct {
	Epoch   uint64 // of the holder; grows by one with each
	Holder  string // the worker's ID
	LeaseID string // a UUID, fresh for each holder's attempt
	Held    bool   // false once it is released or known to have expired
}

// Claim is one attempt to become the holder.
type Claim struct {
	Holder  string
	LeaseID string // a UUID, fresh; the same again only to retry the very same attempt
	// Over is the lease ID of a holder believed dead, or one that was transferred
	// to the claimant. A lease that is held changes hands only if it still has that
	// ID. Empty: take the lease only where it is free or has expired.
	Over string
}

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
