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
	waiting map[engine.Node]T // values of nodes whose sibling is not yet finished
}

func (f *valueForest[T]) add(ctx context.Context, from engine.Stack, attempts int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Permanent(newPanicError(v))
		}
	}()
	s := from.(*stack[T])
	n, value := s.nodes[0], s.values[0]
	s.clear()
	for {
		sibling, ok := f.takeSibling(n, value)
		if !ok {
			return nil
		}
		left, right := sibling, value
		if !n.IsRight() {
			left, right = value, sibling
		}
		parent := f.tree.Lift(n.Parent())
		if value, err = f.mergePair(ctx, left, right, attempts); err != nil {
			return Permanent(fmt.Errorf("node %v: %w", parent, err))
		}
		if spare, ok := f.pool.freed(left, right, value); ok {
			f.pool.put(spare)
		}
		n = parent
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
func (f *valueForest[T]) takeSibling(n engine.Node, value T) (sibling T, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if sibling, ok = f.waiting[n.Sibling()]; ok && n != f.tree.Root() {
		delete(f.waiting, n.Sibling())
		return sibling, true
	}
	f.waiting[n] = value
	return sibling, false
}

func (f *valueForest[T]) root() (data []byte, err error) {
	defer recoverTo(&err)
	root, ok := f.waiting[f.tree.Root()]
	if !ok { // the definition's Merge ended the goroutine of a slot with runtime.Goexit
		return nil, fmt.Errorf("Merge: %w", ErrGoexit)
	}
	if data, err = encodeInPlace(f.codec, root); err != nil {
		return nil, fmt.Errorf("encode the root: %w", err)
	}
	return data, nil
}
