//go:build unix

package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// These constants name the functions that misbehave. The constant merge is a merge in a slot. The
// constant root is the merge of the tree's root, whose operands usually come from different
// workers.
const (
	plan   = "plan"
	open   = "open"
	fork   = "fork"
	mapOne = "map"
	merge  = "merge"
	root   = "root"
	finish = "finish"
	encode = "encode"
	decode = "decode"
	closed = "close"
)

// These constants name the kinds of misbehaviour of a function.
const (
	exit     = "exit"     // misdeed: end the process
	crash    = "panic"    // misdeed: panic in another goroutine
	overflow = "overflow" // misdeed: overflow the stack
	allocate = "allocate" // misdeed: allocate memory without end
	goexit   = "goexit"   // misdeed: call runtime.Goexit
	hang     = "hang"     // misdeed: do not return, even if the context is done
	slow     = "slow"     // misdeed: take longer than the functions of other jobs
	garbage  = "garbage"  // misdeed: return an invalid value
)

var (
	functions = []string{plan, open, fork, mapOne, merge, root, finish, encode, decode, closed}
	misdeeds  = []string{exit, crash, overflow, allocate, goexit, hang, slow, garbage}
)

// partitions is the number of partitions of a hostile job.
const partitions = 16

// limit is the time limit of each function of a hostile job. slowFor is the duration of a slow
// function in a definition with the default limits.
const (
	limit   = time.Second
	slowFor = 2 * time.Second
)

// orders contains the function of a job that misbehaves, and its misdeed. Partials contain the
// orders, because merges and codecs get only partials.
type orders struct {
	Function string `json:"function" help:"the function that misbehaves"`
	Misdeed  string `json:"misdeed" help:"what it does"`
	Trace    string `json:"trace" help:"file that is made when the function misbehaves"`
}

// obey misbehaves if f is the function in the orders. The result reports whether the caller must
// return an invalid value.
func (o orders) obey(f string) (returnGarbage bool) {
	if o.Function != f {
		return false
	}
	if o.Trace != "" {
		_ = os.WriteFile(o.Trace, nil, 0o600)
	}
	switch o.Misdeed {
	case exit:
		os.Exit(3)
	case crash:
		go panic("ordered to panic in another goroutine of " + f)
		select {}
	case overflow:
		deepest = overflowStack(0)
	case allocate:
		allocateAll()
	case goexit:
		runtime.Goexit()
	case hang:
		select {}
	case slow:
		time.Sleep(slowFor)
	}
	return o.Misdeed == garbage
}

// endless and deepest hide the infinite recursion from the compiler and from linters.
var (
	endless = true
	deepest int
)

func overflowStack(n int) int {
	if !endless {
		return n
	}
	return overflowStack(n+1) + n
}

// maxStack and maxMemory bound the memory of a worker process, so that the tests do not use up the
// machine's memory.
const (
	maxStack  = 64 << 20
	maxMemory = 1 << 30
)

// allocateAll allocates until the process dies. The process ends at the limit that limitMemory has
// set, or by a signal of the kernel.
func allocateAll() {
	const block = 16 << 20
	var all [][]byte
	for len(all) < 2*maxMemory/block {
		all = append(all, make([]byte, block))
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// partial is the partial of a hostile job.
type partial struct {
	Orders orders
	First  bool // true if the partial contains partition 0
	Count  int
	Weight float64 // if the weight is NaN, encode returns an error
}

// tell returns the orders if the partial contains partition 0. A slow job is therefore slow for
// only one of its partials.
func (p partial) tell() orders {
	if p.First {
		return p.Orders
	}
	return orders{}
}

type codec struct{}

func (codec) Encode(p partial) ([]byte, error) {
	if p.tell().obey(encode) {
		return []byte("}{"), nil
	}
	return json.Marshal(p)
}

func (codec) Decode(data []byte) (p partial, err error) {
	if err = json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("decode partial: %w", err)
	}
	if p.tell().obey(decode) {
		return partial{Weight: math.NaN()}, nil
	}
	return p, nil
}

type mapper struct{ orders }

func (m mapper) Map(_ context.Context, partition uint64) (partial, error) {
	time.Sleep(50 * time.Millisecond) // partitions take some time, so that several workers get partitions
	p := partial{Orders: m.orders, First: partition == 0, Count: 1}
	if p.tell().obey(mapOne) {
		p.Weight = math.NaN()
	}
	return p, nil
}

func (m mapper) Close() error {
	if m.obey(closed) {
		return errors.New("ordered to return garbage")
	}
	return nil
}

// forker is a mapper that implements [jobs.Forker].
type forker struct{ mapper }

func (f forker) Fork() func(context.Context, uint64) (partial, error) {
	if f.obey(fork) {
		return nil
	}
	return f.Map
}

// define returns a hostile definition.
func define(name string, limits jobs.Limits) jobs.Job {
	return jobs.MustNew(jobs.Definition[orders, partial, float64]{
		Name: name, Version: "1", Summary: "misbehaves", Limits: limits, Codec: codec{},
		Plan: func(_ context.Context, o orders) (jobs.Plan, error) {
			if o.obey(plan) {
				return jobs.Plan{}, nil
			}
			return jobs.Plan{Partitions: partitions}, nil
		},
		Open: func(_ context.Context, o orders, _ jobs.Plan) (jobs.Mapper[partial], error) {
			if o.obey(open) {
				return nil, nil
			}
			if o.Function == fork {
				return forker{mapper{o}}, nil
			}
			return mapper{o}, nil
		},
		Merge: func(left, right partial) (partial, error) {
			left.Count += right.Count
			f := merge
			if left.Count == partitions {
				f = root
			}
			if left.tell().obey(f) {
				left.Weight = math.NaN()
			}
			return left, nil
		},
		Finish: func(_ context.Context, o orders, p partial) (float64, error) {
			if o.obey(finish) {
				return math.NaN(), nil
			}
			return float64(p.Count) + p.Weight, nil
		},
	})
}

var (
	hostile = define("hostile", jobs.Limits{Plan: limit, Open: limit, Map: limit, Merge: limit, Finish: limit})
	patient = define("patient", jobs.Limits{}) // job with the default limits, for slow functions and for hangs that only a signal or a cancellation ends
)

// steady is the job that must make progress while a hostile job runs. The partitions of the steady
// job wait until a file exists.
var steady = jobs.MustNew(jobs.Definition[steadyParams, uint64, uint64]{
	Name: "steady", Version: "1", Summary: "goes on",
	Plan: func(_ context.Context, p steadyParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open: func(_ context.Context, p steadyParams, _ jobs.Plan) (jobs.Mapper[uint64], error) {
		return steadyMapper(p), nil
	},
	Merge:  func(left, right uint64) (uint64, error) { return left*31 + right, nil },
	Finish: func(_ context.Context, _ steadyParams, sum uint64) (uint64, error) { return sum, nil },
})

const (
	// steadyPartitions is a number of partitions that lasts longer than the default tests.
	// allSteadyPartitions lasts longer than all cases.
	steadyPartitions    = 80_000
	allSteadyPartitions = 1_600_000
	steadyPause         = 50 * time.Millisecond
)

type steadyParams struct {
	Release    string `json:"release" help:"file that ends the pauses of partitions once it exists"`
	Partitions uint64 `json:"partitions" help:"number of partitions"`
}

type steadyMapper steadyParams

func (m steadyMapper) Map(ctx context.Context, partition uint64) (uint64, error) {
	if _, err := os.Stat(m.Release); err == nil {
		return partition, nil
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(steadyPause):
		return partition, nil
	}
}

// known contains the jobs that the workers know.
var known = []jobs.Job{hostile, patient, steady}
