package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

const (
	causeStart = "Start depends on more than the parameters and the plan, such as the time or random numbers"
	causeNext  = "Next depends on more than its arguments, such as the time, random numbers or the order of a map"
	causeState = "Map, or the Round of the job, changes the state, which all slots of a worker share"
)

// rounds checks the rounds of a job one after the other and returns the last state. One run opens the job for each
// round, as a worker does that joins late; the other runs share what the job keeps between rounds.
func (k *checker) rounds(ctx context.Context, runs []checkRun) (last []byte, rounds uint64, err error) {
	state, err := k.start(ctx)
	if err != nil {
		return nil, 0, err
	}
	shared, err := k.job.binding.open(ctx, k.params, k.plan)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if closeErr := shared.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close job %s: %w", k.job.Name(), closeErr)
		}
	}()
	for round := (engine.Round{Number: 1, State: state}); ; round.Number++ {
		k.open = func(ctx context.Context, r checkRun) (openTask, error) { return k.openRound(ctx, shared, r, round) }
		total, err := k.compare(ctx, runs)
		if err != nil {
			return nil, 0, fmt.Errorf("round %d: %w", round.Number, err)
		}
		step, err := k.next(ctx, round, total)
		if err != nil {
			return nil, 0, err
		}
		if round.State = step.State; step.Done {
			return step.State, round.Number, nil
		}
	}
}

// openRound returns the task of a round for one of the runs.
func (k *checker) openRound(ctx context.Context, shared openTask, r checkRun, round engine.Round) (openTask, error) {
	if !r.joins {
		return shared.round(ctx, round.State)
	}
	alone, err := k.job.binding.open(ctx, k.params, k.plan)
	if err != nil {
		return nil, err
	}
	task, err := alone.round(ctx, round.State)
	if err != nil {
		return nil, errors.Join(err, alone.Close())
	}
	return joined{task, alone}, nil
}

// joined is the task of a round for which the job was opened.
type joined struct {
	openTask
	job openTask
}

func (j joined) Close() error {
	err := j.openTask.Close()
	if closeErr := j.job.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (j joined) stateChanged() (bool, error) { return stateChanged(j.openTask) }

// stateChanged reports whether a run has changed the state of its round. A job without rounds has no state.
func stateChanged(task openTask) (bool, error) {
	if r, ok := task.(interface{ stateChanged() (bool, error) }); ok {
		return r.stateChanged()
	}
	return false, nil
}

// start computes the state of round 1 twice.
func (k *checker) start(ctx context.Context) (state []byte, err error) {
	if state, err = k.job.binding.Start(ctx, k.params, k.plan.Partitions, k.plan.Data, nil); err != nil {
		return nil, err
	}
	again, err := k.job.binding.Start(ctx, k.params, k.plan.Partitions, k.plan.Data, nil)
	if err == nil && !bytes.Equal(state, again) {
		err = &DifferenceError{"state of round 1", "two calls of Start", causeStart}
	}
	return state, err
}

// next computes twice what follows from a round.
func (k *checker) next(ctx context.Context, round engine.Round, total []byte) (step engine.Step, err error) {
	if step, err = k.job.binding.Next(ctx, k.params, round, engine.Operand{Data: total}); err != nil {
		return step, err
	}
	again, err := k.job.binding.Next(ctx, k.params, round, engine.Operand{Data: total})
	if err == nil && (!bytes.Equal(step.State, again.State) || step.Done != again.Done || step.Value != again.Value) {
		err = &DifferenceError{fmt.Sprintf("state after round %d", round.Number), "two calls of Next", causeNext}
	}
	return step, err
}
