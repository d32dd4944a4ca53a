package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
)

// Plan is how a computation is cut: a fixed number of partitions, and what Open
// needs to know besides the parameters. It is made once per job and kept.
type Plan struct {
	Partitions uint64 // 1 to MaxPartitions; must not depend on the number of workers
	Data       []byte // optional, given to every Open
}

// Mapper computes partitions. One Mapper serves all slots of a worker, so Map is
// called from several goroutines at once. Close is called once, after the last
// Map has returned.
type Mapper[T any] interface {
	Map(ctx context.Context, partition uint64) (T, error)
	Close() error
}

// Definition is the code of a kind of job: P are its parameters, a struct; T is
// a partial result; R is the result, and must encode as JSON.
//
// For a result that is the same bytes on every run, Map must depend on its
// partition, the parameters and the plan alone, and Merge and Finish on their
// operands alone. Merge must be associative in meaning; it need not be
// commutative, since left always comes before right. It may change and return
// its operands. A fleet of mixed processor architectures must round explicitly,
// float64(x*y) + z, since compilers for some of them fuse the two operations.
type Definition[P, T, R any] struct {
	Name     string // lower-case letters, digits and dashes
	Version  string // changes when results or partials do: workers of another version get none of the job
	Summary  string // one line
	Defaults P      // also the declaration of the parameters: see the tags json, min, max, oneof, help

	Plan   func(ctx context.Context, p P) (Plan, error)                 // once, on the leader; made durable
	Open   func(ctx context.Context, p P, plan Plan) (Mapper[T], error) // once per job and worker
	Merge  func(left, right T) (T, error)                               // left comes before right
	Finish func(ctx context.Context, p P, root T) (R, error)            // once every partition is merged
	Codec  Codec[T]                                                     // nil: CBOR, core deterministic
}

// Job is a definition that was checked, with its types out of sight.
type Job struct {
	name, version, summary string
	parameters             []Parameter

	normalize func(base []byte, pairs []string) (Params, error)
	plan      func(ctx context.Context, p Params) (Plan, error)
	open      func(ctx context.Context, p Params, plan Plan) (*Task, error)
	merge     func(left, right []byte) ([]byte, error)
	finish    func(ctx context.Context, p Params, root []byte) (json.RawMessage, error)
}

// Params are a job's parameters in the form that is stored: a JSON object that
// names every parameter, in declared order. [Job.Params] makes them.
type Params json.RawMessage

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// New checks a definition and makes a job of it.
func New[P, T, R any](d Definition[P, T, R]) (Job, error) {
	if !nameForm.MatchString(d.Name) {
		return Job{}, fmt.Errorf("define job %q: a name is 1 to 40 lower-case letters, digits and dashes, and begins with a letter", d.Name)
	}
	if d.Version == "" || len(d.Version) > 40 {
		return Job{}, fmt.Errorf("define job %s: a version is 1 to 40 characters, got %q", d.Name, d.Version)
	}
	if d.Plan == nil || d.Open == nil || d.Merge == nil || d.Finish == nil {
		return Job{}, fmt.Errorf("define job %s: Plan, Open, Merge and Finish are all needed", d.Name)
	}
	list, err := parameters(d.Defaults)
	if err != nil {
		return Job{}, fmt.Errorf("define job %s: %w", d.Name, err)
	}
	if d.Codec == nil {
		d.Codec = cborCodec[T]{}
	}
	params := paramsCodec[P]{job: d.Name, defaults: d.Defaults, list: list}
	if _, err := params.parse(nil, nil); err != nil {
		return Job{}, fmt.Errorf("define job %s: its defaults are refused: %w", d.Name, err)
	}
	return Job{
		name: d.Name, version: d.Version, summary: d.Summary, parameters: list,
		normalize: func(base []byte, pairs []string) (Params, error) {
			p, err := params.parse(base, pairs)
			if err != nil {
				return nil, err
			}
			data, err := params.encode(p)
			return Params(data), err
		},
		plan: func(ctx context.Context, data Params) (plan Plan, err error) {
			defer recoverTo(&err)
			p, err := params.parse(data, nil)
			if err != nil {
				return Plan{}, err
			}
			if plan, err = d.Plan(ctx, p); err != nil {
				return Plan{}, err
			}
			_, err = NewTree(plan.Partitions)
			return plan, err
		},
		open: func(ctx context.Context, data Params, plan Plan) (task *Task, err error) {
			defer recoverTo(&err)
			p, err := params.parse(data, nil)
			if err != nil {
				return nil, err
			}
			tree, err := NewTree(plan.Partitions)
			if err != nil {
				return nil, err
			}
			mapper, err := d.Open(ctx, p, plan)
			if err != nil {
				return nil, err
			}
			if mapper == nil {
				return nil, errors.New("Open returned neither a mapper nor an error")
			}
			return &Task{
				close: mapper.Close,
				stack: func() Stack { return &stack[T]{tree: tree, mapper: mapper, merge: d.Merge, codec: d.Codec} },
			}, nil
		},
		merge: func(left, right []byte) (merged []byte, err error) {
			defer recoverTo(&err)
			l, err := d.Codec.Decode(left)
			if err != nil {
				return nil, err
			}
			r, err := d.Codec.Decode(right)
			if err != nil {
				return nil, err
			}
			m, err := d.Merge(l, r)
			if err != nil {
				return nil, err
			}
			return d.Codec.Encode(m)
		},
		finish: func(ctx context.Context, data Params, root []byte) (result json.RawMessage, err error) {
			defer recoverTo(&err)
			p, err := params.parse(data, nil)
			if err != nil {
				return nil, err
			}
			t, err := d.Codec.Decode(root)
			if err != nil {
				return nil, err
			}
			r, err := d.Finish(ctx, p, t)
			if err != nil {
				return nil, err
			}
			if result, err = json.Marshal(r); err != nil {
				return nil, fmt.Errorf("encode result: %w", err)
			}
			return result, nil
		},
	}, nil
}

// MustNew is [New] for definitions that are known to be right; it panics on one
// that is not.
func MustNew[P, T, R any](d Definition[P, T, R]) Job {
	job, err := New(d)
	if err != nil {
		panic(err)
	}
	return job
}

// Name is the definition's name.
func (j Job) Name() string { return j.name }

// Version is the definition's version.
func (j Job) Version() string { return j.version }

// Summary is the definition's summary, one line.
func (j Job) Summary() string { return j.summary }

// Parameters describes the parameters in declared order.
func (j Job) Parameters() []Parameter { return j.parameters }

// Params checks parameters and returns them in the stored form. It starts from
// the defaults, sets what the JSON object base has (nil for none), then the
// name=value pairs. An error names the parameter, what it got and what it takes.
func (j Job) Params(base []byte, pairs ...string) (Params, error) { return j.normalize(base, pairs) }

// Plan cuts the computation.
func (j Job) Plan(ctx context.Context, p Params) (Plan, error) {
	plan, err := j.plan(ctx, p)
	if err != nil {
		return Plan{}, fmt.Errorf("plan job %s: %w", j.name, err)
	}
	return plan, nil
}

// Open readies the job for mapping in this process.
func (j Job) Open(ctx context.Context, p Params, plan Plan) (*Task, error) {
	task, err := j.open(ctx, p, plan)
	if err != nil {
		return nil, fmt.Errorf("open job %s: %w", j.name, err)
	}
	return task, nil
}

// Merge merges two encoded partials of sibling nodes.
func (j Job) Merge(left, right []byte) ([]byte, error) {
	merged, err := j.merge(left, right)
	if err != nil {
		return nil, fmt.Errorf("merge partials of job %s: %w", j.name, err)
	}
	return merged, nil
}

// Finish turns the encoded partial of the root into the result, as JSON.
func (j Job) Finish(ctx context.Context, p Params, root []byte) (json.RawMessage, error) {
	result, err := j.finish(ctx, p, root)
	if err != nil {
		return nil, fmt.Errorf("finish job %s: %w", j.name, err)
	}
	return result, nil
}

func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}
