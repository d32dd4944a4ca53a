package jetstream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/kvlease"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// TestLimitsOfAStream checks the errors if the stream of large values has limits.
func TestLimitsOfAStream(t *testing.T) {
	nc := connect(t)
	d := open(t, nc, jetstream.Config{})
	js := must[natsjs.JetStream](t)(natsjs.New(nc))
	limit := func(change func(*natsjs.StreamConfig)) {
		t.Helper()
		stream := must[natsjs.Stream](t)(js.Stream(t.Context(), "bellwether-test-large"))
		cfg := stream.CachedInfo().Config
		change(&cfg)
		must[natsjs.Stream](t)(js.UpdateStream(t.Context(), cfg))
	}
	put := func(key string, size int, want error) {
		t.Helper()
		if _, err := d.Put(t.Context(), key, make([]byte, size), store.IfAbsent); !errors.Is(err, want) {
			t.Errorf("Put of %d bytes: %v, want %v", size, err, want)
		}
	}
	limit(func(cfg *natsjs.StreamConfig) { cfg.MaxBytes = 3 << 20 })
	put("partial/a", 2<<20, nil)
	put("partial/b", 2<<20, store.ErrFull)
	put("partial/c", 4<<20, store.ErrTooLarge)
	check(t, d.Delete(t.Context(), "partial/a"))
	put("partial/b", 2<<20, nil)
	check(t, d.Fits(t.Context(), 3<<20))
	if err := d.Fits(t.Context(), 3<<20+1); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("Fits of more than the stream may keep: %v", err)
	}
	limit(func(cfg *natsjs.StreamConfig) { cfg.MaxBytes, cfg.MaxMsgSize = -1, 100<<10 })
	put("partial/c", 2<<20, store.ErrTooLarge)
}

// TestReservedRoom fills storage up to its limit with new jobs and partials. The lease and the
// manifests must still be writable. Partials must be writable after values are deleted.
func TestReservedRoom(t *testing.T) {
	srv := natstest.Start(t, natsserver.Config{MaxStore: 64 << 20})
	nc := natstest.Connect(t, srv.URL())
	d := open(t, nc, jetstream.Config{})
	s := store.New(store.Config{Blobs: d, Queue: d})
	check(t, s.Fits(t.Context(), 40<<20))
	if err := s.Fits(t.Context(), 60<<20); !errors.Is(err, store.ErrTooLarge) { // an eighth of the limit is reserved
		t.Errorf("Fits of more than the account may keep: %v", err)
	}
	lease := must[*kvlease.Lease](t)(kvlease.Open(t.Context(), must[natsjs.JetStream](t)(natsjs.New(nc)), kvlease.Config{Bucket: "lease"}))
	held := must[election.Record](t)(lease.Acquire(t.Context(), election.Claim{Holder: "w", LeaseID: "l"}))
	running := newSpec()
	check(t, s.Submit(t.Context(), running))
	m := newManifest(2)
	version := must[store.Version](t)(s.PutManifest(t.Context(), running.ID, m, store.IfAbsent))

	var group errgroup.Group
	for w := range 4 {
		writer := open(t, natstest.Connect(t, srv.URL()), jetstream.Config{})
		group.Go(func() error {
			for i := 0; ; i++ {
				size := []int{20 << 10, 300 << 10, 3 << 20}[i%3]
				_, err := writer.Put(t.Context(), fmt.Sprintf("partial/%d/%d", w, i), make([]byte, size), store.IfAbsent)
				if err != nil && size == 20<<10 {
					return err
				}
			}
		})
	}
	if err := group.Wait(); !errors.Is(err, store.ErrFull) {
		t.Fatalf("a small partial: %v, want ErrFull", err)
	}
	// A few submissions still fit, because they are smaller than the partials that were refused.
	accepted, refused := 1, newSpec()
	err := s.Submit(t.Context(), refused)
	for ; err == nil && accepted < 1000; err = s.Submit(t.Context(), refused) {
		accepted++
		refused = newSpec()
	}
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("Submit: %v, want ErrFull", err)
	}
	if ids := must[[]string](t)(s.Jobs(t.Context())); len(ids) != accepted {
		t.Errorf("%d jobs are in storage, want the %d that were accepted", len(ids), accepted)
	}
	if _, err := s.PutPartial(t.Context(), running.ID, engine.Leaf(1), make([]byte, 60<<20)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a partial of 60 MiB: %v, want ErrTooLarge", err)
	}
	for range 100 {
		check(t, lease.Renew(t.Context(), held))
	}
	m.Sequence++
	m.Error = strings.Repeat("large ", 100_000)
	version = must[store.Version](t)(s.PutManifest(t.Context(), running.ID, m, store.IfVersion(version)))
	m.State, m.Error, m.Nodes = store.Cancelled, "", nil
	must[store.Version](t)(s.PutManifest(t.Context(), running.ID, m, store.IfVersion(version)))
	must[store.Version](t)(s.PutManifest(t.Context(), store.NewID(time.Now()), m, store.IfAbsent))

	check(t, d.DeletePrefix(t.Context(), "partial/1/"))
	must[string](t)(s.PutPartial(t.Context(), running.ID, engine.Leaf(1), make([]byte, 3<<20)))
	check(t, s.Submit(t.Context(), refused))
}
