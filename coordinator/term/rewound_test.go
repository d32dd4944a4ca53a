package term_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// counted is storage that counts its writes.
type counted struct {
	*memory.Blobs
	counts *store.Writes
}

func (b counted) Writes(context.Context) (store.Writes, error) { return *b.counts, nil }

// wantRewound waits until the leader leaves because storage has lost writes, and lets another one lead.
func (c *cluster) wantRewound(l *leader) {
	c.t.Helper()
	c.until("the leader to leave", func() bool {
		_, left := l.term.Left()
		return left
	})
	if err := l.term.Err(); err == nil || !strings.Contains(err.Error(), "storage has lost writes that it had acknowledged") {
		c.t.Errorf("the term has failed with %v", err)
	}
	l.kill()
	c.lead(plain)
}

// TestLostCheckpoint replaces the manifest of a running job by an older one, or deletes it. The leader
// notices it at its next checkpoint, and the next leader computes again what was lost.
func TestLostCheckpoint(t *testing.T) {
	for name, lose := range map[string]func(c *cluster, key string, older []byte){
		"older":   func(c *cluster, key string, older []byte) { c.put(key, older) },
		"missing": func(c *cluster, key string, _ []byte) { _ = c.blobs.Delete(context.Background(), key) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.addWorker("w1")
			first := c.lead(plain)
			job := c.submit("partitions=40")
			var older []byte
			sequence := uint64(0)
			c.until("a second checkpoint", func() bool {
				m := c.manifest(job)
				if older == nil && len(m.Nodes) > 0 {
					older, sequence = c.get("manifest/"+job), m.Sequence
				}
				return older != nil && m.Sequence > sequence
			})
			if m := c.manifest(job); m.State != store.Running {
				t.Fatalf("the job is %s already", m.State)
			}
			c.lossy = true
			lose(c, "manifest/"+job, older)
			c.wantRewound(first)
			c.wantResult(job, "partitions=40")
		})
	}
}

// TestLostEnd restores the manifest of a job that has ended, but not its partials, which were deleted at
// the end. The idle leader notices it, and the next leader completes the job again.
func TestLostEnd(t *testing.T) {
	for name, after := range map[string]store.Writes{"count": {Count: 9}, "lost bytes": {Count: 12, Lost: 100}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			counts := store.Writes{Count: 10}
			c.store = store.New(store.Config{Blobs: counted{c.blobs, &counts}, Queue: c.queue})
			c.addWorker("w1")
			first := c.lead(plain)
			params := []string{"partitions=8", "pad=5000"}
			job := c.submit(params...)
			var older []byte
			c.until("the end", func() bool {
				m := c.manifest(job)
				if older == nil && slices.ContainsFunc(m.Nodes, func(n store.StoredNode) bool { return n.Blob != "" }) {
					older = c.get("manifest/" + job)
				}
				return m.State.Final()
			})
			c.until("the clean-up", c.cleanedUp)
			c.pass(10e9)
			if err := first.term.Err(); err != nil {
				t.Fatal(err)
			}
			c.put("manifest/"+job, older)
			c.put("active/"+job, nil)
			if c.manifest(job).State != store.Running {
				t.Fatal("the older manifest is final")
			}
			counts = after
			c.wantRewound(first)
			c.wantResult(job, params...)
		})
	}
}
