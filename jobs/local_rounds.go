package jobs

import (
	"cmp"
	"context"
	"encoding/json"
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

// iterate runs the rounds of a job and returns the last state, which is the operand of Finish, and the number of rounds.
func (l Local) iterate(ctx context.Context, job Job, params Params, plan Plan, task openTask, tree engine.Tree) (last engine.Operand, rounds uint64, err error) {
	state, err := job.binding.Start(ctx, params, plan.Partitions, plan.Data)
	for err == nil {
		began := time.Now()
		var step engine.Step
		if step, err = l.round(ctx, job, params, task, tree, engine.Round{Number: rounds + 1, State: state}); err != nil {
			break
		}
		if rounds++; l.Rounded != nil {
			l.Rounded(Rounded{Round: rounds, Value: step.Value, Took: time.Since(began)})
		}
		if state = step.State; step.Done {
			return engine.Operand{Data: state, Own: true}, rounds, nil
		}
	}
	return last, rounds, err
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
