package term_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestMergeForDeadLeaderCountsExecutions lets a worker report a merge that it has made for a leader
// that died together with the worker that had run the partitions. The executions are counted although
// nobody reports them, also by the leader after the next.
func TestMergeForDeadLeaderCountsExecutions(t *testing.T) {
	c := newCluster(t)
	first := c.lead(plain)
	job := c.planned("partitions=2")
	first.kill()
	w := c.addWorker("w1")
	w.hangs = true // so that the second leader does not end the job
	merged := lettersNode(t, engine.Node{Level: 1})
	merged.MergedFor = first.epoch
	w.items[job] = []wire.Item{{Partial: &merged}}
	second := c.lead(plain)
	c.until("the checkpoint", func() bool { return len(c.manifest(job).Nodes) == 1 })
	second.kill()
	w.hangs = false
	c.lead(plain)
	c.until("the job's end", func() bool { return c.manifest(job).State.Final() && c.cleanedUp() })
	result, err := c.store.Result(context.Background(), job, "")
	if m := c.manifest(job); err != nil || m.State != store.Completed || m.Executed != 2 || string(result) != localResult(t, "partitions=2") || w.ran[job] > 0 {
		t.Errorf("job is %s, executed %d partitions, result %q, %v; the worker ran %d", m.State, m.Executed, result, err, w.ran[job])
	}
}

// lettersNode returns the partial of a node of the job letters.
func lettersNode(t *testing.T, node engine.Node) wire.Partial {
	t.Helper()
	params, err := letters.Params(nil)
	if err != nil {
		t.Fatal(err)
	}
	span := engine.Span{Lo: node.Index << node.Level, Hi: (node.Index + 1) << node.Level}
	task, err := letters.Engine().Open(context.Background(), params, span.Hi, []byte{})
	if err != nil {
		t.Fatal(err)
	}
	stack := task.NewStack()
	var never atomic.Bool
	if _, err := stack.Run(context.Background(), span, &never); err != nil {
		t.Fatal(err)
	}
	partials, err := stack.Drain(span.Hi)
	if err != nil {
		t.Fatal(err)
	}
	return wire.NewPartial(partials[0].Node, partials[0].Data)
}
