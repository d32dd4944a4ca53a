package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

func TestIdentityIsWrittenOnce(t *testing.T) {
	f := newFixture()
	_, err := f.KnownIdentity(t.Context())
	want(t, err, store.ErrNotFound)
	var mu sync.Mutex
	seen := map[string]bool{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			id, err := f.Identity(t.Context())
			mu.Lock()
			defer mu.Unlock()
			seen[id+fmt.Sprint(err)] = true
		})
	}
	group.Wait()
	if len(seen) != 1 {
		t.Errorf("processes that start at once see %v, want one identity", seen)
	}
	id, err := f.KnownIdentity(t.Context())
	must(t, err)
	if !seen[id+"<nil>"] || len(id) != 32 {
		t.Errorf("identity in storage %q, want 32 digits and one of %v", id, seen)
	}
	if other, err := newFixture().Identity(t.Context()); err != nil || other == id {
		t.Errorf("another storage: %q, %v, want another identity than %q", other, err, id)
	}
}

// TestIdentitySurvivesLostAnswers checks Identity when one storage call fails, before or after the
// call takes effect.
func TestIdentitySurvivesLostAnswers(t *testing.T) {
	for _, operation := range []memory.Operation{memory.Get, memory.Put} {
		for _, done := range []bool{false, true} {
			f := newFixture()
			if operation == memory.Get && done { // before the first write no read takes place
				_, err := f.Identity(t.Context())
				must(t, err)
			}
			f.blobs.Inject(once(operation, done))
			_, err := f.Identity(t.Context())
			want(t, err, store.ErrUnavailable)
			id, err := f.Identity(t.Context())
			must(t, err)
			if known, err := f.KnownIdentity(t.Context()); err != nil || known != id {
				t.Errorf("%s, done %v: got %q, storage has %q, %v", operation, done, id, known, err)
			}
		}
	}
}

// TestIdentityFromALaggingReplica checks Identity if a write conflicts with an identity that reads
// do not return yet, because a replica lags behind.
func TestIdentityFromALaggingReplica(t *testing.T) {
	f := newFixture()
	id, err := f.Identity(t.Context())
	must(t, err)
	f.blobs.Inject(func(c memory.Call) error {
		if c.Operation == memory.Get {
			return store.ErrNotFound
		}
		return nil
	})
	_, err = f.Identity(t.Context())
	want(t, err, store.ErrUnavailable)
	f.blobs.Inject(nil)
	if again, err := f.Identity(t.Context()); err != nil || again != id {
		t.Errorf("got %q, %v, want %q", again, err, id)
	}
}

func TestDamagedIdentityIsNotReplaced(t *testing.T) {
	f := newFixture()
	_, err := f.blobs.Put(t.Context(), "identity", []byte("junk"), store.Always)
	must(t, err)
	_, err = f.Identity(t.Context())
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "read identity") {
		t.Errorf("got %v, want ErrCorrupt that names the key", err)
	}
}
