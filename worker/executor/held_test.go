package executor

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// blockMapper maps every partition to a large partial.
type blockMapper struct{}

func (blockMapper) Map(_ context.Context, partition uint64) ([]byte, error) {
	return bytes.Repeat([]byte{byte(partition)}, 1<<20), nil
}

// blocks returns a job with large partials. Merge fails if broken is true.
func blocks(broken bool) jobs.Job {
	return jobs.MustNew(jobs.Definition[struct{}, []byte, int]{
		Name: "blocks", Version: "1", Codec: jobs.Raw{},
		Plan: func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 2}, nil },
		Open: func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[[]byte], error) { return blockMapper{}, nil },
		Merge: func(left, right []byte) ([]byte, error) {
			if broken {
				return nil, errors.New("broken")
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
	url := startServer(t, -1).ClientURL()
	nc := connect(t, url)
	l := startLeader(t, nc, 1)
	l.holds = true
	known := []jobs.Job{job, sum("s", func(context.Context, uint64) error { return nil })}
	w := startWorker(t, nc, store, 1, known, nil, func(c *Config) { c.Bulk, c.Memory = connect(t, url), 1<<30 })
	l.wait("the worker's first report", func() bool { return len(l.reports) > 0 })
	l.assign("j", job, 0, 2, jobs.Span{Lo: 0, Hi: 1}, jobs.Span{Lo: 1, Hi: 2})
	l.wait("two held nodes", func() bool { return len(l.last().Nodes) == 2 })
	return w, l
}

// merge makes the worker merge the held partials. The right one is said to be held by a worker.
func (l *leader) merge(holder string) {
	l.t.Helper()
	l.mu.Lock()
	var operands []wire.Partial
	for _, n := range l.last().Nodes {
		operands = append(operands, wire.Partial{Node: n.Node, Size: n.Size, Sum: n.Sum, Holder: "w"})
	}
	l.mu.Unlock()
	operands[1].Holder = holder
	l.order(func(r *wire.Receipt) {
		call := &wire.Call{Function: wire.Merge, Node: jobs.Node{Level: 1}, Operands: operands}
		l.number++
		r.Assigned = []wire.Assignment{{ID: wire.SpanID{Epoch: 1, Number: l.number}, Job: "j", Call: call}}
	})
}

func TestMergeOfHeldPartials(t *testing.T) {
	_, l := startHolder(t, blocks(false), noStore{t})
	l.merge("w")
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 })
	want := wire.HeldNode{Job: "j", Node: jobs.Node{Level: 1}, Size: 1 << 20, Sum: wire.Checksum(bytes.Repeat([]byte{1}, 1<<20))}
	if got := l.last().Nodes[0]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A merge that fails may have changed the partials that it took over, so they are lost.
func TestFailedMergeLosesItsOperands(t *testing.T) {
	_, l := startHolder(t, blocks(true), noStore{t})
	l.merge("w")
	l.wait("no held node", func() bool { return len(l.last().Nodes) == 0 && len(l.failures) == 1 })
	if f := l.failures[0]; f.Function != wire.Merge || f.Holder != "" || !strings.Contains(f.Error, "broken") {
		t.Errorf("got %+v", f)
	}
}

// A merge whose other operand cannot be fetched has not taken over its own yet.
func TestFailedFetchLosesNothing(t *testing.T) {
	_, l := startHolder(t, blocks(false), noStore{t})
	l.merge("nobody")
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	if f := l.failures[0]; f.Holder != "nobody" || !strings.Contains(f.Error, "fetch node 0/1 of 1048576 bytes: no process serves it") {
		t.Errorf("got %+v", f)
	}
	l.merge("w")
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 })
}

// A held partial that is too large for storage stays held, and other jobs are not affected.
func TestHeldPartialTooLargeForStorage(t *testing.T) {
	w, l := startHolder(t, blocks(false), &narrowStore{})
	l.order(func(r *wire.Receipt) {
		r.Jobs = []wire.JobReceipt{{Job: "j", Received: l.received["j"], Store: []jobs.Node{jobs.Leaf(1)}}}
	})
	l.wait("the log line", func() bool {
		return strings.Contains(w.log.String(), `A partial is too large for storage, it is lost if this worker ends" job=j node=0/1 bytes=1048576`)
	})
	other := w.known[wire.JobKind{Name: "s", Version: "1"}]
	l.assign("k", other, 0, 10, all(10))
	l.wait("the other job", func() bool { return l.has("k", 10, all(10)) && len(l.last().Nodes) == 2 })
}
