package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
)

// Job is a definition that was checked, with its types out of sight. Its methods
// may be called from several goroutines; a panic in the definition's code is
// returned as a *[PanicError].
type Job struct {
	name, version, summary string
	parameters             []Parameter

	normalize func(base []byte, pairs []string) (Params, error)
	encode    func(params any) (Params, error)
	plan      func(ctx context.Context, p Params) (Plan, error)
	open      func(ctx context.Context, p Params, plan Plan) (*Task, error)
	merge     func(left, right []byte) ([]byte, error)
	finish    func(ctx context.Context, p Params, root []byte) (json.RawMessage, error)
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// New checks a definition and makes a job of it.
func New[P, T, R any](d Definition[P, T, R]) (Job, error) {
	if !nameForm.MatchString(d.Name) {
		return Job{}, fmt.Errorf("define job %q: a name is 1 to 40 lower-case letters, digits and dashes, and begins with a letter", d.Name)
	}
	b, err := bind(d)
	if err != nil {
		return Job{}, fmt.Errorf("define job %s: %w", d.Name, err)
	}
	return Job{
		name: d.Name, version: d.Version, summary: d.Summary,
		parameters: b.params.list,
		normalize:  b.normalize,
		encode:     b.encode,
		plan:       b.plan,
		open:       b.open,
		merge:      b.merge,
		finish:     b.finish,
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
func (j Job) Parameters() []Parameter { return slices.Clone(j.parameters) }

// Params checks parameters and returns them in the stored form. It starts from
// the defaults, sets what the JSON object base has (nil for none), then the
// name=value pairs. An error names the parameter, what it got and what it takes.
func (j Job) Params(base []byte, pairs ...string) (Params, error) {
	params, err := j.normalize(base, pairs)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.name, err)
	}
	return params, nil
}

// EncodeParams checks parameters given as a value of the definition's struct type, P,
// and returns them in the stored form. Every field counts, so params should be a
// changed copy of the definition's Defaults.
func (j Job) EncodeParams(params any) (Params, error) {
	encoded, err := j.encode(params)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.name, err)
	}
	return encoded, nil
}

// Plan cuts the computation. Its number of partitions is 1 to [MaxPartitions].
func (j Job) Plan(ctx context.Context, p Params) (Plan, error) {
	plan, err := j.plan(ctx, p)
	if err != nil {
		return Plan{}, fmt.Errorf("plan job %s: %w", j.name, err)
	}
	return plan, nil
}

// Open readies the job for mapping in this process. The task must be closed.
func (j Job) Open(ctx context.Context, p Params, plan Plan) (*Task, error) {
	task, err := j.open(ctx, p, plan)
	if err != nil {
		return nil, fmt.Errorf("open job %s: %w", j.name, err)
	}
	return task, nil
}

// Merge merges two encoded partials of sibling nodes and leaves them as they are.
// An error is permanent unless a partial could not be decoded.
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

// binding is a definition with the means to call it on encoded values.
type binding[P, T, R any] struct {
	def    Definition[P, T, R]
	params paramsCodec[P]
}

func bind[P, T, R any](d Definition[P, T, R]) (binding[P, T, R], error) {
	b := binding[P, T, R]{def: d}
	if d.Version == "" || len(d.Version) > 40 {
		return b, fmt.Errorf("a version is 1 to 40 characters, got %q", d.Version)
	}
	if d.Plan == nil || d.Open == nil || d.Merge == nil || d.Finish == nil {
		return b, errors.New("Plan, Open, Merge and Finish are all needed")
	}
	if d.Codec == nil {
		if err := checkEncodes(reflect.TypeFor[T]()); err != nil {
			return b, fmt.Errorf("the default codec cannot carry partials: %w", err)
		}
		b.def.Codec = cborCodec[T]{}
	}
	list, err := describe(d.Defaults)
	if err != nil {
		return b, err
	}
	b.params = paramsCodec[P]{defaults: d.Defaults, list: list}
	if _, err := b.params.parse(nil, nil); err != nil {
		return b, fmt.Errorf("its defaults are refused: %w", err)
	}
	return b, nil
}

func (b binding[P, T, R]) normalize(base []byte, pairs []string) (params Params, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(base, pairs)
	if err != nil {
		return nil, err
	}
	return b.params.encode(p)
}

func (b binding[P, T, R]) encode(params any) (encoded Params, err error) {
	defer recoverTo(&err)
	p, ok := params.(P)
	if !ok {
		return nil, fmt.Errorf("parameters of type %T: want %T", params, p)
	}
	if encoded, err = b.params.encode(p); err != nil {
		return nil, err
	}
	_, err = b.params.parse(encoded, nil)
	return encoded, err
}

func (b binding[P, T, R]) plan(ctx context.Context, params Params) (plan Plan, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return Plan{}, err
	}
	if plan, err = b.def.Plan(ctx, p); err != nil {
		return Plan{}, err
	}
	_, err = NewTree(plan.Partitions)
	return plan, err
}

func (b binding[P, T, R]) open(ctx context.Context, params Params, plan Plan) (task *Task, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, err
	}
	tree, err := NewTree(plan.Partitions)
	if err != nil {
		return nil, err
	}
	mapper, err := b.def.Open(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	if mapper == nil {
		return nil, errors.New("Open returned neither a mapper nor an error")
	}
	return &Task{
		mapper: mapper,
		stack: func() Stack {
			return &stack[T]{tree: tree, mapper: mapper, merge: b.def.Merge, codec: b.def.Codec}
		},
	}, nil
}

func (b binding[P, T, R]) merge(left, right []byte) (merged []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Permanent(newPanicError(v))
		}
	}()
	l, err := b.def.Codec.Decode(left)
	if err != nil {
		return nil, err
	}
	r, err := b.def.Codec.Decode(right)
	if err != nil {
		return nil, err
	}
	m, err := b.def.Merge(l, r)
	if err != nil {
		return nil, Permanent(err)
	}
	if merged, err = b.def.Codec.Encode(m); err != nil {
		return nil, Permanent(err)
	}
	return merged, nil
}

func (b binding[P, T, R]) finish(ctx context.Context, params Params, root []byte) (result json.RawMessage, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return nil, err
	}
	t, err := b.def.Codec.Decode(root)
	if err != nil {
		return nil, err
	}
	r, err := b.def.Finish(ctx, p, t)
	if err != nil {
		return nil, err
	}
	if result, err = json.Marshal(r); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return result, nil
}
