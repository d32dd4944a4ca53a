package bulk_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const subject = "bulk"

var node = engine.Node{Level: 3, Index: 5}

// source contains the partials of one node.
type source struct {
	data []byte
	err  error
	read func(offset int64) // called before each read
}

func (s *source) ReadAt(job string, n engine.Node, to []byte, offset int64) error {
	if s.read != nil {
		s.read(offset)
	}
	switch {
	case s.err != nil:
		return s.err
	case job != "job" || n != node:
		return bulk.ErrNotHeld
	}
	copy(to, s.data[offset:])
	return nil
}

// clients are how the tests fetch: from the holder's socket, and over NATS.
var clients = map[string]func(nc *nats.Conn) *bulk.Client{
	"near": bulk.NewClient,
	"far":  func(nc *nats.Conn) *bulk.Client { return bulk.NewFarClient(nc, subject) },
}

// fetch fetches a partial of a size.
func fetch(ctx context.Context, client *bulk.Client, subject, job string, size int, sum uint32) ([]byte, error) {
	data := make([]byte, size)
	return data, client.Fetch(ctx, subject, job, node, data, sum)
}

func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // Read never fails
	return data
}

// serve serves a source and returns the connection of a fetcher.
func serve(t *testing.T, s *source) *nats.Conn {
	t.Helper()
	url := natstest.StartOptions(t, server.Options{}).ClientURL()
	holder := natstest.Connect(t, url)
	serving, err := bulk.Serve(holder, subject, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(serving.Close)
	if err := holder.Flush(); err != nil {
		t.Fatal(err)
	}
	return natstest.Connect(t, url)
}

func TestFetch(t *testing.T) {
	for name, newClient := range clients {
		for _, size := range []int{0, 1, 512 << 10, 512<<10 + 1, 7_000_001} {
			s := &source{data: random(size)}
			client := newClient(serve(t, s))
			for range 2 { // the second time the client knows the socket
				got, err := fetch(t.Context(), client, subject, "job", size, wire.Checksum(s.data))
				if err != nil || !bytes.Equal(got, s.data) {
					t.Errorf("%s, %d bytes: %v", name, size, err)
				}
			}
			if near := name == "near" && runtime.GOOS == "linux"; client.Near(subject) != near {
				t.Errorf("%s: the client has used the socket: %v", name, !near)
			}
		}
	}
}

// buffer is an [io.WriterAt].
type buffer []byte

func (b buffer) WriteAt(data []byte, offset int64) (int, error) { return copy(b[offset:], data), nil }

func TestFetchTo(t *testing.T) {
	for name, newClient := range clients {
		s := &source{data: random(3_000_001)}
		got := make(buffer, len(s.data))
		if err := newClient(serve(t, s)).FetchTo(t.Context(), subject, "job", node, got, int64(len(got))); err != nil || !bytes.Equal(got, s.data) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFetchFails(t *testing.T) {
	data := random(3 << 20)
	for name, c := range map[string]struct {
		source  *source
		subject string
		job     string
		sum     uint32
		want    error
	}{
		"nobody serves":    {&source{data: data}, "other", "job", wire.Checksum(data), bulk.ErrGone},
		"another job":      {&source{data: data}, subject, "job2", wire.Checksum(data), bulk.ErrNotHeld},
		"another checksum": {&source{data: data}, subject, "job", 1, bulk.ErrDamaged},
		"cannot read":      {&source{err: errors.New("disk")}, subject, "job", 1, bulk.ErrUnreadable},
	} {
		for where, newClient := range clients {
			_, err := fetch(t.Context(), newClient(serve(t, c.source)), c.subject, c.job, len(data), c.sum)
			if !errors.Is(err, c.want) {
				t.Errorf("%s, %s: got %v, want %v", name, where, err, c.want)
			}
		}
	}
}

// TestHolderDies closes the holder's connection half-way through a fetch.
func TestHolderDies(t *testing.T) {
	s := &source{data: random(16 << 20)}
	url := natstest.StartOptions(t, server.Options{}).ClientURL()
	holder := natstest.Connect(t, url)
	var reads atomic.Int64
	s.read = func(int64) {
		if reads.Add(1) == 20 {
			go holder.Close()
		}
	}
	serving, err := bulk.Serve(holder, subject, s)
	if err != nil {
		t.Fatal(err)
	}
	defer serving.Close()
	if err := holder.Flush(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = fetch(t.Context(), clients["far"](natstest.Connect(t, url)), subject, "job", len(s.data), wire.Checksum(s.data))
	if !errors.Is(err, bulk.ErrGone) {
		t.Errorf("after %v: got %v, want ErrGone", time.Since(began), err)
	}
}

// TestSocketCloses closes the holder's server half-way through a fetch from its socket.
func TestSocketCloses(t *testing.T) {
	s := &source{data: random(64 << 20)}
	url := natstest.StartOptions(t, server.Options{}).ClientURL()
	holder := natstest.Connect(t, url)
	serving, err := bulk.Serve(holder, subject, s)
	if err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int64
	closed := make(chan struct{})
	s.read = func(int64) {
		if reads.Add(1) == 20 {
			go func() {
				serving.Close()
				close(closed)
			}()
		}
	}
	if err := holder.Flush(); err != nil {
		t.Fatal(err)
	}
	_, err = fetch(t.Context(), bulk.NewClient(natstest.Connect(t, url)), subject, "job", len(s.data), wire.Checksum(s.data))
	if !errors.Is(err, bulk.ErrGone) {
		t.Errorf("got %v, want ErrGone", err)
	}
	<-closed
}

// TestCancelled cancels a fetch half-way, after which the holder gets no more requests.
func TestCancelled(t *testing.T) {
	for name, newClient := range clients {
		s := &source{data: random(64 << 20)}
		ctx, cancel := context.WithCancel(t.Context())
		var last atomic.Int64
		s.read = func(offset int64) {
			last.Store(max(last.Load(), offset))
			if offset >= 4<<20 {
				cancel()
			}
		}
		_, err := fetch(ctx, newClient(serve(t, s)), subject, "job", len(s.data), wire.Checksum(s.data))
		if !errors.Is(err, context.Canceled) || last.Load() > 32<<20 {
			t.Errorf("%s: got %v, the holder was asked for byte %d", name, err, last.Load())
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte{})
	f.Add(append(make([]byte, 17), 0, 0, 1, 0, 'j'))
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if bulk.CheckRequest(t, data) {
			corpus.Taken()
		} else {
			corpus.Refused()
		}
	})
}

func BenchmarkFetch(b *testing.B) {
	s := &source{data: random(64 << 20)}
	url := natstest.StartOptions(b, server.Options{}).ClientURL()
	holder, fetcher := natstest.Connect(b, url), natstest.Connect(b, url)
	serving, err := bulk.Serve(holder, subject, s)
	if err != nil {
		b.Fatal(err)
	}
	defer serving.Close()
	if err := holder.Flush(); err != nil {
		b.Fatal(err)
	}
	sum := wire.Checksum(s.data)
	for name, newClient := range clients {
		b.Run(name, func(b *testing.B) {
			client, data := newClient(fetcher), make([]byte, len(s.data))
			b.SetBytes(int64(len(s.data)))
			for b.Loop() {
				if err := client.Fetch(b.Context(), subject, "job", node, data, sum); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
