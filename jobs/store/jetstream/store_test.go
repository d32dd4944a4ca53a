package jetstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newSpec() store.Spec {
	return store.Spec{
		ID: store.NewID(time.Now()), Job: "primes", Version: "1",
		Params: jobs.Params(`{"limit":1000000000}`), MaxAttempts: 3, Submitted: time.Now(),
	}
}

// newManifest returns the checkpoint of a half-finished job with the given number of workers.
func newManifest(workers int) store.Manifest {
	m := store.Manifest{Epoch: 1, State: store.Running, Partitions: 1 << 30, Epochs: []uint64{1}, Started: time.Now()}
	for i := range workers {
		m.Workers = append(m.Workers, store.Contributor{Worker: fmt.Sprintf("host-%03d-12345", i), Through: uint64(i)})
		for level := range uint8(6) {
			node := engine.Node{Level: level, Index: uint64(i) << (20 - level)}
			m.Nodes = append(m.Nodes, store.StoredNode{Node: node, Data: make([]byte, 60)})
		}
	}
	return m
}

// TestWholeJob runs all storage operations of a job's life. After the job is removed, storage must
// be empty.
func TestWholeJob(t *testing.T) {
	ctx := t.Context()
	nc := connect(t)
	d := open(t, nc, jetstream.Config{})
	s := store.New(store.Config{Blobs: d, Queue: d})
	spec := newSpec()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(s.Submit(ctx, spec))
	submission := must[*store.Submission](t)(s.Receive(ctx))
	check(s.Activate(ctx, submission.ID))
	check(s.PutPlan(ctx, spec.ID, store.Plan{Plan: jobs.Plan{Partitions: 1 << 30}}))
	m := newManifest(4)
	version := must[store.Version](t)(s.PutManifest(ctx, spec.ID, m, store.IfAbsent))
	partial := bytes.Repeat([]byte("large partial "), 200_000)
	blob := must[string](t)(s.PutPartial(ctx, spec.ID, engine.Leaf(1), partial))
	must[string](t)(s.PutPartial(ctx, spec.ID, engine.Leaf(1), partial))
	m.Nodes[0] = store.StoredNode{Node: m.Nodes[0].Node, Blob: blob}
	next := must[store.Version](t)(s.PutManifest(ctx, spec.ID, m, store.IfVersion(version)))
	if _, err := s.PutManifest(ctx, spec.ID, m, store.IfVersion(version)); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("the old leader's write: %v", err)
	}
	if _, got, err := s.Manifest(ctx, spec.ID); err != nil || got != next {
		t.Fatalf("manifest has version %q, %v, want %q", got, err, next)
	}
	if got := must[[]byte](t)(s.Partial(ctx, spec.ID, blob)); !bytes.Equal(got, partial) {
		t.Fatal("the partial has changed")
	}
	check(s.PutResult(ctx, spec.ID, []byte("50847534")))
	check(s.Deactivate(ctx, spec.ID))
	check(submission.Delete(ctx))
	check(s.DropPartials(ctx, spec.ID))
	if n := chunkCount(t, nc); n != 0 {
		t.Errorf("%d chunks are left of the partials", n)
	}
	if ids := must[[]string](t)(s.Jobs(ctx)); len(ids) != 1 || ids[0] != spec.ID {
		t.Errorf("jobs are %q", ids)
	}
	check(s.Remove(ctx, spec.ID))
	for _, kind := range []string{"spec/", "plan/", "manifest/", "partial/", "result/", "active/"} {
		if keys := must[[]string](t)(d.List(ctx, kind)); len(keys) > 0 {
			t.Errorf("left are %q", keys)
		}
	}
}

// BenchmarkPutManifest measures the write of a checkpoint: a compare-and-swap that is synced to
// disk.
func BenchmarkPutManifest(b *testing.B) {
	for _, workers := range []int{2, 100} {
		b.Run(fmt.Sprintf("%dworkers", workers), func(b *testing.B) {
			d := open(b, connect(b), jetstream.Config{})
			s, id, m := store.New(store.Config{Blobs: d, Queue: d}), store.NewID(time.Now()), newManifest(workers)
			version := must[store.Version](b)(s.PutManifest(b.Context(), id, m, store.IfAbsent))
			each(b, func() {
				m.Sequence++
				version = must[store.Version](b)(s.PutManifest(b.Context(), id, m, store.IfVersion(version)))
			})
		})
	}
}

// BenchmarkSmallJob measures all storage operations of a job that ends immediately.
func BenchmarkSmallJob(b *testing.B) {
	d := open(b, connect(b), jetstream.Config{})
	s := store.New(store.Config{Blobs: d, Queue: d})
	each(b, func() {
		ctx, spec := b.Context(), newSpec()
		check := func(err error) {
			if err != nil {
				b.Fatal(err)
			}
		}
		check(s.Submit(ctx, spec))
		submission := must[*store.Submission](b)(s.Receive(ctx))
		must[store.StoredSpec](b)(s.Spec(ctx, submission.ID))
		check(s.Activate(ctx, spec.ID))
		check(s.PutPlan(ctx, spec.ID, store.Plan{Plan: jobs.Plan{Partitions: 4}}))
		m := newManifest(1)
		version := must[store.Version](b)(s.PutManifest(ctx, spec.ID, m, store.IfAbsent))
		check(s.PutResult(ctx, spec.ID, []byte("1")))
		m.State = store.Completed
		must[store.Version](b)(s.PutManifest(ctx, spec.ID, m, store.IfVersion(version)))
		check(s.Deactivate(ctx, spec.ID))
		check(submission.Delete(ctx))
	})
}
