package election_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/memlease"
)

// holders are processes that compete for one lease without peers, in a synctest bubble.
type holders struct {
	t       *testing.T
	storage *memlease.Storage
	running sync.WaitGroup

	mu      sync.Mutex
	holding string // process whose work is running
	last    string // process that held the lease last
	changes int
}

// join starts a process that works until it is stopped or loses the lease. The parameter fault
// injects faults into the process's calls to storage.
func (h *holders) join(ctx context.Context, id string, fault func(memlease.Call) memlease.Fault) {
	h.running.Go(func() {
		cfg := election.Config{ID: id, Duration: duration}
		err := election.Hold(ctx, h.storage.Open(fault), nil, cfg, func(ctx context.Context, term *election.Term) error {
			h.enter(id)
			defer h.leave()
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			h.t.Errorf("%s: Hold returned %v", id, err)
		}
	})
}

func (h *holders) enter(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holding != "" {
		h.t.Errorf("%s holds the lease together with %s", id, h.holding)
	}
	h.holding, h.last = id, id
	h.changes++
}

func (h *holders) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = ""
}

// await waits until a process other than the given process holds the lease.
func (h *holders) await(other string, within time.Duration) (id string) {
	h.t.Helper()
	for start := time.Now(); time.Since(start) < within; time.Sleep(latency) {
		h.mu.Lock()
		id := h.holding
		h.mu.Unlock()
		if id != "" && id != other {
			return id
		}
	}
	h.t.Fatalf("no other process than %q holds the lease within %v", other, within)
	return ""
}

// TestHoldWithoutPeers lets five processes hold the lease in turn: the holder stops, or is cut off
// from storage.
func TestHoldWithoutPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &holders{t: t, storage: memlease.New(duration)}
		defer h.running.Wait()
		stops, cutOff := map[string]context.CancelFunc{}, map[string]bool{}
		for i := range 5 {
			id := fmt.Sprintf("worker-%d", i)
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			stops[id] = stop
			h.join(ctx, id, func(memlease.Call) memlease.Fault {
				h.mu.Lock()
				defer h.mu.Unlock()
				if cutOff[id] {
					return memlease.Fault{Delay: time.Hour}
				}
				return memlease.Fault{Delay: latency}
			})
		}
		first := h.await("", time.Second)
		calls := h.storage.Calls()
		time.Sleep(5 * time.Minute)
		if made := h.storage.Calls() - calls; made > 5*60*5 {
			t.Errorf("%d calls to storage within 5 minutes", made)
		}

		stops[first]()
		second := h.await(first, 3*time.Second) // until one of four processes reads the record

		h.mu.Lock()
		cutOff[second] = true
		h.mu.Unlock()
		start := time.Now()
		third := h.await(second, 2*duration)
		if took := time.Since(start); took < 2*time.Second || took > duration+duration/5 {
			t.Errorf("the lease expired after %v", took)
		}

		h.mu.Lock()
		cutOff[second] = false
		h.mu.Unlock()
		time.Sleep(time.Minute)
		if id := h.await("", time.Second); id != third || h.changes != 3 {
			t.Errorf("%s holds the lease after %d changes, want %s after 3", id, h.changes, third)
		}
	})
}

// TestHoldEnds checks what Hold returns.
func TestHoldEnds(t *testing.T) {
	errWork := errors.New("work failed")
	for _, want := range []error{nil, errWork} {
		synctest.Test(t, func(t *testing.T) {
			storage := memlease.New(duration)
			err := election.Hold(t.Context(), storage.Open(nil), nil, election.Config{ID: "worker-0"},
				func(ctx context.Context, _ *election.Term) error {
					time.Sleep(time.Minute) // the lease is renewed in the background
					return errors.Join(want, ctx.Err())
				})
			if !errors.Is(err, want) || storage.Record().Held {
				t.Errorf("got %v, want %v; record %+v", err, want, storage.Record())
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		storage := memlease.New(duration)
		other, err := storage.Open(nil).Acquire(t.Context(), election.Claim{Holder: "worker-1", LeaseID: "x"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err = election.Hold(ctx, storage.Open(nil), nil, election.Config{ID: "worker-0"}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || storage.Record() != other {
			t.Errorf("waiting in vain: got %v", err)
		}
	})
	if err := election.Hold(t.Context(), nil, nil, election.Config{}, nil); err == nil {
		t.Error("an invalid Config: got no error")
	}
}
