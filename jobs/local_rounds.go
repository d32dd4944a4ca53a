package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Rounded describes a finished round of a job with rounds.
type Rounded struct {
	Round uint64        `cbor:"1,keyasint" json:"round"` // number of the round, from 1
	Value float64       `cbor:"2,keyasint" json:"value"` // the number that the definition's Next returned
	Took  time.Duration `cbor:"3,keyasint" json:"-"`
}

// MarshalJSON adds the seconds that the round took.
func (r Rounded) MarshalJSON() ([]byte, error) {
	type fields Rounded
	return json.Marshal(struct {
		fields
		Seconds float64 `json:"seconds"`
	}{fields(r), r.Took.Seconds()})
}

// iterated is what the rounds of a job have given.
type iterated struct {
	state  []byte // the last state, which is the operand of Finish
	rounds uint64 // number of finished rounds
	timeUp bool   // Local.StopAfter has passed before the last round
}

// iterate runs the rounds of a job.
func (l Local) iterate(ctx context.Context, job Job, params Params, plan Plan, task openTask, tree engine.Tree) (done iterated, err error) {
	if done.state, err = job.binding.Start(ctx, params, plan.Partitions, plan.Data, nil); err != nil {
		return done, err
	}
	for {
		began := time.Now()
		limited, stop := l.untilStop(ctx, done.rounds)
		step, err := l.round(limited, job, params, task, tree, engine.Round{Number: done.rounds + 1, State: done.state})
		done.timeUp = err != nil && context.Cause(limited) == errTimeUp
		stop()
		switch {
		case done.timeUp:
			return done, nil
		case err != nil:
			return done, err
		}
		done.state = step.State
		if done.rounds++; l.Rounded != nil {
			l.Rounded(Rounded{Round: done.rounds, Value: step.Value, Took: time.Since(began)})
		}
		if step.Done {
			return done, nil
		}
	}
}

// errTimeUp is why the round that runs when StopAfter has passed is stopped.
var errTimeUp = errors.New("the time of StopAfter is up")

// untilStop returns the context of the next round. Round 1 is never stopped, so that the job has a result.
func (l Local) untilStop(ctx context.Context, finished uint64) (context.Context, context.CancelFunc) {
	if l.StopAfter == 0 || finished == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, l.began.Add(l.StopAfter), errTimeUp)
}

// round runs the partitions of one round and computes what follows from them.
func (l Local) round(ctx context.Context, job Job, params Params, task openTask, tree engine.Tree, round engine.Round) (step engine.Step, err error) {
	part, err := task.round(ctx, round.State)
	if err != nil {
		return step, fmt.Errorf("round %d: %w", round.Number, err)
	}
	part.audits(l.Audit)
	total, _, err := l.reduce(ctx, job, params, part, tree)
	if err = cmp.Or(err, part.Close()); err != nil {
		return step, fmt.Errorf("round %d: %w", round.Number, err)
	}
	return job.binding.Next(ctx, params, round, total)
}
