package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// stack is the [engine.Stack] of a task.
type stack[T any] struct {
	opened[T]

	spares []T // values that merges of this stack have freed; empty unless the mapper is a Filler

	mapOne  func(ctx context.Context, partition uint64) (T, error) // the slot's Map function; nil until the first partition
	merging bool                                                   // true during a call of Merge, and after a call that failed or panicked
	nodes   []engine.Node
	values  []T

	marks []mark     // marks of the nodes; empty unless partials are reused
	mark  mark       // mark of the value that push adds
	found []keptNode // nodes whose partials are probably kept, in order; other stacks may use the slice too

	audit       *auditor[T] // auditor of the slot; nil if no partition is audited
	next        uint64      // first partition of the span that is not done
	interrupted error
	progress    *engine.Progress // record of what the stack does; nil if Watch was not called
}

func (s *stack[T]) Run(ctx context.Context, span engine.Span, stop *atomic.Bool) (next uint64, err error) {
	s.next, s.interrupted = span.Lo, nil
	if span.Hi > s.tree.Partitions() {
		err := fmt.Errorf("run span %v: the job has %d partitions", span, s.tree.Partitions())
		return s.next, &PartitionError{s.next, Permanent(err)}
	}
	returned := false
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
			s.mapOne = nil // after a panic the fork may be in an inconsistent state
		} else if !returned {
			err = fmt.Errorf("%s: %w", s.running(), ErrGoexit)
			s.mapOne = nil
			defer func() { s.interrupted = err }() // the job's code ends the goroutine, so Run does not return
		}
		next = s.next
		if err == nil {
			return
		}
		if s.merging {
			// Merge may have changed an operand, so the stack cannot be used. The error is permanent, because
			// the same operands would fail on every worker.
			err = Permanent(fmt.Errorf("merge partials: %w", err))
			s.clear()
		}
		err = &PartitionError{next, err}
	}()
	err = s.run(ctx, span.Hi, stop)
	returned = true
	return s.next, err
}

// running returns the name of the definition's function that is running or has ended the goroutine.
func (s *stack[T]) running() string {
	switch {
	case s.merging:
		return "Merge"
	case s.mapOne != nil:
		return "Map"
	}
	if _, ok := s.mapper.(Streamer[T]); ok {
		return "Stream"
	}
	return "Fork"
}

// run runs partitions from s.next on until hi, until stop is set or until one fails.
func (s *stack[T]) run(ctx context.Context, hi uint64, stop *atomic.Bool) error {
	if s.reuse != nil {
		return s.runReusing(ctx, hi, s.found, stop)
	}
	return s.compute(ctx, hi, stop)
}

// compute maps partitions from s.next on until hi, until stop is set or until one fails.
func (s *stack[T]) compute(ctx context.Context, hi uint64, stop *atomic.Bool) error {
	if m, ok := s.mapper.(Streamer[T]); ok {
		return s.stream(ctx, m, hi, stop)
	}
	if s.mapOne == nil {
		if s.mapOne = mapFunc(s.mapper, s.spare, s.pool.filled); s.mapOne == nil {
			return Permanent(errors.New("want a function from Fork, got nil"))
		}
		if s.reuse != nil {
			s.mapOne = s.marking(s.mapOne)
		}
	}
	for ; s.next < hi && !stop.Load(); s.next++ {
		s.progress.Set(s.next, engine.Map)
		value, err := s.mapOne(ctx, s.next)
		if err != nil {
			return err
		}
		if s.audit != nil {
			if err := s.auditValue(ctx, value); err != nil {
				return err
			}
		}
		if err := s.push(ctx, s.tree.Lift(engine.Leaf(s.next)), value); err != nil {
			return err
		}
	}
	return nil
}

// marking returns a function that calls mapOne and then sets the mark of the partition.
func (s *stack[T]) marking(mapOne func(context.Context, uint64) (T, error)) func(context.Context, uint64) (T, error) {
	return func(ctx context.Context, partition uint64) (T, error) {
		began := time.Now()
		value, err := mapOne(ctx, partition)
		if err == nil {
			s.mark = mark{s.reuse.key(ctx, partition), time.Since(began), -1}
		}
		return value, err
	}
}

// stream is like run for a mapper that works ahead.
func (s *stack[T]) stream(ctx context.Context, m Streamer[T], hi uint64, stop *atomic.Bool) error {
	if s.next >= hi || stop.Load() {
		return nil
	}
	s.progress.Set(s.next, engine.Map)
	began := time.Now()
	for value, err := range m.Stream(ctx, engine.Span{Lo: s.next, Hi: hi}) {
		if err != nil {
			return err
		}
		if s.reuse != nil {
			s.mark = mark{s.reuse.key(ctx, s.next), time.Since(began), -1}
		}
		if s.audit != nil {
			if err := s.auditValue(ctx, value); err != nil {
				return err
			}
		}
		if err := s.push(ctx, s.tree.Lift(engine.Leaf(s.next)), value); err != nil {
			return err
		}
		if s.next++; s.next == hi || stop.Load() {
			return nil
		}
		if s.reuse != nil {
			began = time.Now()
		}
		s.progress.Set(s.next, engine.Map)
	}
	return Permanent(fmt.Errorf("the sequence of Stream ended before partition %d", s.next))
}

// auditValue audits the value of the partition s.next if the auditor chooses the partition.
func (s *stack[T]) auditValue(ctx context.Context, value T) error {
	if !s.audit.chooses(s.next, s.tree.Partitions()) {
		return nil
	}
	s.progress.Set(s.next, engine.MapAgain)
	return s.audit.check(ctx, s.next, value)
}

func (s *stack[T]) Interrupted() error { return s.interrupted }

func (s *stack[T]) Watch(p *engine.Progress) { s.progress = p }

// mapFunc returns a Map function for one slot. The function spare returns a value that a Filler may
// reuse. If note is not nil, it is called with this value and with the value that Fill has returned.
func mapFunc[T any](mapper Mapper[T], spare func() T, note func(spare, filled T)) func(ctx context.Context, partition uint64) (T, error) {
	switch m := mapper.(type) {
	case Filler[T]:
		return func(ctx context.Context, partition uint64) (T, error) {
			value := spare()
			filled, err := m.Fill(ctx, partition, value)
			if err == nil && note != nil {
				note(value, filled)
			}
			return filled, err
		}
	case Forker[T]:
		return m.Fork()
	}
	return mapper.Map
}

// spare removes a freed value from the stack or from the task's pool. If no value is free, spare
// returns the zero value.
func (s *stack[T]) spare() T {
	if len(s.spares) == 0 {
		return s.pool.get()
	}
	return pop(&s.spares)
}

// keepSpare adds a freed value to the stack. If the stack already has enough freed values, keepSpare
// adds it to the task's pool.
func (s *stack[T]) keepSpare(value T) {
	if len(s.spares) >= s.pool.perStack() {
		s.pool.put(value)
		return
	}
	s.spares = append(s.spares, value)
}

// push adds the value of the node n, which begins at the partition s.next, to the stack. While the sibling
// of the topmost node is also on the stack, push merges the two nodes. If the job has estimates, push does not
// merge nodes that are needed for a prefix.
func (s *stack[T]) push(ctx context.Context, n engine.Node, value T) error {
	top := len(s.nodes)
	if s.reuse != nil {
		s.keep(ctx, n, value, &s.mark)
	}
	for ; n.IsRight() && top > 0 && s.nodes[top-1] == n.Sibling(); n = s.tree.Lift(n.Parent()) {
		if s.estimates && n.Parent().Crosses() {
			break
		}
		s.merging = true
		s.progress.Set(s.next, engine.Merge)
		var err error
		if s.merge.plain && s.pool.share == nil && s.reuse == nil { // the usual case is inline, because push takes most of the time of empty partitions
			value, err = s.merge.merge(s.values[top-1], value)
		} else {
			value, err = s.mergeInto(ctx, s.tree.Lift(n.Parent()), top-1, value)
		}
		if err != nil {
			return err
		}
		s.merging = false
		top--
	}
	if s.reuse != nil {
		s.marks = append(s.marks[:top], s.mark)
	}
	if top+1 < len(s.values) {
		clear(s.values[top+1:]) // the garbage collector can then free the merged operands; the value at top is replaced below
	}
	s.nodes, s.values = append(s.nodes[:top], n), append(s.values[:top], value)
	return nil
}

// mergeInto returns the value of the node parent, the merge of the value at the index left and of
// right, if the definition has a Merger or Shards, the mapper is a Filler or partials are reused.
func (s *stack[T]) mergeInto(ctx context.Context, parent engine.Node, left int, right T) (T, error) {
	value, err := s.merge.call(ctx, s.values[left], right)
	if err != nil && s.merge.outside != nil {
		s.merging = false // the operands are unchanged and still on the stack
		return value, fmt.Errorf("merge node %v: %w", parent, err)
	}
	if err != nil {
		return value, err
	}
	if spare, ok := s.pool.freed(s.values[left], right, value); ok {
		s.keepSpare(spare)
	}
	if s.reuse != nil {
		s.merging = false
		s.mark = merged(s.marks[left], s.mark)
		s.keep(ctx, parent, value, &s.mark)
	}
	return value, nil
}

func (s *stack[T]) Drain(hi uint64) (partials []engine.Partial, err error) {
	defer func() {
		if v := recover(); v != nil {
			partials, err = nil, Permanent(newPanicError(v))
		}
	}()
	kept := 0
	for i, n := range s.nodes {
		if s.tree.Span(n).Hi > hi {
			s.nodes[kept], s.values[kept] = n, s.values[i]
			if s.reuse != nil {
				s.marks[kept] = s.marks[i]
			}
			kept++
			continue
		}
		data, err := encodeInPlace(s.codec, s.values[i]) // the value is removed from the stack, so no other code uses its memory
		if err != nil {
			return nil, Permanent(fmt.Errorf("encode node %v: %w", n, err))
		}
		if s.reuse != nil {
			s.keepDrained(n, data, s.marks[i])
		}
		partials = append(partials, engine.Partial{Node: n, Data: data})
	}
	clear(s.values[kept:])
	s.nodes, s.values, s.marks = s.nodes[:kept], s.values[:kept], s.marks[:min(kept, len(s.marks))]
	for kept == 0 && s.pool.give != nil && len(s.spares) > 0 {
		s.pool.put(pop(&s.spares)) // the caller limits the memory of an empty stack
	}
	return partials, nil
}

func (s *stack[T]) clear() {
	clear(s.values)
	s.nodes, s.values, s.marks, s.merging = s.nodes[:0], s.values[:0], s.marks[:0], false
}
