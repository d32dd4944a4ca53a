package jetstream_test

import (
	"errors"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// TestLimitsOfAStream sets limits of the stream of large values.
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
	limit(func(cfg *natsjs.StreamConfig) { cfg.MaxBytes, cfg.MaxMsgSize = -1, 100<<10 })
	put("partial/c", 2<<20, store.ErrTooLarge)
}
