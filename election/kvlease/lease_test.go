package kvlease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/internal/leasetest"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServer runs a NATS server with JetStream until the test ends.
func startServer(t *testing.T) *server.Server {
	t.Helper()
	return natstest.StartOptions(t, server.Options{JetStream: true})
}

func connect(t *testing.T, srv *server.Server) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(natstest.Connect(t, srv.ClientURL()))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func open(t *testing.T, js jetstream.JetStream, cfg Config) *Lease {
	t.Helper()
	lease, err := Open(t.Context(), js, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestConformance(t *testing.T) {
	srv := startServer(t)
	const duration = time.Second
	var buckets atomic.Int64
	leasetest.Run(t, leasetest.Driver{
		Duration: duration,
		Long:     duration,
		New: func(t *testing.T, duration time.Duration) func() election.Lease {
			cfg := Config{Bucket: fmt.Sprintf("lease_%d", buckets.Add(1)), Duration: duration, CallTimeout: 10 * time.Second}
			return func() election.Lease { return open(t, connect(t, srv), cfg) }
		},
	})
}

func TestOpenAtOnce(t *testing.T) {
	srv := startServer(t)
	var wait sync.WaitGroup
	for range 8 {
		js := connect(t, srv)
		wait.Go(func() {
			lease, err := Open(t.Context(), js, Config{Bucket: "lease"})
			if err == nil {
				_, err = lease.Read(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestOpenRefusesBucketWithTTL(t *testing.T) {
	js := connect(t, startServer(t))
	if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "lease", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if lease, err := Open(t.Context(), js, Config{Bucket: "lease"}); err == nil {
		t.Fatalf("got %v, want an error", lease)
	}
}

func TestUnknownFormat(t *testing.T) {
	for _, value := range []string{"", "garbage", `{"version":2,"epoch":1,"lease_id":"a"}`, `{"version":1}`} {
		b := &faultyBucket{bucket: newMemoryBucket()}
		lease := newLease(b, Config{Key: "leader", Duration: time.Minute, CallTimeout: time.Second})
		if _, err := b.Create(t.Context(), "leader", []byte(value)); err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Read(t.Context()); !errors.Is(err, errFormat) {
			t.Errorf("read %q: got error %v, want errFormat", value, err)
		}
		if _, err := lease.Acquire(t.Context(), election.Claim{Holder: "w", LeaseID: "a"}); !errors.Is(err, errFormat) {
			t.Errorf("acquire with record %q: got error %v, want errFormat", value, err)
		}
	}
}

func TestUnavailable(t *testing.T) {
	srv := startServer(t)
	lease := open(t, connect(t, srv), Config{Bucket: "lease", CallTimeout: 200 * time.Millisecond})
	record, err := lease.Acquire(t.Context(), election.Claim{Holder: "w", LeaseID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	srv.Shutdown()
	srv.WaitForShutdown()
	begun := time.Now()
	if err := lease.Renew(t.Context(), record); !errors.Is(err, election.ErrUnavailable) {
		t.Errorf("renew without a server: got error %v, want ErrUnavailable", err)
	}
	if _, err := lease.Read(t.Context()); !errors.Is(err, election.ErrUnavailable) {
		t.Errorf("read without a server: got error %v, want ErrUnavailable", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("two calls bounded by 200ms took %v", took)
	}
}

// TestLostBucket deletes the bucket. A claim creates it again.
func TestLostBucket(t *testing.T) {
	js := connect(t, startServer(t))
	lease := open(t, js, Config{Bucket: "lease"})
	record, err := lease.Acquire(t.Context(), election.Claim{Holder: "w", LeaseID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteKeyValue(t.Context(), "lease"); err != nil {
		t.Fatal(err)
	}
	if err := lease.Renew(t.Context(), record); !errors.Is(err, election.ErrUnavailable) {
		t.Errorf("renew without the bucket: got error %v, want ErrUnavailable", err)
	}
	next, err := lease.Acquire(t.Context(), election.Claim{Holder: "w", LeaseID: "b", Above: record.Epoch})
	if err != nil || next.Epoch != record.Epoch+1 {
		t.Errorf("claim without the bucket: %+v, %v, want epoch %d", next, err, record.Epoch+1)
	}
	if err := lease.Renew(t.Context(), next); err != nil {
		t.Errorf("renew: %v", err)
	}
}

// TestRevisionsBeginAgain replaces the bucket by a new one, in which another holder has the lease under the revision
// that the process has seen in the old bucket.
func TestRevisionsBeginAgain(t *testing.T) {
	memory := newMemoryBucket()
	cfg := Config{Key: "leader", Duration: time.Minute, CallTimeout: time.Second}
	lease, other := newLease(memory, cfg), newLease(memory, cfg)
	record, err := lease.Acquire(t.Context(), election.Claim{Holder: "w", LeaseID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	*memory = memoryBucket{}
	want, err := other.Acquire(t.Context(), election.Claim{Holder: "v", LeaseID: "b", Above: record.Epoch})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := lease.Read(t.Context()); err != nil || got != want {
		t.Errorf("read after the loss: got %+v, %v, want %+v", got, err, want)
	}
	if err := lease.Renew(t.Context(), record); !errors.Is(err, election.ErrLost) {
		t.Errorf("renew after the loss: got error %v, want ErrLost", err)
	}
}

var errLostAnswer = errors.New("the answer is lost")

func TestLostAnswers(t *testing.T) {
	b := &faultyBucket{bucket: newMemoryBucket()}
	lease := newLease(b, Config{Key: "leader", Duration: time.Minute, CallTimeout: time.Second})
	claim := election.Claim{Holder: "w", LeaseID: "a"}

	loseOne := func(do func() error) {
		t.Helper()
		b.loseNext = true
		if err := do(); !errors.Is(err, election.ErrUnavailable) {
			t.Fatalf("answer lost: got error %v, want ErrUnavailable", err)
		}
		if err := do(); err != nil {
			t.Fatalf("retry: %v", err)
		}
	}
	var record election.Record
	loseOne(func() (err error) {
		record, err = lease.Acquire(t.Context(), claim)
		return err
	})
	if record.Epoch != 1 {
		t.Fatalf("the epoch is %d, want 1", record.Epoch)
	}
	loseOne(func() error { return lease.Renew(t.Context(), record) })
	loseOne(func() error { return lease.Transfer(t.Context(), record, "b") })
	record.LeaseID = "b"
	loseOne(func() error { return lease.Release(t.Context(), record) })
	if got, err := lease.Read(t.Context()); err != nil || got.Held || got.Epoch != 1 {
		t.Fatalf("final record: %+v, %v", got, err)
	}
}

// TestLaggingReads checks that reads from a lagging replica do not make a former holder believe
// that it holds the lease.
func TestLaggingReads(t *testing.T) {
	memory := newMemoryBucket()
	b := &faultyBucket{bucket: memory}
	cfg := Config{Key: "leader", Duration: time.Minute, CallTimeout: 50 * time.Millisecond}
	lagging, other := newLease(b, cfg), newLease(memory, cfg)
	record, err := lagging.Acquire(t.Context(), election.Claim{Holder: "w", LeaseID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if b.lagging, err = memory.Get(t.Context(), "leader"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Acquire(t.Context(), election.Claim{Holder: "v", LeaseID: "b", Replaces: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := lagging.Renew(t.Context(), record); err == nil {
		t.Error("a former holder renewed, by a read that lags")
	}
	b.lagging = nil
	if err := lagging.Renew(t.Context(), record); !errors.Is(err, election.ErrLost) {
		t.Errorf("got error %v, want ErrLost", err)
	}
}

func FuzzRecord(f *testing.F) {
	recode := func(data []byte) ([]byte, error) {
		record, err := decode(data)
		if err != nil {
			return nil, err
		}
		return encode(record), nil
	}
	fuzztest.Recode(f, recode, []error{errFormat},
		encode(election.Record{Epoch: 1, Holder: "worker-a", LeaseID: "a", Held: true}),
		encode(election.Record{Epoch: 1<<64 - 1, Holder: "worker-a", LeaseID: "a"}),
		[]byte(`{"version":1}`))
}

// faultyBucket loses the answer to a write, or returns an old value to a read.
type faultyBucket struct {
	bucket
	loseNext bool
	lagging  jetstream.KeyValueEntry
}

func (b *faultyBucket) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if b.lagging != nil {
		return b.lagging, ctx.Err()
	}
	return b.bucket.Get(ctx, key)
}

func (b *faultyBucket) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	return b.answer(b.bucket.Create(ctx, key, value, opts...))
}

func (b *faultyBucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return b.answer(b.bucket.Update(ctx, key, value, revision))
}

func (b *faultyBucket) answer(revision uint64, err error) (uint64, error) {
	if b.loseNext {
		b.loseNext = false
		return 0, errLostAnswer
	}
	return revision, err
}

// memoryBucket is a bucket of one key.
type memoryBucket struct {
	value    []byte
	revision uint64
}

func newMemoryBucket() *memoryBucket { return &memoryBucket{} }

type memoryEntry struct {
	jetstream.KeyValueEntry
	memoryBucket
}

func (e memoryEntry) Value() []byte    { return e.value }
func (e memoryEntry) Revision() uint64 { return e.revision }

func (b *memoryBucket) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	if b.revision == 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	return memoryEntry{memoryBucket: *b}, nil
}

func (b *memoryBucket) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return b.Update(ctx, key, value, 0)
}

func (b *memoryBucket) Update(_ context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	if revision != b.revision {
		return 0, jetstream.ErrKeyRevisionMismatch
	}
	b.value, b.revision = value, revision+1
	return b.revision, nil
}
