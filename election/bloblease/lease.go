package bloblease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	azlease "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Lease is one process's access to a lease.
type Lease struct {
	cfg       Config
	account   *account.Account
	container *container.Client
	blob      *blockblob.Client

	mu   sync.Mutex
	last observation
	mine string // lease ID under which this process last held the lease
	gone string // lease ID that the last claim with a failed Change Lease replaced
}

// observation is the record as this process last read or wrote it.
type observation struct {
	record election.Record // the record; Held says whether the blob was leased at that time
	etag   azcore.ETag     // ETag of the blob; empty if the record was never read
}

var (
	_ election.Lease       = (*Lease)(nil)
	_ election.Transferrer = (*Lease)(nil)
)

// Read returns the current record.
func (l *Lease) Read(ctx context.Context) (election.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
	defer cancel()
	seen, err := l.read(ctx)
	if isCode(err, noBlob) {
		if err = l.create(ctx, err); err == nil {
			seen, err = l.read(ctx)
		}
	}
	if err != nil {
		return election.Record{}, l.failed("read lease", err)
	}
	return seen.record, nil
}

// Acquire makes the claimant the holder, or fails with ErrHeld.
func (l *Lease) Acquire(ctx context.Context, claim election.Claim) (election.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
	defer cancel()
	etag, err := l.take(ctx, claim)
	if isCode(err, noBlob) {
		if err = l.create(ctx, err); err == nil {
			etag, err = l.take(ctx, claim)
		}
	}
	if err != nil {
		return election.Record{}, l.failed("acquire lease", err)
	}
	record, err := l.enter(ctx, claim, etag)
	if err != nil {
		return election.Record{}, l.failed("write record of acquired lease", err)
	}
	return record, nil
}

// take acquires the blob's lease under the claim's ID and returns the record's ETag. It skips
// Change Lease if an earlier call for the same claim has already got the lease. If storage is too
// slow for all steps within one call, the claim therefore succeeds after several calls.
func (l *Lease) take(ctx context.Context, claim election.Claim) (azcore.ETag, error) {
	own, err := l.leaseAs(claim.LeaseID)
	if err != nil {
		return "", err
	}
	if claim.Replaces != "" && !l.had(claim.LeaseID) {
		switch err := l.change(ctx, claim.Replaces, claim.LeaseID); {
		case err == nil:
			l.has(claim.LeaseID)
		case isCode(err, otherHolder) && l.firstRefusal(claim.Replaces):
			return "", fmt.Errorf("%w: %s", election.ErrHeld, account.Code(err))
		case !isCode(err, notHolder):
			return "", err
		}
		// If the lease is free, AcquireLease succeeds. The lease is probably free if two claims in a
		// row could not replace the same ID.
	}
	answer, err := own.AcquireLease(ctx, int32(l.cfg.Duration/time.Second), nil)
	switch {
	case isCode(err, heldByAnother):
		return "", fmt.Errorf("%w: %s", election.ErrHeld, account.Code(err))
	case err != nil:
		return "", err
	}
	l.has(claim.LeaseID)
	return *answer.ETag, nil
}

// enter writes the claimant into the record, as the holder of the next epoch. The claimant must
// have acquired the blob's lease before enter is called. If the ETag of the known record differs
// from the parameter etag, enter reads the record first.
func (l *Lease) enter(ctx context.Context, claim election.Claim, etag azcore.ETag) (election.Record, error) {
	seen := l.known()
	for {
		if seen.etag == "" || seen.etag != etag {
			var err error
			if seen, err = l.read(ctx); err != nil {
				return election.Record{}, err
			}
		}
		record := election.Record{Epoch: max(seen.record.Epoch, claim.Above) + 1, Holder: claim.Holder, LeaseID: claim.LeaseID, Held: true}
		if seen.record.LeaseID == claim.LeaseID { // an earlier try has already written the record
			record.Epoch = seen.record.Epoch
			return record, nil
		}
		err := l.write(ctx, record, claim.LeaseID, seen.etag)
		switch {
		case isCode(err, notHolder):
			return election.Record{}, fmt.Errorf("%w: another process took the lease over (%s)", election.ErrHeld, account.Code(err))
		case !isCode(err, conflict):
			return record, err
		}
		// Read the record again: the previous holder wrote it just before the lease changed hands,
		// or an earlier try of this write succeeded.
		etag = ""
	}
}

// Renew restarts the lease's duration, or fails with ErrLost.
func (l *Lease) Renew(ctx context.Context, held election.Record) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
	defer cancel()
	own, err := l.leaseAs(held.LeaseID)
	if err != nil {
		return l.failed("renew lease", err)
	}
	answer, err := own.RenewLease(ctx, nil)
	switch {
	case isCode(err, notHolder), isCode(err, noBlob):
		return fmt.Errorf("renew lease: %w: %s", election.ErrLost, account.Code(err))
	case err != nil:
		return l.failed("renew lease", err)
	case answer.LeaseID == nil || *answer.LeaseID != held.LeaseID:
		return fmt.Errorf("renew lease: %w: storage renewed another lease ID", election.ErrLost)
	}
	return nil
}

// Release frees the lease, or fails with ErrLost.
func (l *Lease) Release(ctx context.Context, held election.Record) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
	defer cancel()
	if err := l.release(ctx, held); err != nil {
		return l.failed("release lease", err)
	}
	return nil
}

func (l *Lease) release(ctx context.Context, held election.Record) error {
	own, err := l.leaseAs(held.LeaseID)
	if err != nil {
		return err
	}
	_, err = own.ReleaseLease(ctx, nil)
	switch {
	case isCode(err, noBlob):
		return election.ErrLost
	case !isCode(err, notHolder):
		return err
	}
	// If an earlier try has released the lease, the record is unchanged.
	seen, err := l.read(ctx)
	switch {
	case err != nil:
		return err
	case seen.record.Held || seen.record.LeaseID != held.LeaseID:
		return election.ErrLost
	}
	return nil
}

// Transfer changes the lease ID, or fails with ErrLost.
func (l *Lease) Transfer(ctx context.Context, held election.Record, leaseID string) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
	defer cancel()
	if err := l.transfer(ctx, held, leaseID); err != nil {
		return l.failed("transfer lease", err)
	}
	return nil
}

func (l *Lease) transfer(ctx context.Context, held election.Record, leaseID string) error {
	next := held
	next.LeaseID, next.Held = leaseID, true
	for seen := l.known(); ; {
		err := l.write(ctx, next, held.LeaseID, seen.etag)
		switch {
		case err == nil:
			return l.pass(ctx, held, leaseID)
		case isCode(err, noBlob):
			return election.ErrLost
		case isCode(err, notHolder): // an earlier try may have already changed the lease ID
			return l.pass(ctx, held, leaseID)
		case !isCode(err, conflict):
			return err
		}
		if seen, err = l.read(ctx); err != nil {
			return err
		}
		switch {
		case seen.record.Epoch != held.Epoch:
			return election.ErrLost
		case seen.record.LeaseID == leaseID: // an earlier try has already written the record
			return l.pass(ctx, held, leaseID)
		}
	}
}

// pass changes the lease's ID. It also succeeds if an earlier try has already changed the ID.
func (l *Lease) pass(ctx context.Context, held election.Record, leaseID string) error {
	err := l.change(ctx, held.LeaseID, leaseID)
	if isCode(err, notHolder) {
		return fmt.Errorf("%w: %s", election.ErrLost, account.Code(err))
	}
	return err
}

func (l *Lease) change(ctx context.Context, from, to string) error {
	lease, err := l.leaseAs(from)
	if err != nil {
		return err
	}
	_, err = lease.ChangeLease(ctx, to, nil)
	return err
}

func (l *Lease) leaseAs(id string) (*azlease.BlobClient, error) {
	return azlease.NewBlobClient(l.blob, &azlease.BlobClientOptions{LeaseID: &id})
}

func (l *Lease) known() observation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *Lease) has(leaseID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mine = leaseID
}

func (l *Lease) had(leaseID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mine == leaseID
}

// firstRefusal records that a claim to replace the lease ID over was refused. It reports whether
// the previous refused claim was for another ID.
func (l *Lease) firstRefusal(over string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.gone != over
	l.gone = over
	return first
}

func (l *Lease) observe(seen observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = seen
}

// failed adds a description of the call to the call's error. It wraps ErrUnavailable unless the
// error proves that the call had no effect.
func (l *Lease) failed(doing string, err error) error {
	for _, known := range []error{election.ErrHeld, election.ErrLost, errFormat} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	return fmt.Errorf("%s: %w: %w", doing, election.ErrUnavailable, l.account.Explain(err))
}
