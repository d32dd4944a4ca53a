package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// Task is a job that is open in this process. All stacks of a task share one mapper.
type Task struct {
	mapper any // the definition's mapper, which may implement io.Closer
	stack  func(Audit) Stack
	audit  Audit
	sums   func(ctx context.Context, partitions []uint64, progress *Progress) ([]SHA256, error)
	forest func() forest
	spares func(get func(size int) []byte, put func([]byte)) bool

	partialBytes int64
}

// PartialBytes returns the size that the mapper's [Sizer] gives, or 0.
func (t *Task) PartialBytes() int64 { return t.partialBytes }

// Spares lets a [Filler] reuse memory that the caller no longer needs. The function get returns the
// memory of an encoded partial of the job, or nil if the caller has no spare memory. If size is not
// 0, the next partition probably needs size bytes, and get may also return new memory. The function
// put takes memory that the job's stacks no longer need: a stack keeps one spare value at most, and none
// while it is empty.
// Several goroutines may call get and put at the same time. Spares must be called before a stack
// runs. Spares returns false, and neither function is ever called, unless the mapper is a Filler and the
// codec decodes partials without copying them. Only if Spares returns true may the caller reuse the
// memory of a partial after a call of Merge.
func (t *Task) Spares(get func(size int) []byte, put func([]byte)) bool { return t.spares(get, put) }

// NewStack returns an empty stack. Each slot needs a separate stack. A slot should keep its stack
// for as long as the slot works on the job, because the stack holds the Map function that the
// mapper's Fork returned for the slot.
func (t *Task) NewStack() Stack { return t.stack(t.audit) }

// Audit makes the stacks that NewStack creates from now on audit some partitions.
func (t *Task) Audit(a Audit) { t.audit = a }

// Audited returns the partitions that a stack of the task has recorded since the last call, in the
// order in which they ran. It is empty unless the task's audit has Defer set.
func (t *Task) Audited(s Stack) []Audited {
	return s.(interface{ takeAudited() []Audited }).takeAudited()
}

// Recompute computes partitions for an audit, and records in progress which of them it is computing. An
// error or a panic is returned as a *[PartitionError].
func (t *Task) Recompute(ctx context.Context, partitions []uint64, progress *Progress) ([]SHA256, error) {
	return t.sums(ctx, partitions, progress)
}

// IsCloser reports whether the mapper implements [io.Closer].
func (t *Task) IsCloser() bool {
	_, ok := t.mapper.(io.Closer)
	return ok
}

// Close closes the mapper if it implements [io.Closer]. No stack of the task may be
// running.
func (t *Task) Close() (err error) {
	closer, ok := t.mapper.(io.Closer)
	if !ok {
		return nil
	}
	defer recoverTo(&err)
	return closer.Close()
}

// CleanUp calls the mapper's CleanUp if the mapper implements [Cleaner]. The job must have ended, and the task
// must be closed.
func (t *Task) CleanUp(ctx context.Context) (err error) {
	cleaner, ok := t.mapper.(Cleaner)
	if !ok {
		return nil
	}
	defer recoverTo(&err)
	return cleaner.CleanUp(ctx)
}

// Stack runs partitions in order and keeps the finished nodes. Stack merges two siblings as soon as
// both are on the stack. For each contiguous span the stack therefore holds at most two nodes per
// level of the tree. A stack must be used from one goroutine at a time.
type Stack interface {
	// Run maps the partitions of span in order, until all are done, stop is set or a partition fails. Run
	// returns the first partition that is not done. Run checks stop between partitions. Run passes ctx to Map
	// but does not check whether ctx is done.
	//
	// An error or a panic is returned as a *PartitionError. Partitions that were done before the
	// error stay on the stack, so the caller may continue with the failed partition or after it. If
	// a merge failed, the error is permanent and the stack is empty. If a function of the
	// definition's Merger failed, the partition has failed and the stack keeps the operands.
	Run(ctx context.Context, span Span, stop *atomic.Bool) (next uint64, err error)

	// Drain removes the nodes whose partitions are all below hi from the stack and returns their
	// encoded partials, in the order in which the nodes were added. An error is permanent.
	Drain(hi uint64) ([]Partial, error)

	// Interrupted returns the error of the last Run if Run did not return because the job's code
	// called [runtime.Goexit], which ends the goroutine.
	Interrupted() error

	// Watch makes later calls of Run record in p what they are doing. A watched stack needs some
	// additional nanoseconds for each partition.
	Watch(p *Progress)
}

// Progress says which partition a [Stack] is running. Other goroutines may read it while the stack runs.
type Progress struct{ at atomic.Uint64 }

// functions contains the names of the functions that a stack runs for a partition.
var functions = [...]string{running: "Map", auditing: MapForAudit, merging: "Merge"}

// MapForAudit is the name of the function that runs for the second computation of an audited
// partition.
const MapForAudit = "Map for the audit"

const (
	running uint64 = iota
	auditing
	merging
)

// At returns the running partition, and the name of the function that runs for the partition.
func (p *Progress) At() (partition uint64, function string) {
	at := p.at.Load()
	return at >> 2, functions[at&3]
}

func (p *Progress) set(partition, function uint64) {
	if p == nil {
		return
	}
	p.at.Store(partition<<2 | function) // the shift loses no bit, because MaxPartitions is 2^62
}

// Partial is the encoded result of one node. Data must not be changed.
type Partial struct {
	Node Node
	Data []byte
}

type stack[T any] struct {
	tree   Tree
	mapper Mapper[T]
	merge  merger[T]
	codec  Codec[T]

	spares []T        // values that merges of this stack have freed; empty unless the mapper is a Filler
	pool   *spares[T] // values that all merges of the task have freed

	mapOne  func(ctx context.Context, partition uint64) (T, error) // the slot's Map function; nil until the first partition
	merging bool                                                   // true during a call of Merge, and after a call that failed or panicked
	nodes   []Node
	values  []T

	audit       *auditor[T] // auditor of the slot; nil if no partition is audited
	next        uint64      // first partition of the span that is not done
	interrupted error
	progress    *Progress // record of what the stack does; nil if Watch was not called
}

func (s *stack[T]) Run(ctx context.Context, span Span, stop *atomic.Bool) (next uint64, err error) {
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

// run maps partitions from s.next on until hi, until stop is set or until one fails.
func (s *stack[T]) run(ctx context.Context, hi uint64, stop *atomic.Bool) error {
	if m, ok := s.mapper.(Streamer[T]); ok {
		return s.stream(ctx, m, hi, stop)
	}
	if s.mapOne == nil {
		if s.mapOne = mapFunc(s.mapper, s.spare, s.pool.filled); s.mapOne == nil {
			return Permanent(errors.New("want a function from Fork, got nil"))
		}
	}
	for ; s.next < hi && !stop.Load(); s.next++ {
		s.progress.set(s.next, running)
		value, err := s.mapOne(ctx, s.next)
		if err != nil {
			return err
		}
		if s.audit != nil {
			if err := s.auditValue(ctx, value); err != nil {
				return err
			}
		}
		if err := s.push(ctx, value); err != nil {
			return err
		}
	}
	return nil
}

// stream is like run for a mapper that works ahead.
func (s *stack[T]) stream(ctx context.Context, m Streamer[T], hi uint64, stop *atomic.Bool) error {
	if s.next >= hi || stop.Load() {
		return nil
	}
	s.progress.set(s.next, running)
	for value, err := range m.Stream(ctx, Span{s.next, hi}) {
		if err != nil {
			return err
		}
		if s.audit != nil {
			if err := s.auditValue(ctx, value); err != nil {
				return err
			}
		}
		if err := s.push(ctx, value); err != nil {
			return err
		}
		if s.next++; s.next == hi || stop.Load() {
			return nil
		}
		s.progress.set(s.next, running)
	}
	return Permanent(fmt.Errorf("the sequence of Stream ended before partition %d", s.next))
}

// auditValue audits the value of the partition s.next if the auditor chooses the partition.
func (s *stack[T]) auditValue(ctx context.Context, value T) error {
	if !s.audit.chooses(s.next, s.tree.Partitions()) {
		return nil
	}
	s.progress.set(s.next, auditing)
	return s.audit.check(ctx, s.next, value)
}

func (s *stack[T]) Interrupted() error { return s.interrupted }

func (s *stack[T]) Watch(p *Progress) { s.progress = p }

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

// push adds the value of the partition s.next to the stack. While the sibling of the topmost node is also on
// the stack, push merges the two nodes.
func (s *stack[T]) push(ctx context.Context, value T) error {
	top := len(s.nodes)
	n := s.tree.Lift(Leaf(s.next))
	for ; n.IsRight() && top > 0 && s.nodes[top-1] == n.Sibling(); n = s.tree.Lift(n.Parent()) {
		s.merging = true
		s.progress.set(s.next, merging)
		var err error
		if s.merge.outside == nil && s.pool.share == nil { // the usual case is inline, because push takes most of the time of empty partitions
			value, err = s.merge.merge(s.values[top-1], value)
		} else {
			value, err = s.mergeInto(ctx, s.tree.Lift(n.Parent()), s.values[top-1], value)
		}
		if err != nil {
			return err
		}
		s.merging = false
		top--
	}
	if top+1 < len(s.values) {
		clear(s.values[top+1:]) // the garbage collector can then free the merged operands; the value at top is replaced below
	}
	s.nodes, s.values = append(s.nodes[:top], n), append(s.values[:top], value)
	return nil
}

// mergeInto returns the value of the node parent if the definition has a Merger or the mapper is a
// Filler.
func (s *stack[T]) mergeInto(ctx context.Context, parent Node, left, right T) (T, error) {
	value, err := s.merge.call(ctx, left, right)
	if err != nil && s.merge.outside != nil {
		s.merging = false // the operands are unchanged and still on the stack
		return value, fmt.Errorf("merge node %v: %w", parent, err)
	}
	if err != nil {
		return value, err
	}
	if spare, ok := s.pool.freed(left, right, value); ok {
		s.keepSpare(spare)
	}
	return value, nil
}

func (s *stack[T]) Drain(hi uint64) (partials []Partial, err error) {
	defer func() {
		if v := recover(); v != nil {
			partials, err = nil, Permanent(newPanicError(v))
		}
	}()
	kept := 0
	for i, n := range s.nodes {
		if s.tree.Span(n).Hi > hi {
			s.nodes[kept], s.values[kept] = n, s.values[i]
			kept++
			continue
		}
		data, err := encodeInPlace(s.codec, s.values[i]) // the value is removed from the stack, so no other code uses its memory
		if err != nil {
			return nil, Permanent(fmt.Errorf("encode node %v: %w", n, err))
		}
		partials = append(partials, Partial{n, data})
	}
	clear(s.values[kept:])
	s.nodes, s.values = s.nodes[:kept], s.values[:kept]
	for kept == 0 && s.pool.give != nil && len(s.spares) > 0 {
		s.pool.put(pop(&s.spares)) // the caller limits the memory of an empty stack
	}
	return partials, nil
}

func (s *stack[T]) clear() {
	clear(s.values)
	s.nodes, s.values, s.merging = s.nodes[:0], s.values[:0], false
}
