package leasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/election"
)

// Driver describes a driver under test.
type Driver struct {
	// Duration is how long leases last in cases that wait until a lease expires.
	Duration time.Duration
	// Long is how long leases last in the other cases. A driver whose calls may take a part of the
	// duration sets a long one, so that these cases pass on a busy machine.
	Long time.Duration
	// New creates a lease that was never held, and returns a function that opens this lease. Each
	// call of the returned function represents another process that opens the lease.
	New func(t *testing.T, duration time.Duration) func() election.Lease
}

// Case tests one property that every driver must have. Run skips a case for an optional method that
// the driver lacks.
type Case struct {
	Name string
	Run  func(t *testing.T, driver Driver)
}

// Run runs all cases in parallel. A test that cannot run cases in parallel, for example under
// testing/synctest, loops over [Cases] instead.
func Run(t *testing.T, driver Driver) {
	for _, c := range Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, driver)
		})
	}
}

var Cases = []Case{
	{"a lease never held is free", neverHeld},
	{"a held lease is held", held},
	{"a claim that replaces the holder succeeds", takeover},
	{"a late claim fails", lateClaim},
	{"the same claim again gets the same epoch", sameClaim},
	{"a released lease is free and its epochs continue", released},
	{"a former holder has lost the lease", lost},
	{"an unrenewed lease expires", expires},
	{"an expired lease that was acquired again is lost", expiredLost},
	{"a renewed lease does not expire", renewed},
	{"only one claim can replace a transferred lease ID", transferred},
	{"a transferred lease can be released", transferredReleased},
	{"a transferred lease expires", transferredExpires},
	{"one of many claims succeeds", race},
	{"no two holders get the same epoch", churn},
	{"a call ends with its context", cancelled},
}

// party is a process that uses the lease.
type party struct {
	t     *testing.T
	lease election.Lease
	name  string
}

var leaseIDs struct {
	sync.Mutex
	n uint64
}

// newLeaseID returns a UUID that this process has not used before.
func newLeaseID() string {
	leaseIDs.Lock()
	defer leaseIDs.Unlock()
	leaseIDs.n++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", time.Now().Unix()&0xffffffff, leaseIDs.n)
}

func (p party) claim(over string) election.Claim {
	return election.Claim{Holder: p.name, LeaseID: newLeaseID(), Replaces: over}
}

func (p party) mustAcquire(over string) election.Record {
	p.t.Helper()
	claim := p.claim(over)
	record, err := p.lease.Acquire(p.t.Context(), claim)
	if err != nil {
		p.t.Fatalf("%s acquires in place of %q: %v", p.name, over, err)
	}
	p.mustBe(record, election.Record{Epoch: record.Epoch, Holder: p.name, LeaseID: claim.LeaseID, Held: true})
	return record
}

func (p party) mustNotAcquire(over string) {
	p.t.Helper()
	if record, err := p.lease.Acquire(p.t.Context(), p.claim(over)); !errors.Is(err, election.ErrHeld) {
		p.t.Fatalf("%s acquires in place of %q: got %+v, %v; want ErrHeld", p.name, over, record, err)
	}
}

func (p party) mustRead(want election.Record) {
	p.t.Helper()
	record, err := p.lease.Read(p.t.Context())
	if err != nil {
		p.t.Fatalf("%s reads: %v", p.name, err)
	}
	p.mustBe(record, want)
}

func (p party) mustBe(got, want election.Record) {
	p.t.Helper()
	if got != want {
		p.t.Fatalf("record of %s: got %+v, want %+v", p.name, got, want)
	}
}

func (p party) must(err, want error) {
	p.t.Helper()
	if !errors.Is(err, want) {
		p.t.Fatalf("%s: got error %v, want %v", p.name, err, want)
	}
}

// parties creates a lease of this duration and opens the lease as three processes would.
func parties(t *testing.T, driver Driver, duration time.Duration) (a, b, c party) {
	open := driver.New(t, duration)
	return party{t, open(), "worker-a"}, party{t, open(), "worker-b"}, party{t, open(), "worker-c"}
}

func neverHeld(t *testing.T, driver Driver) {
	a, b, _ := parties(t, driver, driver.Long)
	a.mustRead(election.Record{})
	record := b.mustAcquire("")
	if record.Epoch != 1 {
		t.Fatalf("the first epoch is %d, want 1", record.Epoch)
	}
	a.mustRead(record)
	b.mustRead(record)
}

func held(t *testing.T, driver Driver) {
	a, b, c := parties(t, driver, driver.Long)
	record := a.mustAcquire("")
	b.mustNotAcquire("")
	b.mustNotAcquire(newLeaseID())
	a.mustNotAcquire("")
	c.mustRead(record)
	a.must(a.lease.Renew(t.Context(), record), nil)
}

func takeover(t *testing.T, driver Driver) {
	a, b, c := parties(t, driver, driver.Long)
	first := a.mustAcquire("")
	second := b.mustAcquire(first.LeaseID)
	if second.Epoch != first.Epoch+1 {
		t.Fatalf("epoch %d follows %d", second.Epoch, first.Epoch)
	}
	c.mustRead(second)
	b.must(b.lease.Renew(t.Context(), second), nil)
	above, err := c.lease.Acquire(t.Context(), election.Claim{Holder: "above", LeaseID: newLeaseID(), Replaces: second.LeaseID, Above: 70})
	if err != nil || above.Epoch != 71 {
		t.Fatalf("claim above epoch 70: %+v, %v", above, err)
	}
	c.must(c.lease.Renew(t.Context(), above), nil)
}

func lateClaim(t *testing.T, driver Driver) {
	a, b, c := parties(t, driver, driver.Long)
	first := a.mustAcquire("")
	second := b.mustAcquire(first.LeaseID)
	c.mustNotAcquire(first.LeaseID)
	a.mustNotAcquire(first.LeaseID)
	c.mustRead(second)
}

func sameClaim(t *testing.T, driver Driver) {
	a, b, _ := parties(t, driver, driver.Long)
	claim := a.claim("")
	for i := range 2 {
		record, err := a.lease.Acquire(t.Context(), claim)
		a.must(err, nil)
		if record.Epoch != 1 {
			t.Fatalf("attempt %d got epoch %d, want 1", i+1, record.Epoch)
		}
	}
	b.mustAcquire(claim.LeaseID)
	if _, err := a.lease.Acquire(t.Context(), claim); !errors.Is(err, election.ErrHeld) {
		t.Fatalf("claim of a former holder: got error %v, want ErrHeld", err)
	}
}

func released(t *testing.T, driver Driver) {
	a, b, c := parties(t, driver, driver.Long)
	first := a.mustAcquire("")
	a.must(a.lease.Release(t.Context(), first), nil)
	record, err := c.lease.Read(t.Context())
	c.must(err, nil)
	if record.Held || record.Epoch != first.Epoch {
		t.Fatalf("record of the released lease: %+v", record)
	}
	second := b.mustAcquire("")
	if second.Epoch != 2 {
		t.Fatalf("the second epoch is %d", second.Epoch)
	}
	b.must(b.lease.Release(t.Context(), second), nil)
	// A process that believes that the first holder is dead can acquire the lease, because it is
	// free.
	if third := c.mustAcquire(first.LeaseID); third.Epoch != 3 {
		t.Fatalf("the third epoch is %d", third.Epoch)
	}
}

func lost(t *testing.T, driver Driver) {
	a, b, c := parties(t, driver, driver.Long)
	first := a.mustAcquire("")
	second := b.mustAcquire(first.LeaseID)
	for range 2 { // a second attempt must fail too
		a.must(a.lease.Renew(t.Context(), first), election.ErrLost)
		a.must(a.lease.Release(t.Context(), first), election.ErrLost)
		if to, ok := a.lease.(election.Transferrer); ok {
			a.must(to.Transfer(t.Context(), first, newLeaseID()), election.ErrLost)
		}
	}
	c.mustRead(second)
	b.must(b.lease.Release(t.Context(), second), nil)
	a.must(a.lease.Renew(t.Context(), first), election.ErrLost)
	b.must(b.lease.Renew(t.Context(), second), election.ErrLost)
}

// waitFree repeats a claim that replaces no holder until the lease is free. It fails the test if a
// claim succeeds before the lease's duration has passed since the time begun.
func (p party) waitFree(driver Driver, begun time.Time) election.Record {
	p.t.Helper()
	for {
		record, err := p.lease.Acquire(p.t.Context(), p.claim(""))
		took := time.Since(begun)
		switch {
		case err == nil && took < driver.Duration:
			p.t.Fatalf("the lease of %v was free after only %v", driver.Duration, took)
		case err == nil:
			return record
		case !errors.Is(err, election.ErrHeld):
			p.t.Fatal(err)
		case took > 5*driver.Duration:
			p.t.Fatalf("the lease of %v is still held after %v", driver.Duration, took)
		}
		time.Sleep(driver.Duration / 10)
	}
}

func expires(t *testing.T, driver Driver) {
	a, b, _ := parties(t, driver, driver.Duration)
	begun := time.Now()
	a.mustAcquire("")
	if second := b.waitFree(driver, begun); second.Epoch != 2 {
		t.Fatalf("the epoch after expiry is %d, want 2", second.Epoch)
	}
}

func expiredLost(t *testing.T, driver Driver) {
	a, b, _ := parties(t, driver, driver.Duration)
	begun := time.Now()
	first := a.mustAcquire("")
	second := b.waitFree(driver, begun)
	a.must(a.lease.Renew(t.Context(), first), election.ErrLost)
	a.must(a.lease.Release(t.Context(), first), election.ErrLost)
	a.mustNotAcquire(first.LeaseID)
	b.must(b.lease.Renew(t.Context(), second), nil)
}

func renewed(t *testing.T, driver Driver) {
	a, b, _ := parties(t, driver, driver.Duration)
	sent := time.Now()
	record := a.mustAcquire("")
	for end := sent.Add(5 * driver.Duration / 2); time.Now().Before(end); {
		time.Sleep(driver.Duration / 8)
		_, err := b.lease.Acquire(t.Context(), b.claim(""))
		if since := time.Since(sent); since >= driver.Duration {
			t.Skipf("this machine took %v between two renewals of a lease that lasts %v", since, driver.Duration)
		}
		b.must(err, election.ErrHeld)
		sent = time.Now()
		a.must(a.lease.Renew(t.Context(), record), nil)
	}
}

func transferrer(p party) election.Transferrer {
	p.t.Helper()
	to, ok := p.lease.(election.Transferrer)
	if !ok {
		p.t.Skip("the driver cannot transfer")
	}
	return to
}

func transferred(t *testing.T, driver Driver) {
	a, b, c := parties(t, driver, driver.Long)
	first, id := a.mustAcquire(""), newLeaseID()
	a.must(transferrer(a).Transfer(t.Context(), first, id), nil)
	c.mustRead(election.Record{Epoch: first.Epoch, Holder: first.Holder, LeaseID: id, Held: true})
	a.must(a.lease.Renew(t.Context(), first), election.ErrLost)
	c.mustNotAcquire("")
	c.mustNotAcquire(first.LeaseID)
	if second := b.mustAcquire(id); second.Epoch != first.Epoch+1 {
		t.Fatalf("epoch %d follows %d", second.Epoch, first.Epoch)
	}
	c.mustNotAcquire(id)
}

func transferredReleased(t *testing.T, driver Driver) {
	a, b, _ := parties(t, driver, driver.Long)
	record, id := a.mustAcquire(""), newLeaseID()
	a.must(transferrer(a).Transfer(t.Context(), record, id), nil)
	record.LeaseID = id
	a.must(a.lease.Release(t.Context(), record), nil)
	b.mustAcquire("")
}

func transferredExpires(t *testing.T, driver Driver) {
	a, b, _ := parties(t, driver, driver.Duration)
	record := a.mustAcquire("")
	a.must(transferrer(a).Transfer(t.Context(), record, newLeaseID()), nil)
	for begun := time.Now(); ; time.Sleep(driver.Duration / 10) {
		if _, err := b.lease.Acquire(t.Context(), b.claim("")); err == nil {
			return
		}
		if took := time.Since(begun); took > 5*driver.Duration {
			t.Fatalf("the transferred lease of %v is held after %v", driver.Duration, took)
		}
	}
}

func race(t *testing.T, driver Driver) {
	open := driver.New(t, driver.Long)
	over := ""
	for round := range 3 {
		var wait sync.WaitGroup
		records := make([]election.Record, 8)
		errs := make([]error, len(records))
		for i := range records {
			p := party{t, open(), fmt.Sprintf("worker-%d", i)}
			wait.Go(func() { records[i], errs[i] = p.lease.Acquire(t.Context(), p.claim(over)) })
		}
		wait.Wait()
		over = ""
		for i, err := range errs {
			switch {
			case err == nil && over != "":
				t.Fatal("two claims succeeded")
			case err == nil && records[i].Epoch != uint64(round+1):
				t.Fatalf("round %d got epoch %d", round+1, records[i].Epoch)
			case err == nil:
				over = records[i].LeaseID
			case !errors.Is(err, election.ErrHeld):
				t.Fatalf("refused claim: got error %v, want ErrHeld", err)
			}
		}
		if over == "" {
			t.Fatal("no claim succeeded")
		}
	}
}

func churn(t *testing.T, driver Driver) {
	open := driver.New(t, driver.Long)
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		epochs []uint64
	)
	for i := range 4 {
		p := party{t, open(), fmt.Sprintf("worker-%d", i)}
		wait.Go(func() {
			for range 10 {
				record, err := p.lease.Acquire(t.Context(), p.claim(""))
				if errors.Is(err, election.ErrHeld) {
					continue
				}
				if err == nil {
					err = p.lease.Release(t.Context(), record)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				epochs = append(epochs, record.Epoch)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	slices.Sort(epochs)
	for i, epoch := range epochs {
		if epoch != uint64(i+1) {
			t.Fatalf("epochs %v: want every number from 1 exactly once", epochs)
		}
	}
}

func cancelled(t *testing.T, driver Driver) {
	a, b, _ := parties(t, driver, driver.Long)
	record := a.mustAcquire("")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.lease.Read(ctx); err == nil {
		t.Error("Read with a done context succeeded")
	}
	if _, err := b.lease.Acquire(ctx, b.claim(record.LeaseID)); err == nil || errors.Is(err, election.ErrHeld) {
		t.Errorf("Acquire with a done context: got error %v", err)
	}
	if err := a.lease.Renew(ctx, record); err == nil || errors.Is(err, election.ErrLost) {
		t.Errorf("Renew with a done context: got error %v", err)
	}
	if err := a.lease.Release(ctx, record); err == nil || errors.Is(err, election.ErrLost) {
		t.Errorf("Release with a done context: got error %v", err)
	}
	a.must(a.lease.Renew(t.Context(), record), nil)
	b.mustRead(record)
}
