package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// blockMapper maps every partition to a large partial.
type blockMapper struct{}

func (blockMapper) Map(_ context.Context, partition uint64) ([]byte, error) {
	return bytes.Repeat([]byte{byte(partition)}, 1<<20), nil
}

// blocks returns a job with large partials. If fails is not nil, Merge calls it and returns its error.
func blocks(fails func(left []byte) error) jobs.Job { return blocksOf(blockMapper{}, fails) }

func blocksOf(mapper jobs.Mapper[[]byte], fails func(left []byte) error) jobs.Job {
	return blocksWith(mapper, jobs.Raw{}, fails)
}

func blocksWith(mapper jobs.Mapper[[]byte], codec jobs.Codec[[]byte], fails func(left []byte) error) jobs.Job {
	return jobs.MustNew(jobs.Definition[struct{}, []byte, int]{
		Name: "blocks", Version: "1", Codec: codec,
		Plan: func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 2}, nil },
		Open: func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[[]byte], error) { return mapper, nil },
		Merge: func(left, right []byte) ([]byte, error) {
			if fails != nil {
				if err := fails(left); err != nil {
					return nil, err
				}
			}
			for i := range left {
				left[i] += right[i]
			}
			return left, nil
		},
		Finish: func(_ context.Context, _ struct{}, root []byte) (int, error) { return len(root), nil },
	})
}

// startHolder runs a worker that holds the partials of the two partitions of a job "j".
func startHolder(t *testing.T, job jobs.Job, store Store) (*running, *leader) {
	t.Helper()
	return startHolderWith(t, job, store, 1<<30, nil)
}

// startHolderWith does the same with a limit of the memory for large partials, and other durations.
func startHolderWith(t *testing.T, job jobs.Job, store Store, memory int64, tune func(*timing, *session.Timing)) (*running, *leader) {
	t.Helper()
	url := startServer(t, -1).ClientURL()
	nc := connect(t, url)
	l := startLeader(t, nc, 1)
	l.holds = true
	known := []jobs.Job{job, sum("s", func(context.Context, uint64) error { return nil })}
	w := startWorker(t, nc, store, 1, known, tune, func(c *Config) { c.Bulk, c.Memory = connect(t, url), memory })
	l.wait("the worker's first report", func() bool { return len(l.reports) > 0 })
	l.assign("j", job, 0, 2, engine.Span{Lo: 0, Hi: 1}, engine.Span{Lo: 1, Hi: 2})
	l.wait("two held nodes", func() bool { return len(l.last().Nodes) == 2 })
	return w, l
}

// merge makes the worker merge the held partials. The right partial is attributed to the given
// worker. The parameter failed is the number of earlier attempts that failed.
func (l *leader) merge(holder string, failed int) {
	l.t.Helper()
	l.mu.Lock()
	right := l.operand(1)
	l.mu.Unlock()
	right.Holder = holder
	l.mergeWith(right, failed)
}

// mergeWith makes the worker merge the left of the held partials with an operand.
func (l *leader) mergeWith(right wire.Partial, failed int) {
	l.t.Helper()
	l.order(func(r *wire.Receipt) {
		call := &wire.Call{Function: wire.Merge, Node: engine.Node{Level: 1}, Operands: []wire.Partial{l.operand(0), right}, Failed: failed}
		l.number++
		r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: l.number}, Job: "j", Call: call})
	})
}

// lastNodes returns the held partials of the last report.
func (l *leader) lastNodes() []wire.HeldNode {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last().Nodes
}

// operand returns the i-th held partial of the last report as an operand. The caller must hold the
// lock.
func (l *leader) operand(i int) wire.Partial {
	n := l.last().Nodes[i]
	return wire.Partial{Node: n.Node, Size: n.Size, Sum: n.Sum, Holder: "w"}
}

func TestMergeOfHeldPartials(t *testing.T) {
	_, l := startHolder(t, blocks(nil), noStore{t})
	l.merge("w", 0)
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 })
	want := wire.HeldNode{Job: "j", Node: engine.Node{Level: 1}, Size: 1 << 20, Sum: wire.Checksum(bytes.Repeat([]byte{1}, 1<<20))}
	if got := l.lastNodes()[0]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A merge that has changed an operand in place and then fails loses only this operand.
func TestFailedMergeLosesWhatItChanged(t *testing.T) {
	_, l := startHolder(t, blocks(func(left []byte) error {
		left[len(left)-1]++
		return errors.New("broken")
	}), noStore{t})
	l.merge("w", 0)
	l.wait("one held node", func() bool { return len(l.last().Nodes) == 1 && len(l.failures) == 1 })
	if got := l.lastNodes()[0].Node; got != engine.Leaf(1) {
		t.Errorf("node %v is held, want 0/1", got)
	}
	if f := l.failures[0]; f.Function != wire.Merge || f.Holder != "" || !strings.Contains(f.Error, "broken") {
		t.Errorf("got %+v", f)
	}
}

// A retried merge works on copies, so its failure loses nothing.
func TestRetriedMergeLosesNothing(t *testing.T) {
	calls := 0
	_, l := startHolder(t, blocks(func(left []byte) error {
		left[0]++
		if calls++; calls == 1 {
			return errors.New("broken")
		}
		left[0]--
		return nil
	}), noStore{t})
	l.merge("w", 1)
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	l.merge("w", 2)
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 && l.last().Nodes[0].Node.Level == 1 })
}

// A merge that fails before it changes its operands loses nothing.
func TestFailedMergeKeepsUnchangedOperands(t *testing.T) {
	calls := 0
	_, l := startHolder(t, blocks(func([]byte) error {
		if calls++; calls == 1 {
			panic("broken")
		}
		return nil
	}), noStore{t})
	l.merge("w", 0)
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	l.merge("w", 0)
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 && l.last().Nodes[0].Node.Level == 1 })
}

// A merge whose other operand cannot be fetched has not taken over its own operand yet.
func TestFailedFetchLosesNothing(t *testing.T) {
	_, l := startHolder(t, blocks(nil), noStore{t})
	l.merge("nobody", 0)
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	if f := l.failures[0]; f.Holder != "nobody" || !strings.Contains(f.Error, "fetch node 0/1 of 1048576 bytes: no process serves it") {
		t.Errorf("got %+v", f)
	}
	l.merge("w", 0)
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 })
}

// fullStore has no space for the first partial that it is given.
type fullStore struct {
	slowStore
	full sync.Once
}

func (s *fullStore) PutPartial(ctx context.Context, job string, node engine.Node, data []byte) (blob string, err error) {
	s.full.Do(func() { err = fmt.Errorf("write: %w", store.ErrFull) })
	if err != nil {
		return "", err
	}
	return s.slowStore.PutPartial(ctx, job, node, data)
}

// A write of a held partial to a full storage is retried, and the log names the partial.
func TestHeldPartialWaitsForFullStorage(t *testing.T) {
	st := &fullStore{}
	w, l := startHolder(t, blocks(nil), st)
	l.order(func(r *wire.Receipt) {
		r.Jobs = []wire.JobReceipt{{Job: "j", Received: l.received["j"], Store: []engine.Node{engine.Leaf(1)}}}
	})
	l.wait("the stored partial", func() bool { return l.blobs["j"][engine.Leaf(1)] != "" })
	for line := range strings.Lines(w.log.String()) {
		if !strings.Contains(line, "Storage call failed, trying again") {
			continue
		}
		for _, want := range []string{" job=j ", " node=0/1 ", " bytes=1048576 ", `operation="write partial"`, store.ErrFull.Error()} {
			if !strings.Contains(line, want) {
				t.Errorf("the log line is %q, want %q in it", line, want)
			}
		}
		return
	}
	t.Errorf("no failed write is logged: %s", w.log)
}

// damagedPartial serves a partial of the job blocks with one wrong byte.
type damagedPartial byte

// ReadAt implements [bulk.Source].
func (d damagedPartial) ReadAt(_ string, _ engine.Node, to []byte, offset int64) error {
	copy(to, bytes.Repeat([]byte{byte(d)}, len(to)))
	if offset == 0 {
		to[len(to)/2]++
	}
	return nil
}

// oneBlob is a store that contains one partial.
type oneBlob struct {
	noStore
	data []byte
}

func (s oneBlob) Partial(context.Context, string, string) ([]byte, error) {
	return bytes.Clone(s.data), nil
}

// An operand that arrives damaged is not merged. The failed fetch is reported with job, node and
// size, and the merge succeeds with the operand from storage. Other jobs are not affected.
func TestDamagedOperandIsReadFromStorage(t *testing.T) {
	right := bytes.Repeat([]byte{1}, 1<<20)
	w, l := startHolder(t, blocks(nil), oneBlob{noStore{t}, right})
	serving, err := bulk.Serve(w.nc, w.cfg.Subjects.Bulk("x"), damagedPartial(1))
	if err != nil {
		t.Fatal(err)
	}
	defer serving.Close()
	l.merge("x", 0)
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	if f, want := l.failures[0], "fetch node 0/1 of 1048576 bytes: the bytes are damaged: their checksum is"; f.Holder != "x" || f.Permanent || !strings.Contains(f.Error, want) {
		t.Errorf("got %+v, want a failed fetch from x with %q", f, want)
	}
	l.mu.Lock()
	if job := l.failedJobs[0]; job != "j" {
		t.Errorf("the failure is reported for job %s, want j", job)
	}
	l.mu.Unlock()

	l.assign("k", w.known[wire.JobKind{Name: "s", Version: "1"}], 0, 10, all(10))
	l.mergeWith(wire.Partial{Node: engine.Leaf(1), Size: 1 << 20, Blob: "blob"}, 0)
	merged := wire.HeldNode{Job: "j", Node: engine.Node{Level: 1}, Size: 1 << 20, Sum: wire.Checksum(right)} // all bytes of the left partial are 0
	l.wait("the merged node and the other job", func() bool {
		return slices.Contains(l.last().Nodes, merged) && l.has("k", 10, all(10))
	})
}

// A held partial that is too large for storage stays held, and other jobs are not affected.
func TestHeldPartialTooLargeForStorage(t *testing.T) {
	w, l := startHolder(t, blocks(nil), &narrowStore{})
	l.order(func(r *wire.Receipt) {
		r.Jobs = []wire.JobReceipt{{Job: "j", Received: l.received["j"], Store: []engine.Node{engine.Leaf(1)}}}
	})
	l.wait("the log line", func() bool {
		return strings.Contains(w.log.String(), `A partial is too large for storage, it is lost if this worker ends" job=j node=0/1 bytes=1048576`)
	})
	other := w.known[wire.JobKind{Name: "s", Version: "1"}]
	l.assign("k", other, 0, 10, all(10))
	l.wait("the other job", func() bool { return l.has("k", 10, all(10)) && len(l.last().Nodes) == 2 })
}

// A held partial that neither storage nor a file takes fails its job if memory is short.
func TestUnstorablePartialFailsTheJob(t *testing.T) {
	_, l := startHolderWith(t, blocks(nil), &narrowStore{}, 3<<20-1, func(t *timing, _ *session.Timing) { t.stuckFor = time.Millisecond })
	l.wait("the failure", func() bool { return len(l.failures) > 0 })
	f := l.failures[0]
	want := "memory for large partials is short (3.0 MiB), and node 0/0 of 1048576 bytes can neither be moved to the spill folder, see the worker's log, nor be written to storage: write partial: too large for storage: 1048576 bytes"
	if !f.Permanent || f.Function != wire.Map || f.Partition != 0 || f.Error != want {
		t.Errorf("got %+v, want the permanent error %q", f, want)
	}
}

// A merge may free memory that a partial occupies that neither storage nor a file takes.
func TestUnstorablePartialsAreMerged(t *testing.T) {
	w, l := startHolderWith(t, blocks(nil), &narrowStore{}, 3<<20-1, nil)
	l.wait("the log line", func() bool { return w.log.Count("A partial is too large for storage") == 2 })
	l.merge("w", 0)
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 })
	if len(l.failures) > 0 {
		t.Errorf("got %+v", l.failures)
	}
}

// noiseMapper maps every partition to 512 KiB of noise and 3.5 MiB of zeros.
type noiseMapper struct{}

func (noiseMapper) Map(context.Context, uint64) ([]byte, error) {
	data := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data[:512<<10]) // Read never fails
	return data, nil
}

// The memory of a merge is that of its decoded operands and result, even if the codec compresses.
func TestMergeCountsDecodedOperands(t *testing.T) {
	var worker atomic.Pointer[running]
	var used atomic.Int64
	job := blocksWith(noiseMapper{}, jobs.Zstd[[]byte](jobs.Raw{}), func([]byte) error {
		bytes := worker.Load().partials.held.Stats().Used
		used.Store(bytes)
		return nil
	})
	w, l := startHolder(t, job, noStore{t})
	worker.Store(w)
	l.merge("w", 0)
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 && l.last().Nodes[0].Node.Level == 1 })
	if used.Load() < 13<<20 {
		t.Errorf("%d bytes are used during a merge, want at least 12 MiB for two operands and the result, and 1 MiB for the encoded operands", used.Load())
	}
}

// awayStore is a storage that is unavailable.
type awayStore struct {
	noStore
	tried chan struct{} // receives a value when a partial is written or read
}

func (s awayStore) try() error {
	select {
	case s.tried <- struct{}{}:
	default:
	}
	return store.ErrUnavailable
}

func (s awayStore) PutPartial(context.Context, string, engine.Node, []byte) (string, error) {
	return "", s.try()
}

func (s awayStore) Partial(context.Context, string, string) ([]byte, error) { return nil, s.try() }

// Merges do not wait until storage is available again.
func TestStoringReservesNothingBetweenAttempts(t *testing.T) {
	s := awayStore{noStore{t}, make(chan struct{})}
	w, l := startHolderWith(t, blocks(nil), s, 4<<20, nil)
	l.order(func(r *wire.Receipt) {
		r.Jobs = []wire.JobReceipt{{Job: "j", Received: l.received["j"], Store: []engine.Node{engine.Leaf(1)}}}
	})
	<-s.tried
	reserved, err := w.partials.held.Reserve(t.Context(), 100<<20) // granted only if there is no other reservation
	if err != nil {
		t.Fatal(err)
	}
	reserved.Release()
}

// Merges do not wait for a merge whose operand is in a storage that is unavailable.
func TestMergeThatWaitsForStorageHoldsUpNoOther(t *testing.T) {
	s := awayStore{noStore{t}, make(chan struct{})}
	w, l := startHolderWith(t, blocks(nil), s, 4<<20, nil)
	l.mergeWith(wire.Partial{Node: engine.Leaf(1), Size: 1 << 20, Blob: "blob"}, 0)
	<-s.tried
	reserved, err := w.partials.held.Reserve(t.Context(), 100<<20)
	if err != nil {
		t.Fatal(err)
	}
	reserved.Release()
}

// meteredStore reports how much memory the worker uses for large partials during a write.
type meteredStore struct {
	noStore
	worker chan *running
	used   chan int64
}

func (s meteredStore) PutPartial(context.Context, string, engine.Node, []byte) (string, error) {
	used := (<-s.worker).partials.held.Stats().Used
	s.used <- used
	return strings.Repeat("0", 64), nil
}

// Storage copies a partial to write it, and the copy counts against the memory limit.
func TestStoringCountsTheCopy(t *testing.T) {
	s := meteredStore{noStore{t}, make(chan *running, 1), make(chan int64, 1)}
	w, l := startHolder(t, blocks(nil), s)
	l.wait("the slot's memory is free", func() bool {
		used := w.partials.held.Stats().Used
		return used == 2<<20
	})
	s.worker <- w
	l.order(func(r *wire.Receipt) {
		r.Jobs = []wire.JobReceipt{{Job: "j", Received: l.received["j"], Store: []engine.Node{engine.Leaf(1)}}}
	})
	if used := <-s.used; used != 3<<20 {
		t.Errorf("%d bytes are used while a partial of two is stored, want 3 MiB", used)
	}
}
