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

// Work describes the work of a task.
type Work struct {
	Paths uint64 `json:"paths"` // number of paths that each task simulates; 0 for empty tasks
}

// Job returns the job of the bellwether program with the same work, and its parameters.
func (w Work) Job(tasks uint64) (name string, params []string) {
	if w.Paths == 0 {
		return probe.Definition.Name, []string{fmt.Sprint("partitions=", tasks)}
	}
	return montecarlo.Definition.Name, []string{fmt.Sprint("paths=", tasks*w.Paths), fmt.Sprint("batch=", w.Paths)}
}

// Sum accounts for completed tasks. The sums of several processes can be added.
type Sum struct {
	Tasks  uint64  `json:"tasks"`
	Hash   uint64  `json:"hash,string"` // sum of the hashes of empty tasks, modulo 2^64
	Payoff float64 `json:"payoff"`      // sum of the payoffs of simulated paths
}

func (s Sum) Plus(t Sum) Sum { return Sum{s.Tasks + t.Tasks, s.Hash + t.Hash, s.Payoff + t.Payoff} }

func (s Sum) Minus(t Sum) Sum { return Sum{s.Tasks - t.Tasks, s.Hash - t.Hash, s.Payoff - t.Payoff} }

// rounding is the relative difference that two sums of the same payoffs may have. The constant is
// far larger than rounding errors, and far smaller than the share of one task in any run of these
// benchmarks.
const rounding = 1e-11

// Check returns an error if s is not the expected sum.
func (s Sum) Check(want Sum) error {
	if s.Tasks != want.Tasks || s.Hash != want.Hash || math.Abs(s.Payoff-want.Payoff) > rounding*math.Abs(want.Payoff) {
		return fmt.Errorf("the tasks were not done once each: got %+v, want %+v", s, want)
	}
	return nil
}

// Result computes the sum from the result of the job of the bellwether program.
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

// Right computes the sum of tasks 0 to n-1 with a plain loop on the given number of cores.
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
