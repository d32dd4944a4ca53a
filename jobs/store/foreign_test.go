package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// trespassed is storage into which somebody else has written. Get fails for a foreign key, because
// drivers refuse malformed keys, and because a foreign value may be too large to read.
type trespassed struct{ *memory.Blobs }

var foreign = []string{"evil key.csv", "PART-1", "x", "x/y", "zzzzzzzzzzzzzzzz0", "x.y/z"}

func (b trespassed) List(ctx context.Context, prefix string) ([]string, error) {
	keys, err := b.Blobs.List(ctx, prefix)
	for _, name := range foreign {
		keys = append(keys, prefix+name)
	}
	slices.Sort(keys)
	return keys, err
}

func (b trespassed) Get(ctx context.Context, key string) ([]byte, store.Version, error) {
	if isForeign(key) {
		return nil, "", fmt.Errorf("key %q is not valid", key)
	}
	return b.Blobs.Get(ctx, key)
}

func (b trespassed) Delete(ctx context.Context, key string) error {
	if !store.ValidKey(key) {
		return fmt.Errorf("key %q is not valid", key)
	}
	return b.Blobs.Delete(ctx, key)
}

func isForeign(key string) bool {
	return slices.ContainsFunc(foreign, func(name string) bool { return strings.HasSuffix(key, "/"+name) })
}

// TestForeignObjects checks that objects of others in the cluster's storage fail no listing and no
// removal, and that they are logged once.
func TestForeignObjects(t *testing.T) {
	f := fixture{blobs: memory.NewBlobs(), queue: memory.NewQueue(hideFor), log: &logtest.Log{}}
	f.Store = store.New(store.Config{Blobs: trespassed{f.blobs}, Queue: f.queue, Logger: f.log.Logger()})
	spec, waiting := newSpec(), newSpec()
	fill(t, f, spec)
	must(t, f.Submit(t.Context(), waiting))
	for _, epoch := range []uint64{1, 2, 1100} { // the last one prunes the first two
		must(t, f.PutTerm(t.Context(), store.TermRecord{Epoch: epoch}))
	}
	for range 2 {
		if list, more, err := f.LatestTerms(t.Context(), 0, 1); err != nil || more || len(list) != 1 || list[0].Epoch != 1100 {
			t.Errorf("terms: got %+v, %v, %v, want epoch 1100", list, more, err)
		}
	}
	if list, err := f.PoisonList(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("poison list: got %+v, %v, want none", list, err)
	}
	if ids, err := f.Active(t.Context()); err != nil || !slices.Equal(ids, []string{spec.ID}) {
		t.Errorf("active: got %q, %v, want %s", ids, err, spec.ID)
	}
	if ids, err := f.Jobs(t.Context()); err != nil || len(ids) != 2 {
		t.Errorf("jobs: got %q, %v, want two", ids, err)
	}
	if list, err := f.Unbegun(t.Context(), func(string) bool { return false }, 9); err != nil || len(list) != 1 || list[0].ID != waiting.ID {
		t.Errorf("unbegun: got %+v, %v, want %s", list, err, waiting.ID)
	}
	if ids, err := f.HalfRemoved(t.Context()); err != nil || len(ids) > 0 {
		t.Errorf("half removed: got %q, %v, want none", ids, err)
	}
	must(t, f.Remove(t.Context(), spec.ID))
	if n := strings.Count(f.log.String(), "prefix=term/ "); n != 1 {
		t.Errorf("the log names the foreign objects below term/ %d times, want once:\n%s", n, f.log)
	}
}
