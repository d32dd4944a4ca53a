package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Verified is what [Local.Verify] has compared.
type Verified struct {
	Nodes      int    // number of kept nodes that were computed again
	All        int    // number of kept nodes from which they were chosen
	Partitions uint64 // number of partitions that were computed again
	Wrong      []Span // spans of the nodes of which other bytes are kept, in order
	Lacking    uint64 // number of partitions of the job of which nothing is kept

	// Result is the result that follows from the kept nodes. It is nil if partitions are lacking.
	Result json.RawMessage
}

// Verify computes a sample of the kept nodes of a planned job again and compares the bytes. It also computes the result
// that follows from all kept nodes. The sample has the lowest kept node of each partition that the audit chooses.
// Verify keeps nothing in [Local].Reuse.
func (l Local) Verify(ctx context.Context, job Job, params Params, plan Plan, sample Audit) (v Verified, err error) {
	ctx, release := WithGrant(ctx, l.Grant)
	defer release()
	l.Reuse.Kept = readOnly{l.Reuse.Kept}
	err = job.withTask(ctx, params, plan, func(task openTask) error {
		found, err := task.Find(ctx, l.Reuse)
		if err != nil {
			return err
		}
		v.Lacking = plan.Partitions - found.Partitions
		if v.Lacking == 0 && len(found.Nodes) == 1 {
			v.Result, _, err = job.finish(ctx, params, engine.Operand{Data: found.Nodes[0].Data})
		}
		return err
	})
	if err != nil {
		return v, err
	}
	err = job.withTask(ctx, params, plan, func(task openTask) error { return l.recompute(ctx, task, plan, sample, &v) })
	return v, err
}

// recompute computes the nodes of the sample.
func (l Local) recompute(ctx context.Context, task openTask, plan Plan, sample Audit, v *Verified) error {
	nodes, err := task.lowest(ctx, l.Reuse)
	if err != nil {
		return err
	}
	v.All = len(nodes)
	nodes = slices.DeleteFunc(nodes, func(n keptNode) bool {
		for p := n.span.Lo; p < n.span.Hi; p++ {
			if sample.chooses(p, plan.Partitions) {
				return false
			}
		}
		return true
	})
	var mu sync.Mutex
	err = l.each(ctx, task, uint64(len(nodes)), func(i uint64) Span { return nodes[i].span }, func(i uint64, s engine.Stack) error {
		n := nodes[i]
		partials, err := s.Drain(n.span.Hi)
		if err != nil {
			return err
		}
		kept, ok := l.Reuse.Kept.Get(ctx, n.key)
		if !ok {
			return nil // it was dropped
		}
		mu.Lock()
		defer mu.Unlock()
		v.Nodes, v.Partitions = v.Nodes+1, v.Partitions+n.span.Len()
		if len(partials) != 1 || !bytes.Equal(partials[0].Data, kept.Data) {
			v.Wrong = append(v.Wrong, n.span)
		}
		return nil
	})
	slices.SortFunc(v.Wrong, func(a, b Span) int { return cmp.Compare(a.Lo, b.Lo) })
	return err
}

// withTask opens a job for do and closes it.
func (j Job) withTask(ctx context.Context, params Params, plan Plan, do func(task openTask) error) error {
	task, err := j.binding.open(ctx, params, plan)
	if err != nil {
		return err
	}
	err = do(task)
	if closeErr := task.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close job %s: %w", j.Name(), closeErr)
	}
	return err
}

// readOnly is a collection that keeps nothing.
type readOnly struct{ Kept }

func (readOnly) Keep(context.Context, Key, KeptPartial) {}
