package term_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// A worker reports a job that the leader does not find. The worker is told that the job has ended
// only if worker and leader use the same storage.
func TestJobThatIsNotFound(t *testing.T) {
	const job = "0123456789abcdev"
	for _, c := range []struct {
		name      string
		worker    func(identity string) string // identity that the worker sends
		replace   string                       // identity of the storage after it was replaced; "-" means none, "" that it was not replaced
		wantEnded bool
		wantLeft  bool
	}{
		{name: "same storage", worker: func(id string) string { return id }, wantEnded: true},
		{name: "worker does not say", worker: func(string) string { return "" }},
		{name: "storage was replaced", worker: func(id string) string { return id }, replace: strings.Repeat("0f", 16), wantLeft: true},
		{name: "storage was emptied", worker: func(id string) string { return id }, replace: "-", wantLeft: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := newCluster(t)
			identity, err := cluster.store.Identity(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w := cluster.addWorker("w1")
			w.storage = c.worker(identity)
			partial := wire.NewPartial(engine.Leaf(0), []byte("a"))
			w.items[job] = []wire.Item{{Partial: &partial}}
			leader := cluster.lead(func(cfg *term.Config) { cfg.Storage = identity })
			if c.replace != "" {
				cluster.replaceIdentity(c.replace)
			}
			settled := func() bool {
				_, left := leader.term.Left()
				return left || w.ended[job] || w.received[job] == 1
			}
			cluster.until("an answer about the job", settled)
			if _, left := leader.term.Left(); left != c.wantLeft || w.ended[job] != c.wantEnded {
				t.Errorf("leader left: %v, job ended: %v, want %v and %v", left, w.ended[job], c.wantLeft, c.wantEnded)
			}
		})
	}
}

// replaceIdentity gives the storage another identity, as if it were another storage; "-" removes
// the identity.
func (c *cluster) replaceIdentity(identity string) {
	c.t.Helper()
	if err := c.blobs.Delete(context.Background(), "identity"); err != nil {
		c.t.Fatal(err)
	}
	if identity == "-" {
		return
	}
	record := append([]byte{1, 0xa1, 1, 0x78, 32}, identity...) // CBOR: {1: identity}
	if _, err := c.blobs.Put(context.Background(), "identity", record, store.IfAbsent); err != nil {
		c.t.Fatal(err)
	}
}
