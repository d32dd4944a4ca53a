package executor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
)

const (
	// atOnce is the size in bytes of the ranges of vectors that package jobs merges at once.
	atOnce = 4 << 20
	// wide is the size in bytes of a partial that is merged in three ranges.
	wide = 2*atOnce + 8
)

// wideMapper maps partitions to partials of the size wide.
type wideMapper struct{}

func (wideMapper) Map(_ context.Context, partition uint64) ([]uint64, error) {
	return wideNumbers(partition), nil
}

func (wideMapper) PartialBytes() int64 { return wide }

func wideNumbers(partition uint64) []uint64 {
	numbers := make([]uint64, wide/8)
	for i := range numbers {
		numbers[i] = uint64(i) + partition*101
	}
	return numbers
}

// encodeWide returns the encoding of numbers.
func encodeWide(numbers []uint64) []byte {
	data, _ := jobs.Vector[uint64]{}.Encode(numbers) // Encode never fails
	return data
}

// widePartials returns the encoded partials of the two partitions.
var widePartials = sync.OnceValue(func() [2][]byte {
	return [2][]byte{encodeWide(wideNumbers(0)), encodeWide(wideNumbers(1))}
})

// mergeWide merges number by number, and is not commutative.
func mergeWide(left, right []uint64) ([]uint64, error) {
	for i := range left {
		left[i] = 3*left[i] + right[i]
	}
	return left, nil
}

// wideJob returns a job of two wide partials. The parameter merge may replace mergeWide.
func wideJob(merge func(left, right []uint64) ([]uint64, error)) jobs.Job {
	return jobs.MustNew(wideDefinition(merge))
}

func wideDefinition(merge func(left, right []uint64) ([]uint64, error)) jobs.Definition[struct{}, []uint64, int] {
	return jobs.Definition[struct{}, []uint64, int]{
		Name: "wide", Version: "1", Codec: jobs.Vector[uint64]{}, Shards: jobs.Vector[uint64]{},
		Plan:   func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 2}, nil },
		Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[[]uint64], error) { return wideMapper{}, nil },
		Merge:  merge,
		Finish: func(_ context.Context, _ struct{}, root []uint64) (int, error) { return len(root), nil },
	}
}

// startWide runs a worker that holds the partials of a wideJob and has memory for one of them.
func startWide(t *testing.T, job jobs.Job, store Store) (*running, *leader) {
	t.Helper()
	url := startServer(t, -1).ClientURL()
	nc := connect(t, url)
	l := startLeader(t, nc, 1)
	l.holds = true
	w := startWorker(t, nc, store, 1, []jobs.Job{job}, nil, func(c *Config) {
		c.Bulk, c.Memory, c.SpillDir = connect(t, url), wide*3/2, t.TempDir()
	})
	l.wait("the worker's first report", func() bool { return len(l.reports) > 0 })
	l.assign("j", job, 0, 2, engine.Span{Lo: 0, Hi: 1}, engine.Span{Lo: 1, Hi: 2})
	l.wait("two held nodes", func() bool { return len(l.last().Nodes) == 2 })
	return w, l
}

// widePartialOf serves the partial of a partition.
type widePartialOf uint64

// ReadAt implements [bulk.Source].
func (p widePartialOf) ReadAt(_ string, _ engine.Node, to []byte, offset int64) error {
	copy(to, widePartials()[p][offset:])
	return nil
}

// TestMergeStreams merges two partials that together exceed the worker's memory.
func TestMergeStreams(t *testing.T) {
	merged, _ := mergeWide(wideNumbers(0), wideNumbers(1)) // mergeWide never fails
	want := wire.HeldNode{Job: "j", Node: engine.Node{Level: 1}, Size: wide, Sum: wire.Checksum(encodeWide(merged))}
	for _, from := range []struct {
		name        string
		left, right wire.Partial // where the operands come from
		failed      int          // number of attempts that failed before
	}{
		{"both here", wire.Partial{Holder: "w"}, wire.Partial{Holder: "w"}, 0},
		{"both here, again", wire.Partial{Holder: "w"}, wire.Partial{Holder: "w"}, 1},
		{"right elsewhere", wire.Partial{Holder: "w"}, wire.Partial{Holder: "x1"}, 0},
		{"left elsewhere", wire.Partial{Holder: "x0"}, wire.Partial{Holder: "w"}, 0},
		{"both elsewhere", wire.Partial{Holder: "x0"}, wire.Partial{Holder: "x1"}, 0},
		{"right in storage", wire.Partial{Holder: "w"}, wire.Partial{Blob: "1"}, 0},
		{"left in storage", wire.Partial{Blob: "0"}, wire.Partial{Holder: "x1"}, 0},
		{"both in storage", wire.Partial{Blob: "0"}, wire.Partial{Blob: "1"}, 0},
	} {
		t.Run(from.name, func(t *testing.T) {
			t.Parallel()
			var longest atomic.Int64
			w, l := startWide(t, wideJob(func(left, right []uint64) ([]uint64, error) {
				longest.Store(max(longest.Load(), int64(8*len(left))))
				return mergeWide(left, right)
			}), wideStore{noStore{t}})
			for partition, worker := range []string{"x0", "x1"} {
				serving, err := bulk.Serve(w.nc, w.cfg.Subjects.Bulk(worker), widePartialOf(partition))
				if err != nil {
					t.Fatal(err)
				}
				defer serving.Close()
			}
			l.mergeOf([]wire.Partial{from.left, from.right}, from.failed)
			l.wait("the merged node", func() bool { return slices.Contains(l.last().Nodes, want) || len(l.failures) > 0 })
			if len(l.failures) > 0 {
				t.Fatalf("the merge failed: %+v", l.failures)
			}
			if longest.Load() > atOnce {
				t.Errorf("Merge got %d bytes at once, want at most %d", longest.Load(), atOnce)
			}
		})
	}
}

// mergeOf makes the worker merge the partials of a wideJob.
func (l *leader) mergeOf(operands []wire.Partial, failed int) { l.mergeWithin(operands, failed, 0) }

// mergeWithin is like mergeOf with a time limit; 0 means none.
func (l *leader) mergeWithin(operands []wire.Partial, failed int, within time.Duration) {
	for i := range operands {
		p := &operands[i]
		p.Node, p.Size = engine.Leaf(uint64(i)), wide
		if p.Holder != "" {
			p.Sum = wire.Checksum(widePartials()[i])
		} else {
			p.Size += 100 // a leader does not know the size of what an earlier version has stored
		}
	}
	l.order(func(r *wire.Receipt) {
		call := &wire.Call{Function: wire.Merge, Node: engine.Node{Level: 1}, Operands: operands, Failed: failed, Within: within}
		l.number++
		r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: l.number}, Job: "j", Call: call})
	})
}

// wideStore contains the partials of a wideJob.
type wideStore struct{ noStore }

func (wideStore) Partial(_ context.Context, _, blob string) ([]byte, error) {
	return bytes.Clone(widePartials()[blob[0]-'0']), nil
}

// TestMergeStreamsFails checks that a failed merge of streams loses no operand.
func TestMergeStreamsFails(t *testing.T) {
	job := wideJob(func(left, right []uint64) ([]uint64, error) {
		if left[0] > 0 { // this is not the first range
			return nil, errors.New("broken")
		}
		return mergeWide(left, right)
	})
	w, l := startWide(t, job, noStore{t})
	l.mergeOf([]wire.Partial{{Holder: "w"}, {Holder: "nobody"}}, 0)
	l.wait("the first failure", func() bool { return len(l.failures) == 1 })
	if f := l.failures[0]; f.Holder != "nobody" || !strings.Contains(f.Error, "no process serves it") {
		t.Errorf("got %+v, want a failed fetch", f)
	}
	damaged, err := bulk.Serve(w.nc, w.cfg.Subjects.Bulk("x"), damagedPartial(1))
	if err != nil {
		t.Fatal(err)
	}
	defer damaged.Close()
	l.mergeOf([]wire.Partial{{Holder: "w"}, {Holder: "x"}}, 0)
	l.wait("the second failure", func() bool { return len(l.failures) == 2 })
	if f := l.failures[1]; f.Holder != "x" || !strings.Contains(f.Error, "node 0/1 of 8388616 bytes: the bytes are damaged") {
		t.Errorf("got %+v, want damaged bytes", f)
	}
	if n := len(l.lastNodes()); n != 2 {
		t.Fatalf("%d partials are held after failed fetches, want 2", n)
	}
	l.mergeOf([]wire.Partial{{Holder: "w"}, {Holder: "w"}}, 0)
	l.wait("the third failure", func() bool { return len(l.failures) == 3 })
	if f := l.failures[2]; f.Holder != "" || !f.Permanent || !strings.Contains(f.Error, "broken") {
		t.Errorf("got %+v, want the error of Merge", f)
	}
	if n := len(l.lastNodes()); n != 2 {
		t.Errorf("%d partials are held after a failed merge, want 2", n)
	}
}

// TestMergeWithoutSpillFolder merges two partials that together exceed the worker's memory, and whose spill folder is gone. The
// worker merges them in memory and writes the merged partial to storage.
func TestMergeWithoutSpillFolder(t *testing.T) {
	merged, _ := mergeWide(wideNumbers(0), wideNumbers(1)) // mergeWide never fails
	var longest atomic.Int64
	written := make(chan []byte, 1)
	w, l := startWide(t, wideJob(func(left, right []uint64) ([]uint64, error) {
		longest.Store(max(longest.Load(), int64(8*len(left))))
		return mergeWide(left, right)
	}), blobStore{noStore{t}, written})
	if err := os.RemoveAll(w.cfg.SpillDir); err != nil {
		t.Fatal(err)
	}
	l.mergeOf([]wire.Partial{{Holder: "w"}, {Holder: "w"}}, 1)
	if !bytes.Equal(<-written, encodeWide(merged)) || longest.Load() <= atOnce {
		t.Errorf("other bytes were written, or Merge got %d bytes at once and not all", longest.Load())
	}
}

// blobStore sends the partials that are written to it to a channel.
type blobStore struct {
	noStore
	written chan<- []byte
}

func (s blobStore) PutPartial(_ context.Context, _ string, _ engine.Node, data []byte) (string, error) {
	s.written <- bytes.Clone(data)
	return strings.Repeat("ab", 32), nil
}

// TestMergeStreamsTooLong checks that the streams of a merge fail when its time limit has passed, so that its code returns.
func TestMergeStreamsTooLong(t *testing.T) {
	d := wideDefinition(mergeWide)
	d.Shards = nil
	d.Large = &jobs.Large[struct{}, int]{
		Has: func(struct{}) bool { return true },
		Merge: func(left, _ io.Reader, _ io.Writer) error {
			for {
				if _, err := left.Read(nil); err != nil {
					return err
				}
				time.Sleep(time.Millisecond)
			}
		},
		Finish: func(context.Context, struct{}, *io.SectionReader) (int, error) { return 0, nil },
	}
	_, l := startWide(t, jobs.MustNew(d), noStore{t})
	l.mergeWithin([]wire.Partial{{Holder: "w"}, {Holder: "w"}}, 0, time.Millisecond)
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	if f := l.failures[0]; f.Permanent || !f.Slow || f.Holder != "" {
		t.Errorf("got %+v, want a call that takes too long", f)
	}
	if n := len(l.lastNodes()); n != 2 {
		t.Errorf("%d partials are held after the failure, want 2", n)
	}
}

// A merge that returns another number of bytes has broken the contract of shards.
func TestMergeStreamsOfOtherSize(t *testing.T) {
	job := wideJob(func(left, right []uint64) ([]uint64, error) { return slices.Clone(left[1:]), nil })
	_, l := startWide(t, job, noStore{t})
	l.mergeOf([]wire.Partial{{Holder: "w"}, {Holder: "w"}}, 1)
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	if f := l.failures[0]; !f.Permanent || !strings.Contains(f.Error, "want the same number") {
		t.Errorf("got %+v", f)
	}
}
