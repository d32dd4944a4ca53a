package session

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// HeldCall is a call of a job's Plan, Merge, Finish or Estimate that was assigned to the worker and has not
// ended. Calls do not need slots, so calls do not wait for long partitions. The number of calls
// that run at the same time is at most the number of slots, and one call with a [wire.Call.Within].
type HeldCall struct {
	id      wire.SpanID
	job     *job
	call    wire.Call
	arrival uint64 // sequence number of the assignment; later calls have larger numbers
	running bool
	dropped bool // the call is no longer held, so its result will be ignored
	lost    bool // the call's code does not return
}

// Opening describes the call's job.
func (h *HeldCall) Opening() wire.Opening { return h.job.opening }

// Call returns the function to call, with its operands.
func (h *HeldCall) Call() wire.Call { return h.call }

// Epoch returns the epoch of the leader that assigned the call.
func (h *HeldCall) Epoch() uint64 { return h.id.Epoch }

// TakeCall returns the call that should begin next. It returns nil if no call is waiting, or if the
// maximum number of calls is running. It prefers calls of the highest priority, and then the call
// that was assigned first.
func (s *Session) TakeCall() *HeldCall {
	if s.drain.begun {
		return nil
	}
	free := s.work.calling < s.cfg.Hello.Slots
	beside := s.work.calling-s.work.lostCalls <= s.cfg.Hello.Slots
	var next *HeldCall
	for _, j := range s.work.jobs {
		i := slices.IndexFunc(j.calls, func(h *HeldCall) bool { return !h.running && (free || beside && h.call.Within > 0) })
		if i >= 0 && (next == nil || compareCalls(j.calls[i], next) < 0) {
			next = j.calls[i]
		}
	}
	if next != nil {
		next.running = true
		s.work.calling++
	}
	return next
}

func compareCalls(a, b *HeldCall) int {
	return cmp.Or(
		-cmp.Compare(a.job.opening.Priority, b.job.opening.Priority),
		cmp.Compare(a.arrival, b.arrival),
	)
}

// Return ends a call. The parameter i contains the call's result: the partial of a merge's node,
// the output of Plan, Finish or Estimate, or a failure. The parameter blobs contains the names of the blobs
// that the call has written. Return reports whether the session keeps the item; the session drops it if the
// job has ended or the call was lost.
func (s *Session) Return(h *HeldCall, i wire.Item, blobs []string) (kept bool) {
	s.endCall(h)
	if h.dropped {
		h.job.refuse(blobs)
		return false
	}
	s.keep(h.job, item{Item: i, span: h.id, blobs: blobs})
	s.dropCall(h)
	return true
}

// AbandonCall ends a cancelled call without a result, because the call's job has ended or the
// worker stops. If an abandoned call is still needed, the leader assigns it again.
func (s *Session) AbandonCall(h *HeldCall) {
	s.endCall(h)
	if !h.dropped {
		s.dropCall(h)
	}
}

// endCall records that the code of a call has returned.
func (s *Session) endCall(h *HeldCall) {
	s.work.calling--
	if h.lost {
		h.lost = false
		s.work.lostCalls--
	}
	s.hurry()
}

// LoseCall records that the code of a cancelled call does not return. Until the code of a lost call
// returns, the worker can run one call less. If the call's job has not ended, f is reported as the
// call's failure.
func (s *Session) LoseCall(h *HeldCall, f wire.Failure) {
	if h.lost {
		return
	}
	h.lost = true
	s.work.lostCalls++
	s.hurry()
	if !h.dropped {
		s.keep(h.job, item{Item: wire.Item{Failure: &f}, span: h.id})
		s.dropCall(h)
	}
}

// dropCall removes a call from the held calls.
func (s *Session) dropCall(h *HeldCall) {
	h.dropped = true
	s.work.held--
	h.job.calls = slices.DeleteFunc(h.job.calls, func(o *HeldCall) bool { return o == h })
}

// dropQueuedCalls drops the job's calls that have not begun.
func (s *Session) dropQueuedCalls(j *job) {
	for _, h := range slices.Clone(j.calls) {
		if !h.running {
			s.dropCall(h)
		}
	}
}

// MakeCall calls a function of a job, and returns the item for [Session.Return]: the partial of a
// merge's node, or the output of Plan, Finish or Estimate, and the attachment of the result of Finish or nil. The parameter epoch is the epoch of the leader
// that assigned the call, and operands contains the encoded operands. MakeCall runs the job's code,
// so it must not be called while the session's lock is held. If the item's data is larger than
// [wire.MaxInline], the caller must move the data into storage. The parameter in is the round of the call, for Finish of a job with rounds.
func MakeCall(ctx context.Context, job jobs.Job, params jobs.Params, call wire.Call, operands []engine.Operand, epoch uint64, in *InRound) (wire.Item, engine.Attachment, error) {
	switch call.Function {
	case wire.Plan:
		plan, err := job.Plan(ctx, params)
		if err != nil {
			return wire.Item{}, nil, err
		}
		output := wire.NewOutput(wire.Plan, plan.Partitions, plan.Data)
		output.Epoch = epoch
		return wire.Item{Output: &output}, nil, nil
	case wire.Estimate:
		item, err := estimate(ctx, job, params, call, operands, epoch)
		return item, nil, err
	case wire.Finish:
		output, attachment, err := finish(ctx, job, params, operands, in)
		if err != nil {
			return wire.Item{}, nil, err
		}
		output.Epoch, output.Lacking = epoch, call.Lacking
		return wire.Item{Output: &output}, attachment, nil
	}
	merged, err := job.Engine().Merge(ctx, params, operands[0], operands[1])
	if err != nil {
		return wire.Item{}, nil, err
	}
	return Merged(call, merged, epoch), nil, nil
}

// Merged returns the item of a call of Merge.
func Merged(call wire.Call, merged []byte, epoch uint64) wire.Item {
	partial := wire.NewPartial(call.Node, merged)
	partial.MergedFor, partial.Lacking = epoch, call.Lacking
	return wire.Item{Partial: &partial}
}

// InRound describes the round of a call of Finish.
type InRound struct {
	engine.Round
	Last       bool   // the state is the last one
	Partitions uint64 // number of partitions in the job's plan, only in round 0
	PlanData   []byte // data of the plan, only in round 0
}

// state computes the state of the next round.
func (in *InRound) state(ctx context.Context, job jobs.Job, params jobs.Params, operands []engine.Operand) (step engine.Step, err error) {
	if in.Number == 0 {
		step.State, err = job.Engine().Start(ctx, params, in.Partitions, in.PlanData, in.State)
		return step, err
	}
	total, err := mergePrefix(ctx, job, params, operands)
	if err != nil {
		return step, err
	}
	return job.Engine().Next(ctx, params, in.Round, total)
}

// finish computes the result of a job, or the state of its next round.
func finish(ctx context.Context, job jobs.Job, params jobs.Params, operands []engine.Operand, in *InRound) (output wire.Output, attachment engine.Attachment, err error) {
	if most := job.Engine().Rounds(params); (most > 0) != (in != nil) {
		return output, nil, errors.New("the leader and this worker do not agree whether the job has rounds")
	}
	var root engine.Operand
	switch {
	case in == nil:
		if root, err = mergePrefix(ctx, job, params, operands); err != nil {
			return output, nil, err
		}
	case in.Last:
		root = engine.Operand{Data: in.State}
	default:
		step, err := in.state(ctx, job, params, operands)
		output = wire.NewOutput(wire.Finish, 0, step.State)
		output.Continues, output.Value, output.Last = true, step.Value, step.Done
		return output, nil, err
	}
	result, attachment, err := job.Engine().Finish(ctx, params, root)
	return wire.NewOutput(wire.Finish, 0, result), attachment, err
}

// estimate judges a prefix.
func estimate(ctx context.Context, job jobs.Job, params jobs.Params, call wire.Call, operands []engine.Operand, epoch uint64) (wire.Item, error) {
	prefix, err := mergePrefix(ctx, job, params, operands)
	if err != nil {
		return wire.Item{}, err
	}
	e, err := job.Engine().Estimate(ctx, params, prefix, call.Prefix)
	if err != nil {
		return wire.Item{}, err
	}
	output := wire.NewOutput(wire.Estimate, call.Prefix, e.Value)
	output.Epoch, output.Lacking, output.Stop = epoch, call.Lacking, e.Stop
	return wire.Item{Output: &output}, nil
}

// mergePrefix merges the operands of a call: the root, or the nodes of a prefix.
func mergePrefix(ctx context.Context, job jobs.Job, params jobs.Params, operands []engine.Operand) (engine.Operand, error) {
	if len(operands) == 0 {
		return engine.Operand{}, errors.New("the leader has sent no operand")
	}
	return engine.MergePrefix(operands, func(left, right engine.Operand) ([]byte, error) {
		return job.Engine().Merge(ctx, params, left, right)
	})
}
