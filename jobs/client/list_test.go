package client

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// failedJobs is a fake storage with the same record for each of many failed jobs. failedJobs
// measures the heap during reads.
type failedJobs struct {
	*memory.Blobs
	ids []string

	mu    sync.Mutex
	reads int
	heap  uint64 // largest size of the heap in bytes
}

func (f *failedJobs) List(context.Context, string) ([]string, error) {
	keys := make([]string, len(f.ids))
	for i, id := range f.ids {
		keys[i] = "spec/" + id
	}
	return keys, nil
}

// Get returns the record of the first job, but with the ID in the given key.
func (f *failedJobs) Get(ctx context.Context, key string) ([]byte, store.Version, error) {
	kind, id, _ := strings.Cut(key, "/")
	data, version, err := f.Blobs.Get(ctx, kind+"/"+f.ids[0])
	if kind == "spec" {
		data = bytes.Replace(data, []byte(f.ids[0]), []byte(id), 1)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reads++; f.reads%100 == 0 {
		f.heap = max(f.heap, liveHeap())
	}
	return data, version, err
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryOfAList checks how much memory a list of 400 jobs takes if their records have 20 MB.
func TestMemoryOfAList(t *testing.T) {
	blobs := &failedJobs{Blobs: memory.NewBlobs()}
	now := time.UnixMilli(1_700_000_000_000)
	for i := range 400 {
		blobs.ids = append(blobs.ids, store.NewID(now.Add(time.Duration(i)*time.Millisecond)))
	}
	s := store.New(store.Config{Blobs: blobs, Queue: memory.NewQueue(time.Minute)})
	spec := store.Spec{ID: blobs.ids[0], Job: "sum", Version: "1", Params: jobs.Params(`{}`), MaxAttempts: 1, Submitted: now}
	if err := s.Submit(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	m := store.Manifest{Epoch: 1, Sequence: 9, State: store.Failed, Error: strings.Repeat("e", 5000), Partitions: 1 << 40, Started: now, Finished: now}
	for i := range 10 {
		m.Errors = append(m.Errors, store.ErrorText{Text: strings.Repeat("t", 1000), Count: 1, Partition: uint64(i)})
	}
	for i := range 4 { // a manifest as earlier versions wrote it
		m.Attempts = append(m.Attempts, store.Attempt{Partition: uint64(i), Failed: 1, Error: strings.Repeat("a", 4000)})
	}
	for i := range uint64(2000) {
		m.Skipped = append(m.Skipped, i)
	}
	for i := range 1000 {
		m.Workers = append(m.Workers, store.Contributor{Worker: fmt.Sprint("worker-", i), Through: 1})
	}
	if _, err := s.PutManifest(t.Context(), spec.ID, m, store.IfAbsent); err != nil {
		t.Fatal(err)
	}
	c, err := Connect(t.Context(), Config{Cluster: cluster.Config{NATS: cluster.NATS{URL: natstest.Start(t, natsserver.Config{}).URL()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.store = s
	before := liveHeap()
	var listed []string
	damaged, err := c.Each(t.Context(), func(s Status) error {
		if listed = append(listed, s.ID); len(s.Skipped) > 1000 {
			return fmt.Errorf("job %s has %d skipped partitions", s.ID, len(s.Skipped))
		}
		return nil
	})
	if err != nil || len(damaged) > 0 || !slices.Equal(listed, blobs.ids) {
		t.Fatalf("%d jobs are listed, %d are damaged, %v", len(listed), len(damaged), err)
	}
	if used := blobs.heap - min(blobs.heap, before); used > 10<<20 {
		t.Errorf("listing took %d MB of heap", used>>20)
	}
}
