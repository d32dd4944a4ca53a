package report

import (
	"context"
	"errors"
	"fmt"
)

// System is one of the compared systems of a benchmark, which runs in a P, computes an S and gives the measurement T.
type System[P, S, T any] struct {
	Name     string
	Language string // language of the plain loop beside the system, or empty
	Versions func(context.Context, P) (string, error)
	Run      func(context.Context, P, S) (T, error)
}

// InTurns measures all systems in several rounds, whose orders of the systems differ, and calls measured after each measurement.
func InTurns[P, S, T any](ctx context.Context, setup Setup, systems []System[P, S, T], in P, what S, measured func(round, system int, t T) error) error {
	for round := range setup.Rounds {
		for i := range systems {
			at := (i + round) % len(systems)
			t, err := systems[at].Run(ctx, in, what)
			if err == nil {
				err = measured(round, at, t)
			}
			if err != nil {
				return errors.Join(fmt.Errorf("%s, %v: %w", systems[at].Name, what, err), ctx.Err())
			}
		}
	}
	return nil
}
