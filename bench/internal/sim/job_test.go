package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// job is one simulated job: the behaviour of its code, and its history.
type job struct {
	sim   *Sim
	index uint64 // index of the job in Sim.list
	spec  store.Spec
	tree  engine.Tree
	jobBehaviour
	round round

	tried map[uint64]int // number of attempts at each flaky partition
	kills int            // number of processes that the killer partition has killed
	hung  bool           // true if the hanging partition has hung

	openFailures int                    // number of times that a worker failed to open the job
	nodes        map[engine.Node][]byte // reference partials that were computed so far

	submitted   bool // true if the client knows that the submission is in storage
	cancelled   bool // true if a leader has confirmed the cancellation
	cancelAsked bool
	onEnd       func()            // function to call when the job's end is durable; may be nil
	onJudge     func(n uint64)    // function to call when a process judges the first n partitions; may be nil
	onRan       func(engine.Span) // function to call when a slot has run partitions; may be nil
	removing    bool              // true if the job has ended and the client has begun to remove it
	removed     bool
}

type jobBehaviour struct {
	partitions uint64
	each       time.Duration // mean duration of a partition
	pad        int           // number of additional bytes in each partial
	data       int           // size of the plan's data in bytes
	flaky      map[uint64]int
	broken     uint64 // partition that always fails, or noPartition
	permanent  uint64 // partition that fails with a permanent error
	sours      uint64 // partition whose first attempt succeeds and whose later attempts all fail
	killer     uint64 // partition that kills the process that runs it
	killsMost  int    // maximum number of processes that the killer partition kills
	hangs      uint64 // partition whose first attempt takes 15 s longer
	planFails  int    // number of times that Plan fails
	cancelAt   time.Duration
	removeIn   time.Duration // time from the job's end until the client removes the job; negative if the job is not removed
	specAgain  time.Duration // time from the job's removal until storage executes a delayed write of the job's spec; negative if no write is delayed
	submitAt   time.Duration
	version    int // index of the job's version in Sim.versions
	rogue      rogue
	prefixes
	finds
	iterates
	naming
}

const noPartition = math.MaxUint64

type params struct {
	Job string `json:"job"`
}

// leaf is a partial. Runs lists its partitions in the order of their merges, on which the float Sum depends.
type leaf struct {
	Job  uint64      // index of the job in Sim.list
	Runs [][2]uint64 // ranges of adjacent partitions: the first partition, and the last partition plus one
	Sum  float64
	Pad  []byte
}

// leafCodec encodes numbers in 8 bytes each: the job, the number of runs, their bounds, the sum; then the
// padding. It is written by hand because a general codec would slow the simulation down.
type leafCodec struct{}

func (leafCodec) Encode(l leaf) ([]byte, error) {
	data := make([]byte, 0, 24+16*len(l.Runs)+len(l.Pad))
	data = binary.LittleEndian.AppendUint64(data, l.Job)
	data = binary.LittleEndian.AppendUint64(data, uint64(len(l.Runs)))
	for _, r := range l.Runs {
		data = binary.LittleEndian.AppendUint64(data, r[0])
		data = binary.LittleEndian.AppendUint64(data, r[1])
	}
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(l.Sum))
	return append(data, l.Pad...), nil
}

func (leafCodec) Decode(data []byte) (leaf, error) {
	number := func() (n uint64) {
		n, data = binary.LittleEndian.Uint64(data), data[8:]
		return n
	}
	if len(data) < 24 {
		return leaf{}, fmt.Errorf("partial of %d bytes: want at least 24", len(data))
	}
	l := leaf{Job: number()}
	l.Runs = make([][2]uint64, number())
	if len(data) < 16*len(l.Runs)+8 {
		return leaf{}, fmt.Errorf("%d runs in %d bytes", len(l.Runs), len(data))
	}
	for i := range l.Runs {
		l.Runs[i] = [2]uint64{number(), number()}
	}
	l.Sum = math.Float64frombits(number())
	l.Pad = slices.Clone(data)
	return l, nil
}

type result struct {
	Runs [][2]uint64 `json:"runs"`
	Sum  float64     `json:"sum"`
}

// kind is the name of the job definition that all simulated jobs use. The definition has two
// versions with the same behaviour.
const kind = "simulated"

var (
	errOpen   = errors.New("the job does not open this time")
	errFlaky  = errors.New("the partition fails this time")
	errBroken = errors.New("the partition always fails")
	errPlan   = errors.New("the plan fails this time")

	errMachine = errors.New("each partition fails on this machine")
)

func (s *Sim) define(version string) jobs.Job {
	return jobs.MustNew(jobs.Definition[params, leaf, result]{
		Name: kind, Version: version, Summary: "counts its partitions",
		Plan: func(_ context.Context, p params) (jobs.Plan, error) {
			j := s.job(p.Job)
			if j.planFails > 0 {
				j.planFails--
				s.cover("fault: plan failed")
				return jobs.Plan{}, errPlan
			}
			return jobs.Plan{Partitions: j.partitions, Data: make([]byte, j.data)}, nil
		},
		Open: func(_ context.Context, p params, plan jobs.Plan) (jobs.Mapper[leaf], error) {
			j := s.job(p.Job)
			if plan.Partitions != j.partitions || len(plan.Data) != j.data {
				return nil, jobs.Permanent(fmt.Errorf("opened with %d partitions and %d bytes", plan.Partitions, len(plan.Data)))
			}
			return mapper{j}, nil
		},
		Merge: s.merge,
		Finish: func(_ context.Context, _ params, root leaf) (result, error) {
			return result{root.Runs, root.Sum}, nil
		},
		Estimate: func(_ context.Context, _ params, prefix leaf, _ uint64) (any, error) {
			return result{[][2]uint64{{prefix.Runs[0][0], prefix.Runs[len(prefix.Runs)-1][1]}}, prefix.Sum}, nil
		},
		Stop: func(_ context.Context, p params, _ leaf, n uint64) (bool, error) {
			j := s.job(p.Job)
			if s.merging && j.onJudge != nil {
				j.onJudge(n)
			}
			return n >= j.suffices, nil
		},
		NoEstimates: func(p params) bool { return !s.job(p.Job).judged },
		Codec:       leafCodec{},
	})
}

func (s *Sim) merge(left, right leaf) (leaf, error) {
	if s.guarding != nil {
		s.checks.leaderMerges(s.guarding, s.list[left.Job])
	}
	if j := s.list[left.Job]; s.merging && left.Runs[0][0] == 0 && right.Runs[len(right.Runs)-1][1] == j.partitions {
		s.misdeed = j.misbehaves(wire.Merge)
		if s.misdeed == hangs && s.guarding != nil {
			return leaf{}, errHung
		}
	}
	runs := left.Runs
	for _, r := range right.Runs {
		if last := len(runs) - 1; runs[last][1] == r[0] {
			runs[last][1] = r[1]
		} else {
			runs = append(runs, r)
		}
	}
	return leaf{left.Job, runs, left.Sum*1.0000001 + right.Sum, left.Pad}, nil
}

type mapper struct{ job *job }

func (m mapper) Map(_ context.Context, partition uint64) (leaf, error) {
	j := m.job
	switch {
	case partition == j.permanent:
		return leaf{}, jobs.Permanent(errBroken)
	case partition == j.broken:
		return leaf{}, errBroken
	case partition == j.sours:
		if j.tried[partition]++; j.tried[partition] > 1 {
			j.sim.cover("fault: repeated attempt failed")
			return leaf{}, errFlaky
		}
	case j.tried[partition] < j.flaky[partition]:
		j.tried[partition]++
		j.sim.cover("fault: partition failed")
		return leaf{}, errFlaky
	}
	return j.leaf(partition), nil
}

func (j *job) leaf(partition uint64) leaf {
	l := leaf{Job: j.index, Runs: [][2]uint64{{partition, partition + 1}}, Sum: 1 / float64(partition+3)}
	if j.round.of != nil {
		l.Sum *= j.round.state
	}
	if j.pad > 0 {
		l.Pad = make([]byte, j.pad)
		for i := range min(j.pad, 8) {
			l.Pad[i] = byte(partition >> (8 * i))
		}
	}
	return l
}

// cost returns how long a span takes, and whether one of its partitions kills the process.
func (j *job) cost(span engine.Span) (takes time.Duration, kills bool) {
	for p := span.Lo; p < span.Hi; p++ {
		takes += j.sim.rng.between(j.each/2, j.each*3/2)
		if p == j.hangs && !j.hung {
			j.hung = true
			j.sim.cover("fault: partition hung")
			takes += 15 * time.Second
		}
		if p == j.killer && j.kills < j.killsMost {
			j.kills++
			kills = true
		}
	}
	return takes, kills
}

// reference returns the result that a single process computes without the skipped partitions.
func (j *job) reference(skipped []uint64) (data []byte, digest string, err error) {
	operand, err := j.referenceOperand(skipped)
	if err != nil {
		return nil, "", err
	}
	data, _, err = j.definition().Engine().Finish(context.Background(), j.spec.Params, engine.Operand{Data: operand})
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), err
}

// referenceOperand returns the operand of Finish: the root, or the last state.
func (j *job) referenceOperand(skipped []uint64) ([]byte, error) {
	if j.rounds > 0 {
		return jobs.CBOR[stepState]().Encode(j.stepState(j.stateAfter(j.rounds)))
	}
	return j.referenceNode(j.tree.Root(), skipped)
}

// referenceNode returns the partial of a node without the skipped partitions, or nil if none is left.
func (j *job) referenceNode(n engine.Node, skipped []uint64) ([]byte, error) {
	n = j.tree.Lift(n)
	span := j.tree.Span(n)
	whole := !slices.ContainsFunc(skipped, func(p uint64) bool { return span.Lo <= p && p < span.Hi })
	if data, known := j.nodes[n]; known && whole {
		return data, nil
	}
	data, err := j.makeReference(n, span, skipped)
	if whole && err == nil {
		j.nodes[n] = data
	}
	return data, err
}

func (j *job) makeReference(n engine.Node, span engine.Span, skipped []uint64) ([]byte, error) {
	if span.Len() == 1 {
		if slices.Contains(skipped, span.Lo) {
			return nil, nil
		}
		return leafCodec{}.Encode(j.leaf(span.Lo))
	}
	left, right := j.tree.Children(n)
	l, err := j.referenceNode(left, skipped)
	if err != nil {
		return nil, err
	}
	r, err := j.referenceNode(right, skipped)
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return r, nil
	case r == nil:
		return l, nil
	}
	return j.definition().Engine().Merge(context.Background(), nil, engine.Operand{Data: l}, engine.Operand{Data: r})
}

// countsEachOnce checks that a result has every partition once, and none of the skipped ones.
func (j *job) countsEachOnce(data []byte, skipped []uint64) error {
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("decode result: %w", err)
	}
	var at uint64
	for _, run := range r.Runs {
		for at < run[0] && slices.Contains(skipped, at) {
			at++
		}
		if run[0] != at || run[1] <= run[0] {
			return fmt.Errorf("the result has partitions %v, of %d without %v", r.Runs, j.partitions, skipped)
		}
		at = run[1]
	}
	for slices.Contains(skipped, at) {
		at++
	}
	if at != j.partitions {
		return fmt.Errorf("the result has partitions %v, of %d without %v", r.Runs, j.partitions, skipped)
	}
	return nil
}
