package jetstream_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// TestDamagedFile flips a bit of one value in the files of a server that was stopped in good order. The
// server then trusts its index, and finds the damage only when the value is read. The value counts
// as damaged and not as absent, and other values are not affected.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	options := func() server.Options { return server.Options{JetStream: true, StoreDir: dir} }
	srv := natstest.StartOptions(t, options())
	d := open(t, natstest.Connect(t, srv.ClientURL()), jetstream.Config{Cluster: "damaged"})
	for _, value := range []string{"before", "damaged", "after"} {
		must[store.Version](t)(d.Put(t.Context(), "spec/"+value, []byte("the value "+value), store.IfAbsent))
	}
	natstest.Stop(srv)
	flipBit(t, dir, "the value damaged")

	srv = natstest.StartOptions(t, options())
	d = open(t, natstest.Connect(t, srv.ClientURL()), jetstream.Config{Cluster: "damaged"})
	if _, _, err := d.Get(t.Context(), "spec/damaged"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Get of the damaged value: %v, want ErrCorrupt", err)
	}
	if _, _, err := d.Get(t.Context(), "spec/missing"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of a missing value: %v, want ErrNotFound", err)
	}
	if err := d.Delete(t.Context(), "spec/damaged"); !errors.Is(err, store.ErrCorrupt) { // the server would refuse silently
		t.Errorf("Delete of the damaged value: %v, want ErrCorrupt", err)
	}
	for _, value := range []string{"before", "after"} {
		got, _, err := d.Get(t.Context(), "spec/"+value)
		if err != nil || string(got) != "the value "+value {
			t.Errorf("%s: got %q, %v", value, got, err)
		}
	}
}

// flipBit changes one bit of the text in the block that contains it.
func flipBit(t *testing.T, dir, text string) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	check(t, err)
	for _, block := range blocks {
		data, err := os.ReadFile(block)
		check(t, err)
		if at := bytes.Index(data, []byte(text)); at >= 0 {
			data[at] ^= 1
			check(t, os.WriteFile(block, data, 0o600))
			return
		}
	}
	t.Fatalf("no block contains %q: %v", text, blocks)
}
