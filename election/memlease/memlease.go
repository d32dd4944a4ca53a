package memlease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/election"
)

// Storage holds one lease's record.
type Storage struct {
	duration time.Duration
	now      func() time.Time

	mu      sync.Mutex
	record  election.Record
	expires time.Time
	calls   int
}

// New returns the storage of a lease that lasts for duration without a renewal.
func New(duration time.Duration) *Storage { return NewWithClock(duration, time.Now) }

// NewWithClock is like [New], but the lease expires according to the clock now.
func NewWithClock(duration time.Duration, now func() time.Time) *Storage {
	return &Storage{duration: duration, now: now}
}

// Record returns the current record. Calls of Record are not counted in [Storage.Calls].
func (s *Storage) Record() election.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current()
}

// Calls returns the number of calls to all Leases of s, including failed calls.
func (s *Storage) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *Storage) current() election.Record {
	r := s.record
	r.Held = r.Held && s.now().Before(s.expires)
	return r
}

// Call names a method of Lease.
type Call string

// The faults function of [Storage.Open] can inject a Fault into each of these calls.
const (
	Read     Call = "read"
	Acquire  Call = "acquire"
	Renew    Call = "renew"
	Release  Call = "release"
	Transfer Call = "transfer"
)

// Fault is a fault injected into a call. The zero Fault changes nothing.
type Fault struct {
	Delay  time.Duration // time until the call takes effect; the call has no effect if its context is done earlier
	Before error         // if set, the call has no effect and fails with this error
	Late   time.Duration // time from the effect to the answer; the answer is lost if the call's context is done earlier
	After  error         // if set, the call takes effect but fails with this error
}

// Lease is one process's access to a Storage.
type Lease struct {
	storage *Storage
	faults  func(Call) Fault
}

var (
	_ election.Lease       = (*Lease)(nil)
	_ election.Transferrer = (*Lease)(nil)
)

// Open returns a Lease for one process. If faults is not nil, it is called at each call of a
// method, in the goroutine of the call, and the returned Fault is applied to the call.
func (s *Storage) Open(faults func(Call) Fault) *Lease {
	if faults == nil {
		faults = func(Call) Fault { return Fault{} }
	}
	return &Lease{s, faults}
}

func (l *Lease) do(ctx context.Context, call Call, effect func(*Storage) error) error {
	l.storage.mu.Lock()
	l.storage.calls++
	l.storage.mu.Unlock()
	fault := l.faults(call)
	if err := sleep(ctx, fault.Delay); err != nil {
		return fmt.Errorf("%s lease: %w: %w", call, election.ErrUnavailable, err)
	}
	if fault.Before != nil {
		return fmt.Errorf("%s lease: %w", call, fault.Before)
	}
	l.storage.mu.Lock()
	err := effect(l.storage)
	l.storage.mu.Unlock()
	if late := sleep(ctx, fault.Late); late != nil {
		return fmt.Errorf("%s lease: %w: %w", call, election.ErrUnavailable, late)
	}
	if fault.After != nil {
		err = fault.After
	}
	if err != nil {
		return fmt.Errorf("%s lease: %w", call, err)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Lease) Read(ctx context.Context) (record election.Record, err error) {
	err = l.do(ctx, Read, func(s *Storage) error {
		record = s.current()
		return nil
	})
	return record, err
}

func (l *Lease) Acquire(ctx context.Context, claim election.Claim) (record election.Record, err error) {
	err = l.do(ctx, Acquire, func(s *Storage) error {
		now := s.current()
		switch {
		case now.Held && now.LeaseID == claim.LeaseID: // the claim repeats a successful claim
		case !now.Held || now.LeaseID == claim.Replaces:
			s.record = election.Record{Epoch: max(now.Epoch, claim.Above) + 1, Holder: claim.Holder, LeaseID: claim.LeaseID, Held: true}
		default:
			return election.ErrHeld
		}
		s.expires = s.now().Add(s.duration)
		record = s.record
		return nil
	})
	if err != nil {
		return election.Record{}, err
	}
	return record, nil
}

func (l *Lease) Renew(ctx context.Context, held election.Record) error {
	return l.do(ctx, Renew, func(s *Storage) error {
		if !s.heldAs(held) {
			return election.ErrLost
		}
		s.expires = s.now().Add(s.duration)
		return nil
	})
}

func (l *Lease) Release(ctx context.Context, held election.Record) error {
	return l.do(ctx, Release, func(s *Storage) error {
		if !s.heldAs(held) {
			return election.ErrLost
		}
		s.record.Held = false
		return nil
	})
}

func (l *Lease) Transfer(ctx context.Context, held election.Record, leaseID string) error {
	return l.do(ctx, Transfer, func(s *Storage) error {
		if !s.heldAs(held) {
			return election.ErrLost
		}
		s.record.LeaseID = leaseID
		return nil
	})
}

// heldAs reports whether the lease still has the epoch and lease ID of the record held. An expired lease may be
// renewed until another process has acquired it.
func (s *Storage) heldAs(held election.Record) bool {
	return s.record.Held && s.record.Epoch == held.Epoch && s.record.LeaseID == held.LeaseID
}
