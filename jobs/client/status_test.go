package client

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestStage(t *testing.T) {
	leaf := func(i uint64) store.StoredNode { return store.StoredNode{Node: jobs.Leaf(i), Data: []byte{1}} }
	skipped := store.StoredNode{Node: jobs.Leaf(2), Empty: true}
	running := func(nodes ...store.StoredNode) record {
		return record{store.Spec{ID: "j"}, store.Manifest{State: Running, Partitions: 4, Nodes: nodes}}
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
		{"a checkpoint with the root", running(store.StoredNode{Node: jobs.Node{Level: 2}, Data: []byte{1}}), nil, Finishing, 0},
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
