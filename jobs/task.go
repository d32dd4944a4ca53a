package jobs

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Task is a job opened in this process. Its stacks share one mapper.
type Task struct {
	stack func() Stack
	close func() error
}

// NewStack returns an empty stack. Each slot has its own.
func (t *Task) NewStack() Stack { return t.stack() }

// Close closes the mapper. No stack of the task may be running.
func (t *Task) Close() (err error) {
	defer recoverTo(&err)
	return t.close()
}

// Stack runs partitions in order and keeps the finished nodes, merging siblings
// as they meet, like carries in a binary counter: at most two nodes per level of
// the tree for each contiguous span. It is used from one goroutine at a time.
type Stack interface {
	// Run maps the partitions of span in order until all are done, stop is set or
	// one fails, and returns the first partition that is not done. The error is a
	// *PartitionError; what was done before it stays on the stack, so the caller
	// may go on after the partition that failed. A panic is an error, and so is a
	// done context, which stop is the gentler way for.
	Run(ctx context.Context, span Span, stop *atomic.Bool) (next uint64, err error)

	// Drain empties the stack into encoded partials, in order.
	Drain() ([]Partial, error)
}

// Partial is the encoded result of one node. What it holds must not be changed.
type Partial struct {
	Node Node
	Data []byte
}

type stack[T any] struct {
	tree   Tree
	mapper Mapper[T]
	merge  func(left, right T) (T, error)
	codec  Codec[T]
	nodes  []Node
	values []T
}

func (s *stack[T]) Run(ctx context.Context, span Span, stop *atomic.Bool) (next uint64, err error) {
	next = span.Lo
	defer func() {
		if v := recover(); v != nil {
			err = &PartitionError{next, &PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	for ; next < span.Hi && !stop.Load(); next++ {
		value, err := s.mapper.Map(ctx, next)
		if err != nil {
			return next, &PartitionError{next, err}
		}
		if err := s.push(Leaf(next), value); err != nil {
			return next, &PartitionError{next, err}
		}
	}
	return next, nil
}

// push adds a node that comes after all others, and merges as far as siblings
// reach. It changes the stack only when every merge has succeeded.
func (s *stack[T]) push(n Node, value T) error {
	top := len(s.nodes)
	for n = s.tree.Lift(n); n.IsRight() && top > 0 && s.nodes[top-1] == n.Sibling(); n = s.tree.Lift(n.Parent()) {
		merged, err := s.merge(s.values[top-1], value)
		if err != nil {
			// The same operands fail the same way everywhere.
			return Permanent(fmt.Errorf("merge %v and %v: %w", n.Sibling(), n, err))
		}
		value = merged
		top--
	}
	clear(s.values[top:])
	s.nodes, s.values = append(s.nodes[:top], n), append(s.values[:top], value)
	return nil
}

func (s *stack[T]) Drain() (partials []Partial, err error) {
	defer recoverTo(&err)
	for i, n := range s.nodes {
		data, err := s.codec.Encode(s.values[i])
		if err != nil {
			return nil, Permanent(fmt.Errorf("node %v: %w", n, err))
		}
		partials = append(partials, Partial{n, data})
	}
	clear(s.values)
	s.nodes, s.values = s.nodes[:0], s.values[:0]
	return partials, nil
}
