package jobs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// SecondPass lets a job pass over its partitions twice, because its merged partial may be larger than a worker. In the
// first pass, the partials are moved to storage piece by piece as they grow, so that the root's partial only lists the
// pieces. In the second pass, each partition computes a part of the result from its share of the pieces, so that all workers
// finish the job together:
//
//	Plan ─▶ Map, Merge, Spill ─▶ State ─▶ Map of the second pass, Merge ─▶ Finish
//
// If State finds that the root's partial is small, Finish follows at once. A job with a second pass has two rounds, so
// it has no estimates, cannot reuse partials of other jobs, and cannot skip partitions. The conditions of bit identity apply
// to all functions.
type SecondPass[P, T any] struct {
	// Has reports whether a job with the parameters p may have a second pass.
	Has func(p P) bool
	// Spill is called with each merged partial, and may move a part of it to storage with [PutSpill]. It may change
	// and return the partial. Map can call PutSpill itself. Only workers merge partials of such a job, and never the leader.
	Spill func(ctx context.Context, p P, merged T) (T, error)
	// State returns the state of the second pass, or nil if Finish can follow at once. Then State must not change the root's
	// partial. The parameter partitions is the number of partitions of both passes.
	State func(ctx context.Context, p P, partitions uint64, root T) (state []byte, err error)
	// Open returns the mapper of the second pass. Each worker calls Open once. The mapper may have the optional
	// interfaces of a [Mapper], except [Keyer] and [Cleaner].
	Open func(ctx context.Context, p P, plan Plan, state []byte) (Mapper[T], error)
}

// mergeAndSpill merges two partials of the first or the second pass. After an error of Spill, a call of Merge is tried
// again.
func (m merger[T]) mergeAndSpill(ctx context.Context, left, right T) (T, error) {
	merged, err := m.merge(left, right)
	if err != nil {
		return merged, Permanent(err)
	}
	return m.spill(ctx, merged)
}

// pass is the first byte of the state of a round.
type pass byte

const (
	firstPass  pass = 1 + iota // the rest is the number of partitions
	secondPass                 // the rest is what State has returned
	noPass                     // the rest is the partial of which Finish computes the result
)

var errState = errors.New("damaged state of a pass")

// passesBinding is the binding of a definition with a second pass.
type passesBinding[P, T, R any] struct {
	*binding[P, T, R]
}

func (b *passesBinding[P, T, R]) has(params []byte) bool {
	p, err := b.parsed(params)
	return err == nil && b.def.SecondPass.Has(p)
}

// Rounds implements [engine.Job]. For parameters that cannot be parsed Rounds returns 0, because Open reports that error.
func (b *passesBinding[P, T, R]) Rounds(params []byte) (most uint64) {
	defer func() { _ = recover() }()
	if b.has(params) {
		most = 2
	}
	return most
}

// Start implements [engine.Job].
func (b *passesBinding[P, T, R]) Start(_ context.Context, _ []byte, partitions uint64, _, _ []byte) ([]byte, error) {
	return binary.AppendUvarint([]byte{byte(firstPass)}, partitions), nil
}

// Next implements [engine.Job].
func (b *passesBinding[P, T, R]) Next(ctx context.Context, params []byte, round engine.Round, total engine.Operand) (step engine.Step, err error) {
	defer b.end("end a pass of", &err)
	of, rest, err := splitState(round.State)
	if err != nil {
		return step, err
	}
	if of == secondPass {
		return lastStep(total.Data), nil
	}
	partitions, size := binary.Uvarint(rest)
	if size <= 0 {
		return step, errState
	}
	p, err := b.parsed(params)
	if err != nil {
		return step, err
	}
	root, err := b.decode(engine.Operand{Data: total.Data})
	if err != nil {
		return step, err
	}
	state, err := b.def.SecondPass.State(ctx, p, partitions, root)
	if err != nil {
		return step, err
	}
	if state == nil {
		return lastStep(total.Data), nil
	}
	return engine.Step{State: append([]byte{byte(secondPass)}, state...)}, nil
}

func lastStep(root []byte) engine.Step {
	return engine.Step{State: append([]byte{byte(noPass)}, root...), Done: true}
}

func splitState(state []byte) (of pass, rest []byte, err error) {
	if len(state) == 0 || pass(state[0]) < firstPass || pass(state[0]) > noPass {
		return 0, nil, errState
	}
	return pass(state[0]), state[1:], nil
}

// Finish implements [engine.Job]. The operand is the last state.
func (b *passesBinding[P, T, R]) Finish(ctx context.Context, params []byte, last engine.Operand) (json.RawMessage, engine.Attachment, error) {
	if !b.has(params) {
		return b.binding.Finish(ctx, params, last)
	}
	of, root, err := splitState(last.Data)
	if err != nil || of != noPass {
		return nil, nil, errState
	}
	return b.binding.Finish(ctx, params, engine.Operand{Data: root, Own: last.Own})
}

func (b *passesBinding[P, T, R]) Open(ctx context.Context, params []byte, partitions uint64, planData []byte) (engine.Task, error) {
	t, err := b.open(ctx, params, Plan{partitions, planData})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (b *passesBinding[P, T, R]) open(ctx context.Context, params Params, plan Plan) (openTask, error) {
	t, err := b.binding.open(ctx, params, plan)
	if err != nil || !b.has(params) {
		return t, err
	}
	return &passesTask[P, T, R]{t.(*task[T]), b, params}, nil
}

// passesTask is the [engine.Task] of a job with a second pass. Its own partitions are those of the first pass.
type passesTask[P, T, R any] struct {
	*task[T]
	binding *passesBinding[P, T, R]
	params  Params
}

func (t *passesTask[P, T, R]) Round(ctx context.Context, state []byte) (engine.Task, error) {
	r, err := t.round(ctx, state)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (t *passesTask[P, T, R]) round(ctx context.Context, state []byte) (_ openTask, err error) {
	b := t.binding
	defer b.end("begin a pass of", &err)
	of, rest, err := splitState(state)
	if err != nil {
		return nil, err
	}
	if of == firstPass {
		return firstTask[T]{t.task}, nil
	}
	p, err := b.parsed(t.params)
	if err != nil {
		return nil, err
	}
	mapper, err := b.def.SecondPass.Open(ctx, p, t.plan, rest)
	if err != nil {
		return nil, err
	}
	second, err := b.newTask(p, t.plan, mapper)
	if err != nil {
		return nil, err
	}
	return second, nil
}

// firstTask is the [engine.Task] of the first pass, which leaves it to the task of the job to close the mapper.
type firstTask[T any] struct{ *task[T] }

func (firstTask[T]) IsCloser() bool                { return false }
func (firstTask[T]) Close() error                  { return nil }
func (firstTask[T]) CleanUp(context.Context) error { return nil }
