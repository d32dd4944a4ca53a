package client

import (
	"reflect"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestStage(t *testing.T) {
	leaf := func(i uint64) store.StoredNode { return store.StoredNode{Node: engine.Leaf(i), Data: []byte{1}} }
	skipped := store.StoredNode{Node: engine.Leaf(2), Empty: true}
	running := func(nodes ...store.StoredNode) record {
		return record{spec: store.Spec{ID: "j"}, manifest: store.Manifest{State: Running, Partitions: 4, Nodes: nodes}}
	}
	live := func(p wire.JobProgress) *wire.Jobs {
		p.Job, p.State, p.Partitions = "j", "running", 4
		return &wire.Jobs{Epoch: 1, Jobs: []wire.JobProgress{p}}
	}
	for _, tt := range []struct {
		name  string
		r     record
		live  *wire.Jobs
		stage Stage
		left  uint64
	}{
		{"queued", record{manifest: store.Manifest{State: Queued}}, nil, "", 0},
		{"a checkpoint without a plan", record{manifest: store.Manifest{State: Running}}, nil, Planning, 0},
		{"a checkpoint without all partitions", running(leaf(0), leaf(1)), nil, Mapping, 0},
		{"a checkpoint with all partitions", running(leaf(0), leaf(1), skipped, leaf(3)), nil, Merging, 2},
		{"a checkpoint with the root", running(store.StoredNode{Node: engine.Node{Level: 2}, Data: []byte{1}}), nil, Finishing, 0},
		{"live, without all partitions", running(), live(wire.JobProgress{Done: 3, Rate: 1}), Mapping, 0},
		{"live, with all partitions", running(), live(wire.JobProgress{Done: 4, MergesLeft: 2, Rate: 4e-11}), Merging, 2},
		{"live, with the root", running(leaf(0), leaf(1), skipped, leaf(3)), live(wire.JobProgress{Done: 4}), Finishing, 0},
		{"completed", record{manifest: store.Manifest{State: Completed, Partitions: 4}}, nil, "", 0},
		{"cancelled", record{manifest: store.Manifest{State: Cancelled, Partitions: 4, Nodes: running(leaf(0), leaf(1), leaf(2), leaf(3)).manifest.Nodes}}, nil, "", 0},
	} {
		s := newStatus(tt.r, tt.live)
		if s.Stage() != tt.stage || s.MergesLeft != tt.left {
			t.Errorf("%s: stage %q with %d merges left, want %q and %d", tt.name, s.Stage(), s.MergesLeft, tt.stage, tt.left)
		}
		if left, ok := s.Remaining(); ok && tt.stage != Mapping {
			t.Errorf("%s: %v remain", tt.name, left)
		}
	}
}

// TestStatusOfLargePartials compares the status of a job with the leader's answer about the job's
// large partials, and checks the stage and the remaining time in both parts of the job.
func TestStatusOfLargePartials(t *testing.T) {
	r := record{spec: store.Spec{ID: "j"}, manifest: store.Manifest{State: Running, Partitions: 8, Work: store.Work{Executed: 1}}}
	mapping := wire.JobProgress{
		Job: "j", State: "running", Partitions: 8, Done: 3, Executed: 5, Rate: 0.5, Workers: 2,
		Unreported: 1, HeldBytes: 700, MergedBytes: 100, MergeRate: 50,
		Merging: []wire.Merging{{Node: engine.Node{Level: 2, Index: 1}, Worker: "w1", Bytes: 600, For: time.Second}, {Node: engine.Node{Level: 1, Index: 0}, Worker: "w2"}},
	}
	merging := mapping
	merging.Done, merging.Executed, merging.Unreported, merging.MergesLeft, merging.MergeLeft = 8, 10, 0, 3, 500
	for _, tt := range []struct {
		name      string
		p         wire.JobProgress
		stage     Stage
		remaining time.Duration
		live      Live
	}{
		{"mapping", mapping, Mapping, 8 * time.Second, Live{Workers: 2, Rate: 0.5, Unreported: 1, HeldBytes: 700, MergedBytes: 100, MergeRate: 50}},
		{"merging", merging, Merging, 10 * time.Second, Live{Workers: 2, Rate: 0.5, HeldBytes: 700, MergedBytes: 100, MergeRate: 50, MergeLeft: 500}},
	} {
		s := newStatus(r, &wire.Jobs{Epoch: 1, Jobs: []wire.JobProgress{tt.p}})
		tt.live.Merges = []Merge{{Node: "2/1", Worker: "w1", Bytes: 600, For: time.Second}, {Node: "1/0", Worker: "w2"}}
		if s.Live == nil || !reflect.DeepEqual(*s.Live, tt.live) {
			t.Errorf("%s: the leader's part of the status is %+v, want %+v", tt.name, s.Live, tt.live)
		}
		if remaining, ok := s.Remaining(); s.Stage() != tt.stage || !ok || remaining != tt.remaining {
			t.Errorf("%s: stage %q, %v remain (known: %v), want %q and %v", tt.name, s.Stage(), remaining, ok, tt.stage, tt.remaining)
		}
		if s.Repeated != 2 { // the checkpoint contains none of the held partitions
			t.Errorf("%s: %d executions are repeated, want 2", tt.name, s.Repeated)
		}
	}
}
