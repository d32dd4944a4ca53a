package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Local runs a job in this process alone: the reference that a cluster's bytes
// must equal. It computes the same tree with the same merges.
type Local struct {
	Slots    int                    // goroutines that map, at least 1
	Attempts int                    // times to try a partition that fails, at least 1
	Progress func(done, all uint64) // optional; called often, from several goroutines
}

// LocalResult is what a run in one process gives.
type LocalResult struct {
	Result     json.RawMessage
	Partitions uint64
	Executed   uint64 // attempts that failed are not counted
}

// Run plans, maps, merges and finishes. Params are in the stored form.
func (l Local) Run(ctx context.Context, job Job, params Params) (LocalResult, error) {
	plan, err := job.Plan(ctx, params)
	if err != nil {
		return LocalResult{}, err
	}
	tree, err := NewTree(plan.Partitions)
	if err != nil {
		return LocalResult{}, err
	}
	task, err := job.Open(ctx, params, plan)
	if err != nil {
		return LocalResult{}, err
	}
	root, err := l.reduce(ctx, job, task, tree)
	if closeErr := task.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close job %s: %w", job.Name(), closeErr)
	}
	if err != nil {
		return LocalResult{}, err
	}
	result, err := job.Finish(ctx, params, root)
	if err != nil {
		return LocalResult{}, err
	}
	return LocalResult{Result: result, Partitions: plan.Partitions, Executed: plan.Partitions}, nil
}

// subtreesPerSlot is how many pieces a slot gets: enough that slots which finish
// early find work, few enough that pieces stay large.
const subtreesPerSlot = 64

// reduce computes the partials of equal subtrees side by side and then merges
// them level by level. Subtrees of one level are nodes of the tree, so the merges
// are the tree's own.
func (l Local) reduce(ctx context.Context, job Job, task *Task, tree Tree) ([]byte, error) {
	level := tree.Root().Level
	for level > 0 && (tree.Partitions()-1)>>level+1 < uint64(l.Slots*subtreesPerSlot) {
		level--
	}
	subtrees := make([][]byte, (tree.Partitions()-1)>>level+1)
	var next, done atomic.Uint64
	var stop atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	for range l.Slots {
		group.Go(func() error {
			s := task.NewStack()
			for {
				i := next.Add(1) - 1
				if i >= uint64(len(subtrees)) {
					return nil
				}
				span := tree.Span(Node{level, i})
				if err := l.runSpan(ctx, s, span, &stop); err != nil {
					return err
				}
				partials, err := s.Drain()
				if err != nil {
					return err
				}
				subtrees[i] = partials[0].Data
				if l.Progress != nil {
					l.Progress(done.Add(span.Len()), tree.Partitions())
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for len(subtrees) > 1 {
		for i := 0; i+1 < len(subtrees); i += 2 {
			merged, err := job.Merge(subtrees[i], subtrees[i+1])
			if err != nil {
				return nil, err
			}
			subtrees[i/2] = merged
		}
		if len(subtrees)%2 == 1 {
			subtrees[len(subtrees)/2] = subtrees[len(subtrees)-1]
		}
		subtrees = subtrees[:(len(subtrees)+1)/2]
	}
	return subtrees[0], nil
}

// runSpan runs a span to its end. A partition that fails is tried again at once.
func (l Local) runSpan(ctx context.Context, s Stack, span Span, stop *atomic.Bool) error {
	for attempt := 1; !span.Empty(); attempt++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		next, err := s.Run(ctx, span, stop)
		if next > span.Lo {
			attempt = 1
		}
		span.Lo = next
		if err != nil && (IsPermanent(err) || attempt >= l.Attempts) {
			return err
		}
	}
	return nil
}
