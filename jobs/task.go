package jobs

import (
	"cmp"
	"context"
	"io"
	"iter"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Span is the range of partitions [Lo, Hi). Lo and Hi are of type uint64. The method Stream of a
// [Streamer] gets a span.
type Span = engine.Span

// MaxPartitions is the largest number of partitions of a [Plan].
const MaxPartitions = engine.MaxPartitions

// openTask is an open job. The only implementation is task.
type openTask interface {
	engine.Task
	audits(Audit) // makes the stacks that NewStack creates from now on audit partitions at once

	// reuses makes the stacks that NewStack creates from now on take and keep partials of r. It returns
	// the largest nodes whose partials are probably kept, and has read those above a level.
	reuses(ctx context.Context, r Reuse, level uint8) ([]keptNode, error)
	// uncertain returns how many partitions of a span must not be reused. The task must reuse partials.
	uncertain(ctx context.Context, span engine.Span) uint64
	// inputs returns the objects that the partitions of a span read, or nil if the mapper does not name them.
	inputs(span engine.Span) iter.Seq[InputObject]
	// describe passes what the job reads to the collection of kept partials, if a dry run may need it.
	describe() error
	// lowest returns the kept nodes of r that contain no other kept node.
	lowest(ctx context.Context, r Reuse) ([]keptNode, error)
	// reused returns what the task has reused so far with nodes that begin below a partition.
	reused(below uint64) Reused
	forest() forest
	// round is like the method Round of [engine.Task].
	round(ctx context.Context, state []byte) (openTask, error)
}

// opened is what all stacks of an open job use.
type opened[T any] struct {
	tree   engine.Tree
	mapper Mapper[T]
	merge  merger[T]
	codec  Codec[T]
	pool   *spares[T] // values that all merges of the task have freed
	reuse  *reuser    // nil unless partials are reused

	estimates bool // true if the job's prefixes are judged
}

// task is the [engine.Task] of a job.
type task[T any] struct {
	opened[T]
	aliases      bool  // true if the codec decodes partials without copying them
	partialBytes int64 // size in bytes that the mapper's Sizer gives, or 0
	plan         Plan
	found        []keptNode

	audit    Audit
	deferred bool // true if the stacks only record the audited values
}

func (t *task[T]) PartialBytes() int64 { return t.partialBytes }

func (t *task[T]) Spares(get func(size int) []byte, put func([]byte)) bool {
	if t.pool.share == nil || !t.aliases {
		return false
	}
	t.pool.more = func() (value T, ok bool) {
		if data := get(int(t.pool.size.Load())); data != nil {
			value, err := decodeInPlace(t.codec, data)
			return value, err == nil
		}
		return value, false
	}
	t.pool.give = func(value T) {
		if data, err := encodeInPlace(t.codec, value); err == nil {
			put(data)
		}
	}
	return true
}

func (t *task[T]) Audit(share uint32, seed string) {
	t.audit, t.deferred = Audit{Share: share, Seed: seed}, true
}

func (t *task[T]) audits(a Audit) { t.audit, t.deferred = a, false }

func (t *task[T]) NewStack() engine.Stack {
	s := &stack[T]{opened: t.opened, found: t.found}
	if t.audit.Share > 0 {
		s.audit = &auditor[T]{Audit: t.audit, deferred: t.deferred, recompute: t.recomputer()}
	}
	return s
}

func (t *task[T]) reuses(ctx context.Context, r Reuse, level uint8) (found []keptNode, err error) {
	defer recoverTo(&err) // the mapper's Key may panic
	t.Keep(r)
	found, _ = t.reuse.find(ctx, t.tree, engine.Span{Hi: t.plan.Partitions})
	t.found = t.reuse.check(ctx, t.tree, found, level)
	return t.found, ctx.Err()
}

func (t *task[T]) Find(ctx context.Context, r Reuse) (f engine.Found, err error) {
	defer recoverTo(&err) // the mapper's Key and Merge may panic
	t.Keep(r)
	found, root := t.reuse.find(ctx, t.tree, engine.Span{Hi: t.plan.Partitions})
	t.found = found
	s := &stack[T]{opened: t.opened}
	if err := cmp.Or(s.take(ctx, found), t.describe()); err != nil {
		return f, err
	}
	f.Root = root
	for i, n := range s.nodes {
		f.Partitions, f.Work = f.Partitions+t.tree.Span(n).Len(), f.Work+s.marks[i].work
	}
	f.Nodes, err = s.Drain(t.plan.Partitions)
	return f, err
}

func (t *task[T]) uncertain(ctx context.Context, span engine.Span) (n uint64) {
	for partition := span.Lo; partition < span.Hi; partition++ {
		if t.reuse.key(ctx, partition) == (Key{}) {
			n++
		}
	}
	return n
}

func (t *task[T]) inputs(span engine.Span) iter.Seq[InputObject] {
	mapper, ok := t.mapper.(Inputs)
	if !ok {
		return nil
	}
	return func(yield func(InputObject) bool) {
		for partition := span.Lo; partition < span.Hi; partition++ {
			for _, o := range mapper.Inputs(partition) {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// describe does nothing if the root is kept, because an earlier job has described the same objects.
func (t *task[T]) describe() (err error) {
	defer recoverTo(&err) // the mapper's Inputs may panic
	whole := len(t.found) == 1 && t.found[0].node == t.tree.Root()
	if d, ok := t.reuse.Kept.(engine.Describer); ok && !whole {
		d.Describe(t.inputs(engine.Span{Hi: t.plan.Partitions}))
	}
	return nil
}

func (t *task[T]) lowest(ctx context.Context, r Reuse) (found []keptNode, err error) {
	defer recoverTo(&err) // the mapper's Key may panic
	found = newReuser(r, t.mapper, t.plan).lowest(ctx, t.tree)
	return found, ctx.Err()
}

func (t *task[T]) Keep(r Reuse) {
	t.reuse = newReuser(r, t.mapper, t.plan)
	t.reuse.estimates = t.estimates
}

func (t *task[T]) reused(below uint64) Reused {
	if t.reuse == nil {
		return Reused{}
	}
	return t.reuse.reused(below)
}

func (t *task[T]) recomputer() recomputer[T] { return recomputer[T]{codec: t.codec, mapper: t.mapper} }

func (t *task[T]) Recompute(ctx context.Context, partitions []uint64, progress *engine.Progress) ([]engine.SHA256, error) {
	r := t.recomputer()
	return r.sums(ctx, partitions, progress)
}

func (t *task[T]) forest() forest {
	return &valueForest[T]{opened: t.opened, waiting: make(map[engine.Node]marked[T])}
}

func (t *task[T]) IsCloser() bool {
	_, ok := t.mapper.(io.Closer)
	return ok
}

func (t *task[T]) Close() error { return closeUsers(t.mapper) }

func (t *task[T]) CleanUp(ctx context.Context) error { return cleanUpUsers(ctx, t.mapper) }

func (t *task[T]) Round(context.Context, []byte) (engine.Task, error) { return t, nil }

func (t *task[T]) round(context.Context, []byte) (openTask, error) { return t, nil }

// closeUsers closes what a definition's Open or Round has returned, if it is an [io.Closer].
func closeUsers(opened any) (err error) {
	closer, ok := opened.(io.Closer)
	if !ok {
		return nil
	}
	defer recoverTo(&err)
	return closer.Close()
}

// cleanUpUsers cleans up after what a definition's Open has returned, if it is a [Cleaner].
func cleanUpUsers(ctx context.Context, opened any) (err error) {
	cleaner, ok := opened.(Cleaner)
	if !ok {
		return nil
	}
	defer recoverTo(&err)
	return cleaner.CleanUp(ctx)
}
