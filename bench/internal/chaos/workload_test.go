//go:build unix

package chaos

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// op is an operation of a client: a job and the expected outcome of the job.
type op struct {
	name   string   // name of the kind of operation
	job    string   // name of the job definition
	params []string // parameters that determine the result, in the form name=value
	faults []string // parameters that determine durations and faults, in the form name=value
	flags  []string // flags for the command submit

	cancelAfter time.Duration // time from the submission to the cancellation; 0 if the job is not cancelled
	needs       time.Duration // minimum time from the beginning of the operation to the end of the faults
	keeps       int           // number of partials that remain in storage when the job has ended
	large       bool          // true if the job's partials are too large for the manifest

	want   store.State
	reason string // text that the expected error must contain
}

// workload contains one function for each kind of operation. Without faults, each job takes a few
// seconds. The last kind of operation submits a job that would take very long, and cancels the job.
var workload = []func(*rand.Rand) op{
	func(r *rand.Rand) op {
		return probeOp("even", 100+r.IntN(200), "sleep=20ms")
	},
	func(r *rand.Rand) op {
		return probeOp("uneven", 50+r.IntN(100), "sleep=10ms", "cost-every=17", "cost-factor=30")
	},
	func(r *rand.Rand) op {
		o := probeOp("urgent", 20+r.IntN(50), "sleep=20ms")
		o.flags = []string{"--priority", "10"}
		return o
	},
	func(r *rand.Rand) op {
		o := probeOp("partials of 20 kB", 50+r.IntN(50), "sleep=30ms")
		o.params = append(o.params, "partial-size=20000")
		return o
	},
	func(r *rand.Rand) op {
		o := probeOp("partials of 700 kB", 20+r.IntN(20), "sleep=50ms")
		o.params = append(o.params, "partial-size=700000")
		o.large = true
		return o
	},
	func(r *rand.Rand) op { // partials that need more memory than a worker has
		o := probeOp("partials of 5 MB", 20+r.IntN(20), "sleep=50ms")
		o.params = append(o.params, "partial-size=5000000")
		o.large = true
		return o
	},
	func(r *rand.Rand) op { return vectorsOp(5, 12+r.IntN(12)) },
	func(r *rand.Rand) op { return vectorsOp(20, 5+r.IntN(5)) }, // a worker has memory for three of the vectors
	func(r *rand.Rand) op {
		return op{
			name: "primes", job: "primes", want: store.Completed,
			params: []string{fmt.Sprintf("limit=%d", 5_000_000+r.IntN(5_000_000)), "width=100000"},
		}
	},
	func(r *rand.Rand) op {
		return op{
			name: "prices", job: "montecarlo", want: store.Completed,
			params: []string{fmt.Sprintf("seed=%d", r.IntN(1000)), "option=asian", "steps=4", "paths=100000", "batch=1000"},
		}
	},
	func(r *rand.Rand) op {
		o := probeOp("partitions that fail twice", 100, "sleep=10ms", fmt.Sprintf("fail-every=%d", 10+r.IntN(20)), "times=2")
		o.flags = []string{"--max-attempts", "5"}
		return o
	},
	func(r *rand.Rand) op {
		return probeOp("a partition that panics once", 100, "sleep=10ms", fmt.Sprintf("panic=%d", r.IntN(100)))
	},
	func(r *rand.Rand) op {
		return probeOp("a partition that exits its process twice", 100, "sleep=10ms", fmt.Sprintf("exit=%d", r.IntN(100)), "times=2")
	},
	func(r *rand.Rand) op {
		deadly := r.IntN(50)
		o := probeOp("a partition that exits its process", 50, "sleep=10ms", fmt.Sprintf("exit=%d", deadly), "times=1000")
		o.want, o.reason = store.Failed, fmt.Sprintf("partition %d ", deadly)
		o.needs = 30 * time.Second
		return o
	},
	func(r *rand.Rand) op {
		hopeless := r.IntN(100)
		o := probeOp("a partition that fails permanently", 100, "sleep=10ms", fmt.Sprintf("permanent=%d", hopeless), "times=1000")
		o.want, o.reason = store.Failed, fmt.Sprintf("partition %d ", hopeless)
		return o
	},
	func(r *rand.Rand) op { return walkOp("rounds", 40, 5+r.IntN(10), 1) },
	// Each state and each partial is large. The race detector makes their encoding thirty times as slow.
	func(r *rand.Rand) op { return walkOp("rounds with states of 300 kB", 16, 2+r.IntN(4), 33_000) },
	func(r *rand.Rand) op {
		o := probeOp("cancelled", 100_000, "sleep=50ms")
		o.want, o.cancelAfter = store.Cancelled, drawn(r, 0, 3*time.Second)
		return o
	},
}

// walkOp runs a job with rounds. With many numbers, its states travel from worker to worker, and its partials are large.
func walkOp(name string, partitions, rounds, length int) op {
	o := op{
		name: name, job: "walk", want: store.Completed,
		params: []string{fmt.Sprintf("partitions=%d", partitions), fmt.Sprintf("rounds=%d", rounds), fmt.Sprintf("length=%d", length)},
		faults: []string{"sleep=10ms"},
	}
	if length > 1000 {
		o.large, o.keeps = true, 1 // the last state, from which other jobs may continue
	}
	return o
}

func probeOp(name string, partitions int, faults ...string) op {
	return op{
		name: name, job: "probe", want: store.Completed,
		params: []string{fmt.Sprintf("partitions=%d", partitions)}, faults: faults,
	}
}

// vectorsOp adds up vectors of some megabytes each, which are merged in place in reused memory.
func vectorsOp(megabytes, vectors int) op {
	return op{
		name: fmt.Sprintf("sums of vectors of %d MB", megabytes), job: "vectors", want: store.Completed, large: true,
		params: []string{fmt.Sprintf("partitions=%d", vectors), fmt.Sprintf("length=%d", megabytes*1_000_000/8)},
	}
}

func workloadOn(on Storage) []func(*rand.Rand) op {
	if on == Azure {
		return slices.Insert(slices.Clone(workload), 0, scanOp)
	}
	return workload
}

// generator generates operations without end: each kind once, in random order, and then again.
type generator struct {
	kinds []func(*rand.Rand) op
	rng   *rand.Rand
	rest  []int
}

func newGenerator(seed uint64, client int, on Storage) *generator {
	return &generator{kinds: workloadOn(on), rng: rand.New(rand.NewPCG(seed, uint64(client)))}
}

func (o *generator) next() op {
	if len(o.rest) == 0 {
		o.rest = o.rng.Perm(len(o.kinds))
	}
	kind := o.rest[0]
	o.rest = o.rest[1:]
	return o.kinds[kind](o.rng)
}

func TestOperations(t *testing.T) {
	generate := func(seed uint64, client int) (list []op) {
		for o := newGenerator(seed, client, Azure); len(list) < 2*len(workloadOn(Azure)); {
			list = append(list, o.next())
		}
		return list
	}
	if !reflect.DeepEqual(generate(1, 1), generate(1, 1)) {
		t.Error("the same seed gives other operations")
	}
	if reflect.DeepEqual(generate(1, 1), generate(1, 2)) {
		t.Error("two clients have the same operations")
	}
	kinds := make(map[string]int)
	for _, o := range generate(1, 1) {
		kinds[o.name]++
	}
	for name, n := range kinds {
		if n != 2 || len(kinds) != len(workloadOn(Azure)) {
			t.Errorf("%s is generated %d times, want each of %d kinds twice", name, n, len(kinds))
		}
	}
}
