package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/internal/storetest"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hideFor is short to keep the tests fast.
const hideFor = 2 * time.Second

// connect starts a NATS server and returns a connection to the server.
func connect(t testing.TB) *nats.Conn {
	t.Helper()
	return natstest.Connect(t, natstest.Start(t, natsserver.Config{}).URL())
}

func open(t testing.TB, nc *nats.Conn, cfg jetstream.Config) *jetstream.Driver {
	t.Helper()
	if cfg.Cluster == "" {
		cfg.Cluster = "test"
	}
	if cfg.HideFor == 0 {
		cfg.HideFor = hideFor
	}
	var d *jetstream.Driver
	if err := eventually(t, func() (err error) { // the calls of some tests time out early
		d, err = jetstream.Open(context.Background(), nc, cfg)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

// opener returns a function that opens the storage of a new cluster on one server.
func opener(t *testing.T) func(t *testing.T) *jetstream.Driver {
	server := natstest.Start(t, natsserver.Config{})
	var clusters atomic.Int64
	return func(t *testing.T) *jetstream.Driver {
		return open(t, natstest.Connect(t, server.URL()), jetstream.Config{Cluster: fmt.Sprintf("c%d", clusters.Add(1))})
	}
}

func TestBlobs(t *testing.T) {
	openDriver := opener(t)
	storetest.TestBlobs(t, func(t *testing.T) store.Blobs { return openDriver(t) })
}

func TestQueue(t *testing.T) {
	openDriver := opener(t)
	storetest.TestQueue(t, func(t *testing.T) store.Queue { return openDriver(t) }, hideFor)
}

func TestConfigIsChecked(t *testing.T) {
	nc := connect(t)
	for _, cfg := range []jetstream.Config{
		{},
		{Cluster: "Upper"},
		{Cluster: "a.b"},
		{Cluster: strings.Repeat("x", 41)},
		{Cluster: "c", Replicas: 6},
		{Cluster: "c", Replicas: -1},
		{Cluster: "c", HideFor: time.Millisecond},
		{Cluster: "c", CallTimeout: -1},
	} {
		if _, err := jetstream.Open(t.Context(), nc, cfg); err == nil {
			t.Errorf("Open takes %+v", cfg)
		}
	}
}

func TestManyOpenAtOnce(t *testing.T) {
	server := natstest.Start(t, natsserver.Config{})
	var group errgroup.Group
	for range 8 {
		nc := natstest.Connect(t, server.URL())
		group.Go(func() error {
			d, err := jetstream.Open(t.Context(), nc, jetstream.Config{Cluster: "c"})
			if err != nil {
				return err
			}
			if err := d.Send(t.Context(), []byte("x")); err != nil {
				return err
			}
			m, err := d.Receive(t.Context())
			if err != nil {
				return err
			}
			return m.Delete(t.Context())
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestClustersAreApart(t *testing.T) {
	server := natstest.Start(t, natsserver.Config{})
	nc := natstest.Connect(t, server.URL())
	one, two := open(t, nc, jetstream.Config{Cluster: "a"}), open(t, nc, jetstream.Config{Cluster: "a-large"})
	if _, err := one.Put(t.Context(), "key/x", []byte("one"), store.Always); err != nil {
		t.Fatal(err)
	}
	if err := one.Send(t.Context(), []byte("one")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := two.Get(t.Context(), "key/x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get in another cluster: %v", err)
	}
	if err := two.DeletePrefix(t.Context(), "key/"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := one.Get(t.Context(), "key/x"); err != nil {
		t.Errorf("Get: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if m, err := two.Receive(ctx); err == nil {
		t.Errorf("received %q from another cluster", m.Body())
	}
}

// chunkCount returns the number of stored chunks.
func chunkCount(t *testing.T, nc *nats.Conn) uint64 {
	t.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "bellwether-test-large")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

func TestReplacedChunksAreRemoved(t *testing.T) {
	nc := connect(t)
	d := open(t, nc, jetstream.Config{})
	large := make([]byte, 1<<20+1) // a value of three chunks
	put := func(value []byte, cond store.Condition) store.Version {
		t.Helper()
		v, err := d.Put(t.Context(), "a/b", value, cond)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := func(chunks uint64) {
		t.Helper()
		if got := chunkCount(t, nc); got != chunks {
			t.Fatalf("%d chunks are stored, want %d", got, chunks)
		}
	}
	v := put(large, store.IfAbsent)
	want(3)
	if _, err := d.Put(t.Context(), "a/b", large, store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	want(3)
	v = put(large[:600<<10], store.IfVersion(v))
	want(2)
	put(large, store.Always)
	want(3)
	put([]byte("small"), store.Always)
	want(0)
	put(large, store.Always)
	want(3)
	if _, err := d.Put(t.Context(), "a/b", nil, store.IfVersion(v)); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	want(3)
	if err := d.Delete(t.Context(), "a/b"); err != nil {
		t.Fatal(err)
	}
	want(0)
	// The writer of these chunks died before it wrote the pointer.
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "bellwether.test.store.large.0123456789ABCDEFGHIJKL.0.a.b", large[:100]); err != nil {
		t.Fatal(err)
	}
	want(1)
	if err := d.DeletePrefix(t.Context(), "a/"); err != nil {
		t.Fatal(err)
	}
	want(0)
}

func TestDamageIsNoticed(t *testing.T) {
	nc := connect(t)
	d := open(t, nc, jetstream.Config{})
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(t.Context(), "bellwether-test")
	if err != nil {
		t.Fatal(err)
	}
	wantCorrupt := func(key string) {
		t.Helper()
		if _, _, err := d.Get(t.Context(), key); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Get %s: %v, want ErrCorrupt", key, err)
		}
	}
	for i, raw := range []string{"", "\x00", "\x07x", "\x02", "\x02garbage"} {
		key := fmt.Sprintf("garbage%d", i)
		if _, err := bucket.PutString(t.Context(), key, raw); err != nil {
			t.Fatal(err)
		}
		wantCorrupt(key)
		if _, err := d.Put(t.Context(), key, []byte("mended"), store.Always); err != nil {
			t.Errorf("overwrite %q: %v", raw, err)
		}
		if _, err := bucket.PutString(t.Context(), key, raw); err != nil {
			t.Fatal(err)
		}
		if err := d.Delete(t.Context(), key); err != nil {
			t.Errorf("delete %q: %v", raw, err)
		}
	}
	version, err := d.Put(t.Context(), "large", bytes.Repeat([]byte("x"), 600<<10), store.Always)
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(string(version), ".")
	chunk := "bellwether.test.store.large." + name + ".1.large"
	if _, err := js.Publish(t.Context(), chunk, bytes.Repeat([]byte("y"), 600<<10-512<<10)); err != nil {
		t.Fatal(err)
	}
	wantCorrupt("large") // the digest in the pointer differs
	if _, err := js.Publish(t.Context(), chunk, []byte("short")); err != nil {
		t.Fatal(err)
	}
	wantCorrupt("large")
	stream, err := js.Stream(t.Context(), "bellwether-test-large")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCorrupt("large") // the chunks were removed
}

// TestDeleteMarkCountsAsAbsent checks that a value is missing if a NATS tool has deleted its key.
// The delete operation of a key-value bucket leaves a marker.
func TestDeleteMarkCountsAsAbsent(t *testing.T) {
	nc := connect(t)
	d := open(t, nc, jetstream.Config{})
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(t.Context(), "bellwether-test")
	if err != nil {
		t.Fatal(err)
	}
	for _, cond := range []store.Condition{store.IfAbsent, store.Always} {
		if err := bucket.Delete(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Get: %v", err)
		}
		if _, err := d.Put(t.Context(), "key", []byte("x"), cond); err != nil {
			t.Errorf("Put: %v", err)
		}
	}
}

func TestUnavailable(t *testing.T) {
	server := natstest.Start(t, natsserver.Config{})
	nc := natstest.Connect(t, server.URL())
	d := open(t, nc, jetstream.Config{CallTimeout: 100 * time.Millisecond})
	if err := d.Send(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	m, err := d.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Shutdown()
	calls := map[string]func() error{
		"Get":          func() error { _, _, err := d.Get(t.Context(), "key"); return err },
		"Put":          func() error { _, err := d.Put(t.Context(), "key", nil, store.IfAbsent); return err },
		"large Put":    func() error { _, err := d.Put(t.Context(), "key", make([]byte, 1<<20), store.IfAbsent); return err },
		"Delete":       func() error { return d.Delete(t.Context(), "key") },
		"List":         func() error { _, err := d.List(t.Context(), "key/"); return err },
		"DeletePrefix": func() error { return d.DeletePrefix(t.Context(), "key/") },
		"Send":         func() error { return d.Send(t.Context(), []byte("x")) },
		"Extend":       func() error { return m.Extend(t.Context()) },
		"Discard":      func() error { return m.Delete(t.Context()) },
		"Open": func() error {
			_, err := jetstream.Open(t.Context(), nc, jetstream.Config{Cluster: "test", CallTimeout: 100 * time.Millisecond})
			return err
		},
	}
	for name, call := range calls {
		start := time.Now()
		if err := call(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", name, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	nc.Close()
	if _, err := d.Receive(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Receive on a closed connection: %v", err)
	}
}

// TestWritesToBrokenConnection checks writes to a broken socket before the NATS client has noticed
// the failure.
func TestWritesToBrokenConnection(t *testing.T) {
	server := natstest.Start(t, natsserver.Config{})
	for _, broken := range []error{
		&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)},
		net.ErrClosed,
		io.ErrClosedPipe,
		io.ErrUnexpectedEOF,
	} {
		var dialer brokenDialer
		nc := natstest.Connect(t, server.URL(), nats.SetCustomDialer(&dialer), nats.ErrorHandler(nil))
		d := open(t, nc, jetstream.Config{CallTimeout: 100 * time.Millisecond})
		dialer.broken.Store(&broken)
		for _, size := range []int{10, 100 << 10, 1 << 20} {
			_, err := d.Put(t.Context(), "key", make([]byte, size), store.Always)
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Put of %d bytes while writes fail with %q: %v, want ErrUnavailable", size, broken, err)
			}
		}
		dialer.broken.Store(nil)
		if err := eventually(t, func() error {
			_, err := d.Put(t.Context(), "key", make([]byte, 1<<20), store.Always)
			return err
		}); err != nil {
			t.Errorf("Put after %q: %v", broken, err)
		}
	}
}

// TestLostConnectionEndsCalls loses the connection after a request was sent and before its answer.
func TestLostConnectionEndsCalls(t *testing.T) {
	dialer := brokenDialer{dropped: make(chan struct{}, 1)}
	nc := natstest.Connect(t, natstest.Start(t, natsserver.Config{}).URL(), nats.SetCustomDialer(&dialer), nats.ErrorHandler(nil))
	var log logtest.Log
	d := open(t, nc, jetstream.Config{CallTimeout: time.Hour, Logger: log.Logger()})
	if err := d.Send(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	m, err := d.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lose := func() {
		<-dialer.dropped
		connected := nc.StatusChanged(nats.CONNECTED)
		defer nc.RemoveStatusListener(connected)
		dialer.drop.Store(false)
		if err := nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		<-connected
		select {
		case <-dialer.dropped: // a second request vanished
		default:
		}
	}
	for name, call := range map[string]func() error{
		"Get":          func() error { _, _, err := d.Get(t.Context(), "key"); return err },
		"Put":          func() error { _, err := d.Put(t.Context(), "key", nil, store.IfAbsent); return err },
		"Delete":       func() error { return d.Delete(t.Context(), "key") },
		"List":         func() error { _, err := d.List(t.Context(), "key/"); return err },
		"DeletePrefix": func() error { return d.DeletePrefix(t.Context(), "key/") },
		"Send":         func() error { return d.Send(t.Context(), []byte("x")) },
		"Extend":       func() error { return m.Extend(t.Context()) },
	} {
		dialer.drop.Store(true)
		ended := make(chan error, 1)
		go func() { ended <- call() }()
		lose()
		select {
		case err := <-ended:
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s has not ended", name)
		}
	}
	if err := m.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	dialer.drop.Store(true)
	received := receiveLater(t, d)
	lose()
	log.Await(t, 1, "the connection to NATS was lost")
	if err := d.Send(t.Context(), []byte("after")); err != nil {
		t.Fatal(err)
	}
	if body := (<-received).Body(); string(body) != "after" {
		t.Errorf("received %q", body)
	}
}

// brokenDialer dials connections whose writes fail or vanish on demand. Only requests vanish: after
// a reconnect, the NATS client reports that it is connected and then writes its subscriptions and a
// PING, which belong to no call.
type brokenDialer struct {
	broken  atomic.Pointer[error]
	drop    atomic.Bool
	dropped chan struct{} // receives a value if a request has vanished
}

func (d *brokenDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return brokenConn{conn, d}, err
}

type brokenConn struct {
	net.Conn
	dialer *brokenDialer
}

func (c brokenConn) Write(b []byte) (int, error) {
	if err := c.dialer.broken.Load(); err != nil {
		return 0, *err
	}
	if c.dialer.drop.Load() && bytes.Contains(b, []byte("PUB ")) {
		select {
		case c.dialer.dropped <- struct{}{}:
		default:
		}
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestReceiveOutlivesTheServer restarts the server during a Receive. Values from before the restart
// must still exist.
func TestReceiveOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	server := natstest.Start(t, natsserver.Config{Dir: dir})
	port := natstest.Port(t, server.URL())
	var log logtest.Log
	d := open(t, natstest.Connect(t, server.URL()), jetstream.Config{Logger: log.Logger(), CallTimeout: time.Second})
	version, err := d.Put(t.Context(), "key", []byte("kept"), store.Always)
	if err != nil {
		t.Fatal(err)
	}
	received := receiveLater(t, d)
	server.Shutdown()
	log.Await(t, 1, "Queue is unavailable, waiting for it")
	natstest.Start(t, natsserver.Config{Dir: dir, Port: port})
	if err := eventually(t, func() error { return d.Send(t.Context(), []byte("after")) }); err != nil {
		t.Fatal(err)
	}
	m := <-received
	if string(m.Body()) != "after" {
		t.Errorf("received %q", m.Body())
	}
	if err := m.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	log.Await(t, 1, "Queue is back")
	if n := log.Count("Queue is unavailable, waiting for it"); n != 1 {
		t.Errorf("logged %d times that the queue is away", n)
	}
	value, got, err := d.Get(t.Context(), "key")
	if err != nil || string(value) != "kept" || got != version {
		t.Errorf("Get after the restart: %q, version %q, %v", value, got, err)
	}
}

// TestReceiveCreatesAMissingQueue deletes the queue's stream during a Receive.
func TestReceiveCreatesAMissingQueue(t *testing.T) {
	nc := connect(t)
	var log logtest.Log
	d := open(t, nc, jetstream.Config{Logger: log.Logger()})
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	received := receiveLater(t, d)
	if err := js.DeleteStream(t.Context(), "bellwether-test-queue"); err != nil {
		t.Fatal(err)
	}
	if err := eventually(t, func() error { return d.Send(t.Context(), []byte("after")) }); err != nil {
		t.Fatal(err)
	}
	if m := <-received; string(m.Body()) != "after" {
		t.Errorf("received %q", m.Body())
	}
}

// TestReceiverThatIsCutOff stalls the connection of a receiver. The server soon drops the receiver's
// request, because a message that it sent to this receiver would stay hidden for HideFor.
func TestReceiverThatIsCutOff(t *testing.T) {
	server := natstest.StartOptions(t, server.Options{JetStream: true}) // long ping interval, so that the server does not disconnect a client during the test
	proxy, err := faults.NewTCPProxy(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	cut := open(t, natstest.Connect(t, "nats://"+proxy.Address()), jetstream.Config{HideFor: time.Hour})
	nc := natstest.Connect(t, server.ClientURL())
	other := open(t, nc, jetstream.Config{HideFor: time.Hour})
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var receiving errgroup.Group
	receiving.Go(func() error {
		_, err := cut.Receive(ctx)
		return err
	})
	requests := func(want int) {
		t.Helper()
		if err := eventually(t, func() error {
			c, err := js.Consumer(t.Context(), "bellwether-test-queue", "receivers")
			if err == nil && c.CachedInfo().NumWaiting != want {
				err = fmt.Errorf("%d requests for a message wait at the server, want %d", c.CachedInfo().NumWaiting, want)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	requests(1)
	proxy.Stall()
	requests(0)
	if err := other.Send(t.Context(), []byte("x")); err != nil {
		t.Error(err)
	}
	bounded, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if m, err := other.Receive(bounded); err != nil || string(m.Body()) != "x" {
		t.Errorf("the other receiver received %v, %v", m, err)
	}
	cancel()
	proxy.Resume()
	if err := receiving.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("the receiver that was cut off received: %v", err)
	}
}

// TestManyMessagesMayBeHidden checks that many messages can be hidden at once, because a submission
// stays unacknowledged until its job ends.
func TestManyMessagesMayBeHidden(t *testing.T) {
	nc := connect(t)
	d := open(t, nc, jetstream.Config{HideFor: time.Minute})
	const messages = 1100 // more than the default limit of unacknowledged messages of a consumer
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for range messages {
		if _, err := js.PublishAsync("bellwether.test.store.queue", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range messages {
		if _, err := d.Receive(ctx); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// TestSubmissionIsCountedBeforeTheFirstWorker checks that a submitter creates the queue's consumer
// with the name and the settings of a worker's: KEDA starts the first worker by the consumer's
// number of messages, and fails without the consumer. The names are those in scaledobject.yaml.
func TestSubmissionIsCountedBeforeTheFirstWorker(t *testing.T) {
	nc := connect(t)
	submitter := open(t, nc, jetstream.Config{})
	if err := submitter.Send(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	consumer := func(pending uint64, unacknowledged int) natsjs.ConsumerConfig {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // the server counts a message after it has acknowledged it
			c, err := js.Consumer(t.Context(), "bellwether-test-queue", "receivers")
			if err != nil {
				t.Fatal(err)
			}
			i := c.CachedInfo()
			if i.NumPending == pending && i.NumAckPending == unacknowledged {
				return i.Config
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d messages are pending and %d are not acknowledged, want %d and %d",
					i.NumPending, i.NumAckPending, pending, unacknowledged)
			}
		}
	}
	before := consumer(1, 0)
	worker := open(t, nc, jetstream.Config{})
	if _, err := worker.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := consumer(0, 1); !reflect.DeepEqual(before, after) {
		t.Errorf("a worker changed the consumer from %+v to %+v", before, after)
	}
}

func TestHideTimeFollowsTheLatestOpen(t *testing.T) {
	nc := connect(t)
	open(t, nc, jetstream.Config{HideFor: time.Hour})
	d := open(t, nc, jetstream.Config{HideFor: 200 * time.Millisecond})
	if err := d.Send(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for n := 1; n <= 2; n++ {
		m, err := d.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if m.Deliveries() != n {
			t.Errorf("delivery %d counts %d", n, m.Deliveries())
		}
	}
}

// receiveLater receives one message in another goroutine.
func receiveLater(t *testing.T, d *jetstream.Driver) <-chan store.Message {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	received := make(chan store.Message, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(received)
		m, err := d.Receive(ctx)
		if err != nil {
			t.Errorf("Receive: %v", err)
			return
		}
		received <- m
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return received
}

// eventually calls do until it succeeds, for up to 20 s.
func eventually(t testing.TB, do func() error) error {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := do()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestDeletePrefixOfManyKeys removes more messages than one request does, and none below another prefix.
func TestDeletePrefixOfManyKeys(t *testing.T) {
	d := opener(t)(t)
	for i := range 330 {
		if _, err := d.Put(t.Context(), fmt.Sprintf("a/b/%d", i), []byte("value"), store.IfAbsent); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Put(t.Context(), fmt.Sprintf("a/bc/%d", i), []byte("value"), store.IfAbsent); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.DeletePrefix(t.Context(), "a/b/"); err != nil {
		t.Fatal(err)
	}
	keys, err := d.List(t.Context(), "a/")
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 330 || slices.ContainsFunc(keys, func(key string) bool { return !strings.HasPrefix(key, "a/bc/") }) {
		t.Errorf("got %d keys, want the 330 below a/bc/: %q", len(keys), keys)
	}
}
