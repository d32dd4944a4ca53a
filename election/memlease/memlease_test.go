package memlease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/internal/leasetest"
	"github.com/bellwether-compute/bellwether/election/memlease"
)

func TestConformance(t *testing.T) {
	driver := leasetest.Driver{
		Duration: 15 * time.Second,
		Long:     15 * time.Second,
		New: func(_ *testing.T, duration time.Duration) func() election.Lease {
			storage := memlease.New(duration)
			return func() election.Lease { return storage.Open(nil) }
		},
	}
	for _, c := range leasetest.Cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, driver) })
		})
	}
}

func TestFaults(t *testing.T) {
	claim := election.Claim{Holder: "worker-a", LeaseID: "a"}
	for _, c := range []struct {
		name   string
		fault  memlease.Fault
		effect bool
		took   time.Duration
	}{
		{"before the effect", memlease.Fault{Before: election.ErrUnavailable}, false, 0},
		{"after the effect", memlease.Fault{After: election.ErrUnavailable}, true, 0},
		{"cancelled before the effect", memlease.Fault{Delay: time.Hour}, false, time.Second},
		{"cancelled after the effect", memlease.Fault{Late: time.Hour}, true, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storage := memlease.New(15 * time.Second)
				lease := storage.Open(func(memlease.Call) memlease.Fault { return c.fault })
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begun := time.Now()
				if _, err := lease.Acquire(ctx, claim); !errors.Is(err, election.ErrUnavailable) {
					t.Errorf("got error %v, want ErrUnavailable", err)
				}
				if took := time.Since(begun); took != c.took {
					t.Errorf("the call took %v, want %v", took, c.took)
				}
				if held := storage.Record().Held; held != c.effect {
					t.Errorf("held: %v, want %v", held, c.effect)
				}
				if calls := storage.Calls(); calls != 1 {
					t.Errorf("calls: %d, want 1", calls)
				}
			})
		})
	}
}
