package ledger

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestWorkersHaveUsage checks that both lists of workers contain the usage in the last report.
func TestWorkersHaveUsage(t *testing.T) {
	l, err := New(Config{Epoch: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := wire.Usage{Memory: 9, Nodes: 2, NodeBytes: 5}
	for i, usage := range []wire.Usage{{Memory: 1, Nodes: 1, NodeBytes: 1}, want} {
		report := wire.Report{Epoch: 1, Worker: "w", Sequence: uint64(i) + 1, Usage: usage}
		if i == 0 {
			report.Hello = &wire.Hello{Slots: 1}
		}
		l.Step(0, Reported{Report: report})
	}
	if got := l.Workers(); len(got) != 1 || got[0].Usage != want {
		t.Errorf("Workers: got %+v, want the usage %+v", got, want)
	}
	if got, _ := l.WorkersAfter("", 1); len(got) != 1 || got[0].Usage != want {
		t.Errorf("WorkersAfter: got %+v, want the usage %+v", got, want)
	}
}
