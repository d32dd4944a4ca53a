package jobs

import (
	"context"
	"fmt"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// forest collects and merges the subtrees that the slots of [Local] have finished. The values stay
// decoded. A forest may be used from several goroutines.
type forest interface {
	// add moves the only node of a stack into the forest. If the node's sibling is in the forest,
	// add merges the two nodes, and repeats this for their parent. An error is permanent.
	add(ctx context.Context, s engine.Stack, attempts int) error
	// root returns the encoded partial of the root, after all partitions were added.
	root() ([]byte, error)
}

type valueForest[T any] struct {
	opened[T]

	mu      sync.Mutex
	waiting map[engine.Node]marked[T] // nodes whose sibling is not yet finished
}

// marked is the value of a node, with its mark if partials are reused.
type marked[T any] struct {
	value T
	mark  mark
}

func (f *valueForest[T]) add(ctx context.Context, from engine.Stack, attempts int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Permanent(newPanicError(v))
		}
	}()
	s := from.(*stack[T])
	n, with := s.nodes[0], marked[T]{value: s.values[0]}
	if f.reuse != nil {
		with.mark = s.marks[0]
	}
	s.clear()
	for {
		sibling, ok := f.takeSibling(n, with)
		if !ok {
			return nil
		}
		left, right := sibling, with
		if !n.IsRight() {
			left, right = with, sibling
		}
		parent := f.tree.Lift(n.Parent())
		if with.value, err = f.mergePair(ctx, left.value, right.value, attempts); err != nil {
			return Permanent(fmt.Errorf("node %v: %w", parent, err))
		}
		if spare, ok := f.pool.freed(left.value, right.value, with.value); ok {
			f.pool.put(spare)
		}
		if n = parent; f.reuse != nil {
			with.mark = merged(left.mark, right.mark)
			f.keep(ctx, n, with.value, &with.mark)
		}
	}
}

// mergePair merges two values. If a function of the definition's Merger fails, mergePair retries
// it.
func (f *valueForest[T]) mergePair(ctx context.Context, left, right T, attempts int) (value T, err error) {
	for attempt := 1; ; attempt++ {
		value, err = f.merge.call(ctx, left, right)
		if err == nil || f.merge.outside == nil || attempt >= attempts || IsPermanent(err) || ctx.Err() != nil {
			return value, err
		}
	}
}

// takeSibling removes the sibling of a node from the forest and returns it. If the sibling is not
// finished, takeSibling adds the node to the forest instead.
func (f *valueForest[T]) takeSibling(n engine.Node, with marked[T]) (sibling marked[T], ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if sibling, ok = f.waiting[n.Sibling()]; ok && n != f.tree.Root() {
		delete(f.waiting, n.Sibling())
		return sibling, true
	}
	f.waiting[n] = with
	return sibling, false
}

func (f *valueForest[T]) root() (data []byte, err error) {
	defer recoverTo(&err)
	root, ok := f.waiting[f.tree.Root()]
	if !ok { // the definition's Merge ended the goroutine of a slot with runtime.Goexit
		return nil, fmt.Errorf("Merge: %w", ErrGoexit)
	}
	if data, err = encodeInPlace(f.codec, root.value); err != nil {
		return nil, fmt.Errorf("encode the root: %w", err)
	}
	return data, nil
}
