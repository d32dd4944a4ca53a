package executor

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestMergeUsesIdleSlots checks that a merge of large partials is made in shards, on the slot that waits for a span
// too, and that the merged partial is the same.
func TestMergeUsesIdleSlots(t *testing.T) {
	var halves atomic.Int64
	job := jobs.MustNew(jobs.Definition[struct{}, []byte, int]{
		Name: "blocks", Version: "1", Codec: jobs.Raw{}, Shards: jobs.Raw{},
		Plan: func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 2}, nil },
		Open: func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[[]byte], error) { return blockMapper{}, nil },
		Merge: func(left, right []byte) ([]byte, error) {
			if len(left) == 1<<19 {
				halves.Add(1)
			}
			for i := range left {
				left[i] += right[i]
			}
			return left, nil
		},
		Finish: func(_ context.Context, _ struct{}, root []byte) (int, error) { return len(root), nil },
	})
	w, l := startHolder(t, job, noStore{t})
	l.wait("the slot to wait for a span", func() bool {
		n := w.idle.Borrow(2)
		w.idle.Add(n)
		return n == 1
	})
	l.merge("w", 0)
	l.wait("the merged node", func() bool { return len(l.last().Nodes) == 1 })
	want := wire.HeldNode{Job: "j", Node: engine.Node{Level: 1}, Size: 1 << 20, Sum: wire.Checksum(bytes.Repeat([]byte{1}, 1<<20))}
	if got := l.lastNodes()[0]; got != want || halves.Load() != 2 {
		t.Errorf("got %+v of %d halves, want %+v of 2", got, halves.Load(), want)
	}
}
