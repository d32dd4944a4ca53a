package jobs_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

type meansParams struct {
	Rounds uint64 `json:"rounds" min:"1"`
}

// means is the state of a job that finds the centres of two clusters of numbers.
type means struct{ Centres []float64 }

// sums is the partial of a round: for each centre, the numbers that are closest to it.
type sums struct{ LowSum, LowCount, HighSum, HighCount float64 }

type meansRounder struct{ opened *atomic.Int64 }

func (r meansRounder) Round(_ context.Context, state means) (jobs.Mapper[sums], error) {
	return meansMapper{&state}, nil
}

func (r meansRounder) Close() error { r.opened.Add(-1); return nil }

type meansMapper struct{ *means }

func (m meansMapper) Map(_ context.Context, partition uint64) (sums, error) {
	x := float64(partition%7) + float64(partition%2)*100
	if math.Abs(x-m.Centres[0]) <= math.Abs(x-m.Centres[1]) {
		return sums{LowSum: x, LowCount: 1}, nil
	}
	return sums{HighSum: x, HighCount: 1}, nil
}

func meansDefinition() jobs.Rounds[meansParams, means, sums, means] {
	opened := new(atomic.Int64)
	return jobs.Rounds[meansParams, means, sums, means]{
		Name: "means", Version: "1", Summary: "two means", Defaults: meansParams{Rounds: 100}, Measure: "movement",
		Plan:  func(context.Context, meansParams) (jobs.Plan, error) { return jobs.Plan{Partitions: 1001}, nil },
		Start: func(context.Context, meansParams, jobs.Plan) (means, error) { return means{[]float64{0, 1}}, nil },
		Open: func(context.Context, meansParams, jobs.Plan) (jobs.Rounder[means, sums], error) {
			opened.Add(1)
			return meansRounder{opened}, nil
		},
		Merge: func(left, right sums) (sums, error) {
			left.LowSum += right.LowSum
			left.LowCount += right.LowCount
			left.HighSum += right.HighSum
			left.HighCount += right.HighCount
			return left, nil
		},
		Next: func(_ context.Context, _ meansParams, state means, total sums, _ uint64) (jobs.Step[means], error) {
			next := means{[]float64{total.LowSum / total.LowCount, total.HighSum / total.HighCount}}
			return jobs.Step[means]{State: next, Done: slices.Equal(next.Centres, state.Centres), Value: math.Abs(next.Centres[1] - state.Centres[1])}, nil
		},
		MaxRounds: func(p meansParams) uint64 { return p.Rounds },
		Finish:    func(_ context.Context, _ meansParams, state means) (means, error) { return state, nil },
	}
}

func runRounds(t *testing.T, d jobs.Rounds[meansParams, means, sums, means], slots int, pairs ...string) (jobs.LocalResult, []jobs.Rounded, error) {
	t.Helper()
	job := jobs.MustNewRounds(d)
	params, err := job.Params(nil, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	var rounds []jobs.Rounded
	r, err := jobs.Local{Slots: slots, Attempts: 1, Rounded: func(r jobs.Rounded) { rounds = append(rounds, r) }}.Run(t.Context(), job, params)
	return r, rounds, err
}

func TestRounds(t *testing.T) {
	d := meansDefinition()
	for _, slots := range []int{1, 2, 3, 8} {
		r, rounds, err := runRounds(t, d, slots)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"Centres":[3,103]}`; string(r.Result) != want {
			t.Errorf("%d slots: result %s, want %s", slots, r.Result, want)
		}
		if int(r.Rounds) != len(rounds) || rounds[len(rounds)-1].Value != 0 || rounds[0].Value == 0 {
			t.Errorf("%d slots: %d rounds, reported %v", slots, r.Rounds, rounds)
		}
	}
	r, _, err := runRounds(t, d, 2, "rounds=1")
	if err != nil || r.Rounds != 1 {
		t.Errorf("at most 1 round: %d rounds, %s, %v", r.Rounds, r.Result, err)
	}
}

func TestCheckRounds(t *testing.T) {
	job := jobs.MustNewRounds(meansDefinition())
	params, _ := job.Params(nil)
	r, err := jobs.Check{Attempts: 1}.Run(t.Context(), job, params)
	if err != nil || r.Rounds < 2 {
		t.Errorf("%d rounds, %v", r.Rounds, err)
	}
}

func TestCheckFindsFaultsOfRounds(t *testing.T) {
	calls := new(atomic.Int64)
	tests := map[string]struct {
		breaks func(*jobs.Rounds[meansParams, means, sums, means])
		want   string
	}{
		"Start": {func(d *jobs.Rounds[meansParams, means, sums, means]) {
			d.Start = func(context.Context, meansParams, jobs.Plan) (means, error) {
				return means{[]float64{0, float64(calls.Add(1))}}, nil
			}
		}, "state of round 1: two calls of Start give different bytes"},
		"Next": {func(d *jobs.Rounds[meansParams, means, sums, means]) {
			d.Next = func(context.Context, meansParams, means, sums, uint64) (jobs.Step[means], error) {
				return jobs.Step[means]{State: means{[]float64{0, float64(calls.Add(1))}}}, nil
			}
		}, "state after round 1: two calls of Next give different bytes"},
		"Map changes the state": {func(d *jobs.Rounds[meansParams, means, sums, means]) {
			open := d.Open
			d.Open = func(ctx context.Context, p meansParams, plan jobs.Plan) (jobs.Rounder[means, sums], error) {
				r, err := open(ctx, p, plan)
				return changing{r.(meansRounder)}, err
			}
		}, "before and after run 1"},
		"a cache of another round": {func(d *jobs.Rounds[meansParams, means, sums, means]) {
			d.Open = func(context.Context, meansParams, jobs.Plan) (jobs.Rounder[means, sums], error) {
				return &keeping{}, nil
			}
		}, "round 2: node 0/"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := meansDefinition()
			test.breaks(&d)
			job := jobs.MustNewRounds(d)
			params, _ := job.Params(nil)
			_, err := jobs.Check{Attempts: 1}.Run(t.Context(), job, params)
			var differs *jobs.DifferenceError
			if !errors.As(err, &differs) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// changing changes the state of each round.
type changing struct{ meansRounder }

func (c changing) Round(ctx context.Context, state means) (jobs.Mapper[sums], error) {
	state.Centres[0] += 0.5
	return c.meansRounder.Round(ctx, state)
}

// keeping returns the values of its first round in all rounds.
type keeping struct{ first *means }

func (k *keeping) Round(_ context.Context, state means) (jobs.Mapper[sums], error) {
	if k.first == nil {
		k.first = &state
	}
	return meansMapper{k.first}, nil
}

func TestRoundsRefuseBadInput(t *testing.T) {
	next := func(step jobs.Step[means]) func(context.Context, meansParams, means, sums, uint64) (jobs.Step[means], error) {
		return func(context.Context, meansParams, means, sums, uint64) (jobs.Step[means], error) { return step, nil }
	}
	for want, step := range map[string]jobs.Step[means]{
		"state.Centres[1] is NaN":                    {State: means{[]float64{0, math.NaN()}}},
		"the movement is +Inf: want a finite number": {Value: math.Inf(1)},
	} {
		d := meansDefinition()
		d.Next = next(step)
		if _, _, err := runRounds(t, d, 1); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "after round 1 of job means") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	d := meansDefinition()
	d.MaxRounds = nil
	if _, err := jobs.NewRounds(d); err == nil || !strings.Contains(err.Error(), "MaxRounds") {
		t.Errorf("a definition without MaxRounds: %v", err)
	}
	for want, most := range map[string]func(meansParams) uint64{
		"MaxRounds returned 0: want at least 1": func(meansParams) uint64 { return 0 },
		"panic: too many":                       func(meansParams) uint64 { panic("too many") },
	} {
		d = meansDefinition()
		d.MaxRounds = most
		if _, _, err := runRounds(t, d, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	d = meansDefinition()
	d.Next = func(context.Context, meansParams, means, sums, uint64) (jobs.Step[means], error) { panic("next") }
	var panicked *jobs.PanicError
	if _, _, err := runRounds(t, d, 1); !errors.As(err, &panicked) {
		t.Errorf("error %v, want a panic", err)
	}
}
