package ledger

import (
	"fmt"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestPartialsInReports checks that workers report smaller partials the more slots there are.
func TestPartialsInReports(t *testing.T) {
	for _, c := range []struct {
		workers int
		want    uint32
	}{{1, 67108}, {2, 33554}, {10, 6710}, {20, 4096}} {
		l, err := New(Config{Epoch: 1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		kind := wire.JobKind{Name: "kind", Version: "1"}
		for i := range c.workers {
			hello := &wire.Hello{Slots: 1000, Holds: true, Knows: []wire.JobKind{kind}}
			l.Step(0, Reported{Report: wire.Report{Epoch: 1, Worker: fmt.Sprint("w", i), Sequence: 1, Hello: hello}})
		}
		l.Step(0, JobAdded{Spec: store.Spec{ID: "j", Job: "kind", Version: "1", MaxAttempts: 1}, Plan: Plan{Partitions: 60}})
		j := l.jobsByID["j"]
		if got := l.openingFor(l.workers[0], j); got.Inline != c.want || !got.MayReport(int(c.want)) || got.MayReport(int(c.want)+1) {
			t.Errorf("%d workers with 1000 slots: got %d, want %d", c.workers, got.Inline, c.want)
		}
		l.workers[0].hello.Holds = false
		if got := l.openingFor(l.workers[0], j); got.Inline != 0 || !got.MayReport(wire.MaxInline) || got.MayReport(wire.MaxInline+1) {
			t.Errorf("a worker that holds no partials gets %d", got.Inline)
		}
	}
}
