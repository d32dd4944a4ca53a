package ledger

import (
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
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

// TestSlowPartitionOfAResumedJob runs a partition for two minutes under a new leader. The partition is slow if
// the partitions of the job took a second under the last leader, and not if they took a minute.
func TestSlowPartitionOfAResumedJob(t *testing.T) {
	for partitionTime, slow := range map[time.Duration]bool{time.Second: true, time.Minute: false} {
		l, err := New(Config{Epoch: 2}, 0)
		if err != nil {
			t.Fatal(err)
		}
		l.Step(0, JobAdded{Spec: store.Spec{ID: "j", Job: "k", Version: "1", MaxAttempts: 1}, Plan: Plan{Partitions: 2}, Snapshot: Snapshot{Work: store.Work{PartitionTime: partitionTime}}})
		report := wire.Report{Epoch: 2, Worker: "w", Hello: &wire.Hello{Slots: 1, Knows: []wire.JobKind{{Name: "k", Version: "1"}}}}
		for now := time.Duration(0); now <= 2*time.Minute; now += time.Second {
			report.Sequence++
			report.Spans = []wire.HeldSpan{{ID: wire.SpanID{Epoch: 1, Number: 1}, Job: "j", Span: engine.Span{Hi: 1}, Running: true}}
			l.Step(now, Reported{Report: report})
			report.Hello = nil
		}
		if trouble := l.Jobs()[0].Trouble; (trouble != "") != slow {
			t.Errorf("partitions take %v: the trouble of the job is %q", partitionTime, trouble)
		}
	}
}
