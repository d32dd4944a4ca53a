package kvlease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/election"
)

// bucket is the part of jetstream.KeyValue that a lease needs.
type bucket interface {
	Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error)
	Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// Lease is one process's access to a lease.
type Lease struct {
	open        func(context.Context) (bucket, error) // opens the bucket, and creates it if it is missing
	key         string
	duration    time.Duration
	callTimeout time.Duration

	mu     sync.Mutex
	bucket bucket
	last   observation
}

// observation is the record as this process last read or wrote it.
type observation struct {
	record   election.Record // the record; Held is true if the lease was not released, even if it may have expired
	revision uint64          // revision of the record; 0 if there was no record
	since    time.Time       // time at which this process first saw the record with this revision
}

var (
	_ election.Lease       = (*Lease)(nil)
	_ election.Transferrer = (*Lease)(nil)
)

func newLease(b bucket, cfg Config) *Lease {
	return &Lease{bucket: b, key: cfg.Key, duration: cfg.Duration, callTimeout: cfg.CallTimeout}
}

// errConflict means that the record does not have the expected revision.
var errConflict = errors.New("another process wrote the record")

// Read returns the current record. Record.Held is false if the lease was released, or if this
// process has seen the same revision for the lease's duration.
func (l *Lease) Read(ctx context.Context) (election.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, l.callTimeout)
	defer cancel()
	seen, err := l.read(ctx)
	if err != nil {
		return election.Record{}, fmt.Errorf("read lease: %w", err)
	}
	record := seen.record
	record.Held = record.Held && !l.expired(seen)
	return record, nil
}

// Acquire makes the claimant the holder, or fails with ErrHeld.
func (l *Lease) Acquire(ctx context.Context, claim election.Claim) (election.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, l.callTimeout)
	defer cancel()
	// A conflict means that another process has written the record, or that an earlier write of
	// this process succeeded and its answer was lost. The next read shows which process wrote the
	// record.
	for {
		seen, err := l.read(ctx)
		if errors.Is(err, nats.ErrNoResponders) {
			seen, err = l.readReopened(ctx, err)
		}
		if err != nil {
			return election.Record{}, fmt.Errorf("acquire lease: %w", err)
		}
		now := seen.record
		next := election.Record{Epoch: max(now.Epoch, claim.Above) + 1, Holder: claim.Holder, LeaseID: claim.LeaseID, Held: true}
		switch {
		case now.Held && now.LeaseID == claim.LeaseID:
			next = now // an earlier try of the same claim has succeeded
		case now.Held && now.LeaseID != claim.Replaces && !l.expired(seen):
			return election.Record{}, fmt.Errorf("acquire lease: %w by %s in epoch %d", election.ErrHeld, now.Holder, now.Epoch)
		}
		err = l.write(ctx, next, seen.revision)
		if err == nil {
			return next, nil
		}
		if !errors.Is(err, errConflict) {
			return election.Record{}, fmt.Errorf("acquire lease: %w", err)
		}
	}
}

// readReopened opens the bucket and reads the record. It creates the bucket if the server has lost
// it. If the bucket cannot be opened, it returns missing, the error of the last read.
func (l *Lease) readReopened(ctx context.Context, missing error) (observation, error) {
	b, err := l.open(ctx)
	if err != nil {
		return observation{}, fmt.Errorf("%w; open the bucket: %w", missing, err)
	}
	l.mu.Lock()
	l.bucket = b
	l.mu.Unlock()
	return l.read(ctx)
}

// Renew restarts the lease's duration, or fails with ErrLost.
func (l *Lease) Renew(ctx context.Context, held election.Record) error {
	held.Held = true
	if err := l.swap(ctx, held, held); err != nil {
		return fmt.Errorf("renew lease: %w", err)
	}
	return nil
}

// Release frees the lease, or fails with ErrLost.
func (l *Lease) Release(ctx context.Context, held election.Record) error {
	free := held
	free.Held = false
	if err := l.swap(ctx, held, free); err != nil {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}

// Transfer changes the lease ID, or fails with ErrLost.
func (l *Lease) Transfer(ctx context.Context, held election.Record, leaseID string) error {
	next := held
	next.LeaseID, next.Held = leaseID, true
	if err := l.swap(ctx, held, next); err != nil {
		return fmt.Errorf("transfer lease: %w", err)
	}
	return nil
}

// swap replaces the record held with the record next. It reads the record first only if the
// revision is unknown, or after a conflict.
func (l *Lease) swap(ctx context.Context, held, next election.Record) error {
	ctx, cancel := context.WithTimeout(ctx, l.callTimeout)
	defer cancel()
	var err error
	seen := l.known()
	if !isHeldAs(seen.record, held) {
		if seen, err = l.read(ctx); err != nil {
			return err
		}
	}
	for {
		switch {
		case isHeldAs(seen.record, held):
		case next != held && seen.record == next:
			return nil // an earlier write has succeeded, but its answer was lost
		default:
			return election.ErrLost
		}
		if err = l.write(ctx, next, seen.revision); !errors.Is(err, errConflict) {
			return err
		}
		if seen, err = l.read(ctx); err != nil {
			return err
		}
	}
}

// isHeldAs reports whether the stored record still has the epoch and lease ID of the record held.
func isHeldAs(now, held election.Record) bool {
	return now.Held && now.Epoch == held.Epoch && now.LeaseID == held.LeaseID
}

// expired reports whether this process has seen the same revision for the lease's
// duration.
func (l *Lease) expired(seen observation) bool {
	return seen.revision != 0 && time.Since(seen.since) >= l.duration
}

func (l *Lease) opened() bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bucket
}

func (l *Lease) known() observation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// observe stores a record and its revision. It keeps the time at which the record was first seen with this
// revision. A bucket that a server has lost begins again with revision 1, so an equal revision may belong to
// another record.
func (l *Lease) observe(record election.Record, revision uint64) observation {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if revision != l.last.revision || record != l.last.record {
		l.last = observation{record, revision, now}
	}
	return l.last
}

// read returns the record, or the zero Record if the key does not exist.
func (l *Lease) read(ctx context.Context) (observation, error) {
	entry, err := l.opened().Get(ctx, l.key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return l.observe(election.Record{}, 0), nil
	}
	if err != nil {
		return observation{}, unavailable(err)
	}
	record, err := decode(entry.Value())
	if err != nil {
		return observation{}, fmt.Errorf("revision %d: %w", entry.Revision(), err)
	}
	return l.observe(record, entry.Revision()), nil
}

// write replaces the record if the record has the given revision, or fails with errConflict.
func (l *Lease) write(ctx context.Context, record election.Record, revision uint64) error {
	var err error
	if revision == 0 {
		revision, err = l.opened().Create(ctx, l.key, encode(record))
	} else {
		revision, err = l.opened().Update(ctx, l.key, encode(record), revision)
	}
	switch {
	case err == nil:
		l.observe(record, revision)
		return nil
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return fmt.Errorf("%w: %w", errConflict, err)
	default:
		return unavailable(err)
	}
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", election.ErrUnavailable, err) }
