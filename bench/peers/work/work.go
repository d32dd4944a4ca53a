package work

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

// Work says what a task is.
type Work struct {
	Paths uint64 `json:"paths"` // that each task simulates; 0: tasks are empty
}

// Job is the same work as a job of the bellwether program, and its parameters.
func (w Work) Job(tasks uint64) (name string, params []string) {
	if w.Paths == 0 {
		return probe.Definition.Name, []string{fmt.Sprint("partitions=", tasks)}
	}
	return montecarlo.Definition.Name, []string{fmt.Sprint("paths=", tasks*w.Paths), fmt.Sprint("batch=", w.Paths)}
}

// Sum accounts for tasks that were done. Sums of several processes add up.
type Sum struct {
	Tasks  uint64  `json:"tasks"`
	Hash   uint64  `json:"hash,string"` // modulo 2^64, of empty tasks
	Payoff float64 `json:"payoff"`      // of simulated paths
}

// Plus is the sum of both.
func (s Sum) Plus(t Sum) Sum { return Sum{s.Tasks + t.Tasks, s.Hash + t.Hash, s.Payoff + t.Payoff} }

// Minus is what s has beyond t.
func (s Sum) Minus(t Sum) Sum { return Sum{s.Tasks - t.Tasks, s.Hash - t.Hash, s.Payoff - t.Payoff} }

// rounding is by how much two sums of the same payoffs may differ, relatively: far
// more than their rounding errors, and far less than one task among any number that
// is run here.
const rounding = 1e-11

// Check compares a sum with the one that is right.
func (s Sum) Check(want Sum) error {
	if s.Tasks != want.Tasks || s.Hash != want.Hash || math.Abs(s.Payoff-want.Payoff) > rounding*math.Abs(want.Payoff) {
		return fmt.Errorf("the tasks were not done once each: got %+v, want %+v", s, want)
	}
	return nil
}

// Result reads the sum from the result of the work's job.
func (w Work) Result(tasks uint64, result json.RawMessage) (Sum, error) {
	if w.Paths == 0 {
		return read(result, tasks, empty)
	}
	return read(result, tasks, simulated)
}

func read[R any](result json.RawMessage, tasks uint64, sum func(R) (Sum, error)) (Sum, error) {
	var r R
	if err := json.Unmarshal(result, &r); err != nil {
		return Sum{}, fmt.Errorf("read result: %w", err)
	}
	s, err := sum(r)
	s.Tasks = tasks
	return s, err
}

func empty(r probe.Result) (Sum, error) {
	hash, err := strconv.ParseUint(r.Sum, 16, 64)
	if err != nil {
		return Sum{}, fmt.Errorf("read sum of hashes: %w", err)
	}
	return Sum{Hash: hash}, nil
}

func simulated(r montecarlo.Result) (Sum, error) {
	return Sum{Payoff: r.Price * float64(r.Paths)}, nil
}

// Right computes the sum of tasks 0 to n-1 in a plain loop on so many cores.
func (w Work) Right(ctx context.Context, n uint64, cores int) (Sum, error) {
	c, err := w.Open(ctx, cores)
	if err != nil {
		return Sum{}, err
	}
	if err := c.Share(ctx, n); err != nil {
		return Sum{}, err
	}
	return c.Sum()
}
