package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// forest collects and merges the subtrees that the slots of [Local] have finished. The values stay
// decoded. A forest may be used from several goroutines.
type forest interface {
	// add moves the nodes of a stack into the forest. If a node's sibling is in the forest,
	// add merges the two nodes, and repeats this for their parent. An error is permanent.
	add(ctx context.Context, s engine.Stack, attempts int) error
	// prefix returns the encoded partials of the given nodes, or false if one of them is not in the
	// forest.
	prefix(nodes []engine.Node) (partials []engine.Operand, ok bool, err error)
	// judged allows the merges of nodes that are needed only for prefixes up to a rung, and performs them.
	judged(ctx context.Context, rung uint64, attempts int) error
	// root returns the encoded partial of the root, after all partitions were added.
	root() ([]byte, error)
}

type valueForest[T any] struct {
	opened[T]

	mu      sync.Mutex
	waiting map[engine.Node]marked[T] // nodes that are not merged yet
	rung    uint64                    // the last judged rung
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
	nodes, list := slices.Clone(s.nodes), make([]marked[T], len(s.nodes))
	for i := range list {
		if list[i].value = s.values[i]; f.reuse != nil {
			list[i].mark = s.marks[i]
		}
	}
	s.clear()
	for i, n := range nodes {
		if err := f.mergeUp(ctx, n, list[i], attempts); err != nil {
			return err
		}
	}
	return nil
}

// mergeUp moves a node into the forest.
func (f *valueForest[T]) mergeUp(ctx context.Context, n engine.Node, with marked[T], attempts int) (err error) {
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
	if sibling, ok = f.waiting[n.Sibling()]; ok && n != f.tree.Root() && !f.blocks(n.Parent()) {
		delete(f.waiting, n.Sibling())
		return sibling, true
	}
	f.waiting[n] = with
	return sibling, false
}

// blocks reports whether the children of a node are needed for a prefix that is not judged.
func (f *valueForest[T]) blocks(parent engine.Node) bool {
	return f.estimates && parent.Crosses() && engine.LastRung(f.tree.Span(parent).Hi) > f.rung
}

func (f *valueForest[T]) prefix(nodes []engine.Node) (partials []engine.Operand, ok bool, err error) {
	defer recoverTo(&err)
	values := make([]T, len(nodes))
	f.mu.Lock()
	for i, n := range nodes {
		var with marked[T]
		if with, ok = f.waiting[n]; !ok {
			break
		}
		values[i] = with.value
	}
	f.mu.Unlock()
	if !ok {
		return nil, false, nil
	}
	for i, n := range nodes {
		data, err := f.codec.Encode(values[i])
		if err != nil {
			return nil, false, Permanent(fmt.Errorf("encode node %v: %w", n, err))
		}
		partials = append(partials, engine.Operand{Data: data})
	}
	return partials, true, nil
}

func (f *valueForest[T]) judged(ctx context.Context, rung uint64, attempts int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Permanent(newPanicError(v))
		}
	}()
	for _, n := range f.allow(rung) {
		f.mu.Lock()
		with, waits := f.waiting[n]
		delete(f.waiting, n)
		f.mu.Unlock()
		if waits {
			if err := f.mergeUp(ctx, n, with, attempts); err != nil {
				return err
			}
		}
	}
	return nil
}

// allow records the judgement of a rung. It returns the left children that can be merged now, the last first.
func (f *valueForest[T]) allow(rung uint64) (list []engine.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rung = rung
	for n := range f.waiting {
		if _, both := f.waiting[n.Sibling()]; both && !n.IsRight() && n != f.tree.Root() && !f.blocks(n.Parent()) {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b engine.Node) int { return cmp.Compare(f.tree.Span(b).Lo, f.tree.Span(a).Lo) })
	return list
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
