package bulk_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
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

// fetch fetches a partial of a size.
func fetch(ctx context.Context, nc *nats.Conn, subject, job string, node engine.Node, size uint64, sum uint32) ([]byte, error) {
	data := make([]byte, size)
	return data, bulk.Fetch(ctx, nc, subject, job, node, data, sum)
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
	for _, size := range []int{0, 1, 256 << 10, 256<<10 + 1, 7_000_001} {
		s := &source{data: random(size)}
		got, err := fetch(t.Context(), serve(t, s), subject, "job", node, uint64(size), wire.Checksum(s.data))
		if err != nil || !bytes.Equal(got, s.data) {
			t.Errorf("%d bytes: %v", size, err)
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
		_, err := fetch(t.Context(), serve(t, c.source), c.subject, c.job, node, uint64(len(data)), c.sum)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
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
	_, err = fetch(t.Context(), natstest.Connect(t, url), subject, "job", node, uint64(len(s.data)), wire.Checksum(s.data))
	if !errors.Is(err, bulk.ErrGone) {
		t.Errorf("after %v: got %v, want ErrGone", time.Since(began), err)
	}
}

// TestCancelled cancels a fetch half-way, after which the holder gets no more requests.
func TestCancelled(t *testing.T) {
	s := &source{data: random(64 << 20)}
	ctx, cancel := context.WithCancel(t.Context())
	var last atomic.Int64
	s.read = func(offset int64) {
		last.Store(max(last.Load(), offset))
		if offset >= 4<<20 {
			cancel()
		}
	}
	_, err := fetch(ctx, serve(t, s), subject, "job", node, uint64(len(s.data)), wire.Checksum(s.data))
	if !errors.Is(err, context.Canceled) || last.Load() > 32<<20 {
		t.Errorf("got %v, the holder was asked for byte %d", err, last.Load())
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
	b.SetBytes(int64(len(s.data)))
	for b.Loop() {
		if _, err := fetch(b.Context(), fetcher, subject, "job", node, uint64(len(s.data)), sum); err != nil {
			b.Fatal(err)
		}
	}
}
