package page_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// BenchmarkList requests the list of 10,000 ended jobs from a page without cached answers. The
// measured heap includes the page, a leader and the NATS server.
func BenchmarkList(b *testing.B) {
	c := newCluster(b)
	blobs, err := jetstream.Open(b.Context(), c.client.Conn(), jetstream.Config{Cluster: "default"})
	if err != nil {
		b.Fatal(err)
	}
	s := store.New(store.Config{Blobs: blobs, Queue: memory.NewQueue(time.Hour)}) // no leader needs to receive the jobs again
	now := time.Now()
	var group errgroup.Group
	group.SetLimit(64)
	for i := range 10_000 {
		group.Go(func() error {
			id := store.NewID(now.Add(time.Duration(i-20_000) * time.Second))
			spec := store.Spec{ID: id, Job: "steps", Version: "1", Params: jobs.Params(`{}`), MaxAttempts: 1, Submitted: now}
			if err := s.Submit(b.Context(), spec); err != nil {
				return err
			}
			m := store.Manifest{Epoch: 1, Sequence: 9, State: store.Completed, Partitions: 1000, Started: now, Finished: now}
			for at := range 60 {
				m.AddSample(time.Duration(at) * time.Second)
			}
			_, err := s.PutManifest(b.Context(), id, m, store.IfAbsent)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		b.StopTimer()
		api := c.start(1, nil) + "/api/v1/"
		c.until("a worker leads", func() bool { var a clusterAnswer; return c.get(api+"cluster", &a) == 200 && a.Leader != nil })
		before := heap()
		b.StartTimer()
		var page jobsAnswer
		if got := c.get(api+"jobs?show=ended", &page); got != 200 || len(page.Jobs) != 100 || page.All != 10_000 {
			b.Fatalf("list: got %d, %d jobs of %d", got, len(page.Jobs), page.All)
		}
		b.StopTimer()
		b.ReportMetric((float64(heap())-float64(before))/1e6, "MB")
		began := time.Now()
		for pages := 1; page.Next != ""; pages++ {
			c.get(fmt.Sprintf("%sjobs?before=%s", api, page.Next), &page)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds())/99, "ms/page")
		b.StartTimer()
	}
}
