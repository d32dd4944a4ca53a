package ledger

import (
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestDemand(t *testing.T) {
	l, err := New(Config{Epoch: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, workers int) {
		t.Helper()
		if got := l.Demand(time.Minute); got != workers {
			t.Errorf("%s: demand is %d workers, want %d", what, got, workers)
		}
	}
	want("without a job", 0)

	add := func(id string, partitions uint64, nodes ...engine.Node) *job {
		spec := store.Spec{ID: id, Job: "kind", Version: "1", MaxAttempts: 1}
		e := JobAdded{Spec: spec, Plan: Plan{Partitions: partitions}}
		for i, n := range nodes {
			e.Nodes = append(e.Nodes, FinishedNode{Node: n, Ref: Ref(i + 1)})
		}
		l.Step(0, e)
		return l.jobsByID[id]
	}
	a := add("a", 6000)
	want("a job of unknown rate", 1)
	a.rate.add(10, 1) // 10 partitions per second: 600 slot-seconds
	want("a job of 10 slot-minutes", 10)

	for _, id := range []string{"w1", "w2"} {
		hello := &wire.Hello{Slots: 4}
		l.Step(0, Reported{Report: wire.Report{Epoch: 1, Worker: id, Sequence: 1, Hello: hello}})
	}
	want("the same with 4 slots per worker", 3)

	b := add("b", 1200)
	b.rate.add(1, 1) // 1 partition per second: 20 slot-minutes
	want("two jobs", 8)
	l.Step(0, JobEnded{Job: "a"})
	want("the second job alone", 5)
	l.Step(0, JobEnded{Job: "b"})
	c := add("c", 1024, engine.Node{Level: 9, Index: 0}, engine.Node{Level: 8, Index: 2}, engine.Node{Level: 7, Index: 6}, engine.Node{Level: 6, Index: 14}, engine.Node{Level: 5, Index: 30}, engine.Node{Level: 4, Index: 62}, engine.Node{Level: 3, Index: 126})
	c.rate.add(1, 60) // 1 partition per minute: 1,024 slot-minutes, of which 8 remain
	want("8 partitions left", 2)
	c.rate = rate{1, 1e9}
	l.cfg.MaxWorkers = 1
	want("more than MaxWorkers", 1)

	l.cfg.MaxWorkers = 1000
	l.Step(0, JobEnded{Job: "c"})
	spec := store.Spec{ID: "d", Job: "kind", Version: "1", MaxAttempts: 1}
	l.Step(0, JobAdded{Spec: spec, Plan: Plan{Partitions: 6000}, Snapshot: Snapshot{Work: store.Work{PartitionTime: 100 * time.Millisecond}}})
	want("a resumed job of 10 slot-minutes", 3)
}
