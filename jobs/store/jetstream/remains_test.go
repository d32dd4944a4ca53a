package jetstream_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// TestRemoveAfterInterruptedWrites interrupts the writers of a job's large values at many
// points and checks that removing the job leaves no chunk.
func TestRemoveAfterInterruptedWrites(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 66_000) // a value of three chunks
	interrupted := map[string]func(s *store.Store, spec store.Spec, m store.Manifest, v store.Version){
		"spec": func(s *store.Store, spec store.Spec, _ store.Manifest, _ store.Version) {
			_ = s.Submit(t.Context(), spec)
		},
		"plan": func(s *store.Store, spec store.Spec, _ store.Manifest, _ store.Version) {
			_ = s.PutPlan(t.Context(), spec.ID, store.Plan{Plan: jobs.Plan{Partitions: 4, Data: large}})
		},
		"manifest": func(s *store.Store, spec store.Spec, m store.Manifest, v store.Version) {
			_, _ = s.PutManifest(t.Context(), spec.ID, m, store.IfVersion(v))
		},
		"partial": func(s *store.Store, spec store.Spec, _ store.Manifest, _ store.Version) {
			_, _ = s.PutPartial(t.Context(), spec.ID, engine.Leaf(1), large)
		},
		"result": func(s *store.Store, spec store.Spec, _ store.Manifest, _ store.Version) {
			_ = s.PutResult(t.Context(), spec.ID, large)
		},
	}
	srv := natstest.StartOptions(t, server.Options{JetStream: true})
	for name, write := range interrupted {
		t.Run(name, func(t *testing.T) {
			nc := natstest.Connect(t, srv.ClientURL())
			d := open(t, nc, jetstream.Config{})
			s := store.New(store.Config{Blobs: d, Queue: d})
			// attempt interrupts the writer after limit bytes and returns the number of bytes that
			// the writer sent.
			attempt := func(limit int64) int64 {
				spec := newSpec()
				m := store.Manifest{Epoch: 1, State: store.Running, Started: time.Now(), Error: string(large)}
				if name == "spec" {
					spec.ID = store.NewID(time.Now().Add(-48 * time.Hour))
					spec.Params = large
				} else {
					check(t, s.Submit(t.Context(), spec))
				}
				v := must[store.Version](t)(s.PutManifest(t.Context(), spec.ID, m, store.IfAbsent))
				cut := &cutDialer{}
				doomed := natstest.Connect(t, srv.ClientURL(), nats.SetCustomDialer(cut), nats.NoReconnect(), nats.ErrorHandler(nil))
				defer natstest.Close(doomed)
				writer := open(t, doomed, jetstream.Config{CallTimeout: time.Second})
				before := cut.sent.Load()
				cut.limit.Store(before + limit)
				write(store.New(store.Config{Blobs: writer, Queue: writer}), spec, m, v)
				natstest.Close(doomed)
				settle(t, srv, d)
				sent := cut.sent.Load() - before
				if name == "spec" {
					check(t, d.Delete(t.Context(), "manifest/"+spec.ID))
					half := must[[]string](t)(s.HalfRemoved(t.Context()))
					if listed := slices.Contains(half, spec.ID); chunkCount(t, nc) > 0 && !listed &&
						!slices.Contains(must[[]string](t)(s.Jobs(t.Context())), spec.ID) {
						t.Errorf("interrupted after %d bytes: no list shows the job", limit)
					}
				}
				check(t, s.Remove(t.Context(), spec.ID))
				if n := chunkCount(t, nc); n != 0 {
					t.Fatalf("interrupted after %d bytes: %d chunks are left", limit, n)
				}
				return sent
			}
			all := attempt(1 << 40)
			for i := range int64(8) {
				attempt(all * i / 8)
			}
			for _, left := range []int64{50, 300, 600, 900, 1200} {
				attempt(all - left)
			}
		})
	}
}

// TestLateWritesOfRemovedJobAreListed checks that HalfRemoved lists a job if a writer is
// interrupted after the job was removed.
func TestLateWritesOfRemovedJobAreListed(t *testing.T) {
	srv := natstest.StartOptions(t, server.Options{JetStream: true})
	nc := natstest.Connect(t, srv.ClientURL())
	d := open(t, nc, jetstream.Config{})
	s := store.New(store.Config{Blobs: d, Queue: d})
	id := store.NewID(time.Now())
	cut := &cutDialer{}
	doomed := natstest.Connect(t, srv.ClientURL(), nats.SetCustomDialer(cut), nats.NoReconnect(), nats.ErrorHandler(nil))
	writer := open(t, doomed, jetstream.Config{CallTimeout: time.Second})
	cut.limit.Store(cut.sent.Load() + 1_000_000)
	if _, err := store.New(store.Config{Blobs: writer}).PutPartial(t.Context(), id, engine.Leaf(1), make([]byte, 4<<20)); err == nil {
		t.Fatal("the write was not interrupted")
	}
	natstest.Close(doomed)
	settle(t, srv, d)
	if chunkCount(t, nc) == 0 {
		t.Fatal("the interrupted write left no chunks")
	}
	if half := must[[]string](t)(s.HalfRemoved(t.Context())); !slices.Equal(half, []string{id}) {
		t.Errorf("half removed are %q, want %q", half, id)
	}
	check(t, s.Remove(t.Context(), id))
	if n := chunkCount(t, nc); n != 0 {
		t.Errorf("%d chunks are left", n)
	}
}

// settle waits until the server has processed all messages of closed connections. The driver d must
// use the only open connection.
func settle(t *testing.T, srv *server.Server, d *jetstream.Driver) {
	t.Helper()
	if err := eventually(t, func() error {
		if n := srv.NumClients(); n > 1 {
			return fmt.Errorf("the server has %d clients", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	// The reply to this Put arrives after all earlier messages, because a stream processes its
	// messages in order.
	must[store.Version](t)(d.Put(t.Context(), "settle", make([]byte, 513<<10), store.Always))
	check(t, d.Delete(t.Context(), "settle"))
}

// cutDialer dials connections that break after a number of sent bytes.
type cutDialer struct{ sent, limit atomic.Int64 }

func (d *cutDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return cutConn{conn, d}, err
}

type cutConn struct {
	net.Conn
	dialer *cutDialer
}

func (c cutConn) Write(b []byte) (int, error) {
	limit := c.dialer.limit.Load()
	if limit == 0 {
		limit = 1 << 40
	}
	room := max(limit-c.dialer.sent.Load(), 0)
	n, err := c.Conn.Write(b[:min(int64(len(b)), room)])
	c.dialer.sent.Add(int64(n))
	if err == nil && n < len(b) {
		_ = c.Conn.Close()
		err = io.ErrClosedPipe
	}
	return n, err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestCancelledPutLeavesNoChunks checks that a cancelled write of a large value leaves no chunks.
func TestCancelledPutLeavesNoChunks(t *testing.T) {
	srv := natstest.StartOptions(t, server.Options{JetStream: true, SyncAlways: true})
	nc := natstest.Connect(t, srv.ClientURL())
	d := open(t, nc, jetstream.Config{})
	large := make([]byte, 5<<20)
	for range 15 {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
		_, err := d.Put(ctx, "partial/cancelled", large, store.IfAbsent)
		cancel()
		settle(t, srv, d)
		if n := chunkCount(t, nc); err != nil && n != 0 {
			t.Fatalf("%d chunks are left after %v", n, err)
		}
		check(t, d.Delete(t.Context(), "partial/cancelled"))
	}
}
