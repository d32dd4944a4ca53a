package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Job is a checked [Definition]. The type has no type parameters. The methods of a job may be
// called from several goroutines. If the definition's code panics, the methods return a
// *[PanicError].
type Job struct {
	name, version, summary string
	parameters             []Parameter
	limits                 Limits
	restricted, previews   bool
	attaches, passes       bool
	measure                string
	binding                untyped
}

// untyped calls a definition's functions on encoded values. The only implementation is binding.
type untyped interface {
	engine.Job
	normalize(base []byte, pairs []string) (Params, error)
	encode(params any) (Params, error)
	checkAudit(p Params) error
	family(p Params, build string) (Key, error)
	plan(ctx context.Context, p Params) (Plan, error)
	preview(ctx context.Context, p Params, plan Plan) (Preview, error)
	items(ctx context.Context, p Params, plan Plan) (func(partition uint64) string, error)
	open(ctx context.Context, p Params, plan Plan) (openTask, error)
	recode(partial []byte) ([]byte, error) // decodes and encodes a partial
	checkShards(left, right, merged []byte, n int) (differs string, err error)
}

// New checks a definition and returns its job.
func New[P, T, R any](d Definition[P, T, R]) (Job, error) {
	if err := engine.CheckKind(d.Name, d.Version); err != nil {
		return Job{}, fmt.Errorf("define job: %w", err)
	}
	b, err := bind(d)
	if err != nil {
		return Job{}, fmt.Errorf("define job %s: %w", d.Name, err)
	}
	job := newJob(b)
	if d.SecondPass != nil {
		job.binding, job.passes = &passesBinding[P, T, R]{b}, true
	}
	return job, nil
}

func newJob[P, T, R any](b *binding[P, T, R]) Job {
	d := b.def
	return Job{
		name: d.Name, version: d.Version, summary: d.Summary,
		parameters: b.params.list,
		limits:     d.Limits.withDefaults(),
		restricted: d.Restricted,
		previews:   d.Preview != nil,
		attaches:   b.attachment.exists,
		binding:    b,
	}
}

// MustNew is like [New] but panics if the definition is not valid.
func MustNew[P, T, R any](d Definition[P, T, R]) Job {
	job, err := New(d)
	if err != nil {
		panic(err)
	}
	return job
}

// Name returns the definition's name.
func (j Job) Name() string { return j.name }

// Version returns the definition's version.
func (j Job) Version() string { return j.version }

// Summary returns the definition's summary, one line.
func (j Job) Summary() string { return j.summary }

// Limits returns how long the functions may take. A limit of 0 means no limit.
func (j Job) Limits() Limits { return j.limits }

// CheckAudit returns an error if a job with these parameters cannot be audited, as described at the
// field NoAudit of [Definition].
func (j Job) CheckAudit(p Params) error { return j.binding.checkAudit(p) }

// Family returns the key that all kept partials of jobs with these parameters share. The build describes
// how the program was compiled, because programs that were compiled in another way may compute other
// bytes. Family returns an error if the job cannot reuse partials, as described at the field NoReuse of
// [Definition].
func (j Job) Family(p Params, build string) (Key, error) { return j.binding.family(p, build) }

// Restricted reports whether the job is restricted, as described at the field Restricted of
// [Definition].
func (j Job) Restricted() bool { return j.restricted }

// Parameters returns descriptions of the job's parameters, in the order of the fields of
// the parameter struct.
func (j Job) Parameters() []Parameter { return slices.Clone(j.parameters) }

// Params checks parameters and returns them in the stored form. Params begins with the defaults,
// overrides them with the members of the JSON object base, and then with the name=value pairs. The
// base may be nil. If several pairs have the same name, the last one is used. An error names the
// parameter, its value and the allowed values.
func (j Job) Params(base []byte, pairs ...string) (Params, error) {
	params, err := j.binding.normalize(base, pairs)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.name, err)
	}
	return params, nil
}

// EncodeParams checks params, a value of the definition's parameter struct P, and returns
// the parameters in the stored form. Fields that are zero do not get defaults, so params
// should be a changed copy of the definition's Defaults.
func (j Job) EncodeParams(params any) (Params, error) {
	encoded, err := j.binding.encode(params)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.name, err)
	}
	return encoded, nil
}

// Plan cuts the computation into 1 to [MaxPartitions] partitions.
func (j Job) Plan(ctx context.Context, p Params) (Plan, error) { return j.binding.plan(ctx, p) }

// Previews reports whether the job has a preview.
func (j Job) Previews() bool { return j.previews }

// Preview describes the input of a job. Only a job whose method Previews returns true has a preview.
func (j Job) Preview(ctx context.Context, p Params, plan Plan) (Preview, error) {
	return j.binding.preview(ctx, p, plan)
}

// Items returns a function that names what each partition of a planned job computes. The function returns an
// empty text for a partition without a name. The context is that of [WithFiles] if the job has files.
func (j Job) Items(ctx context.Context, p Params, plan Plan) (func(partition uint64) string, error) {
	return j.binding.items(ctx, p, plan)
}

// Attaches reports whether the job's results may have an [Attachment].
func (j Job) Attaches() bool { return j.attaches }

// Engine returns the functions that workers and leaders call to run the job. People who write or
// submit jobs do not need them.
func (j Job) Engine() engine.Job { return j.binding }
