package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// DefaultMaxAttempts is the default of [SubmitOptions].MaxAttempts.
	DefaultMaxAttempts = 3
	// MaxPriority is the highest priority of a job, and -MaxPriority the lowest.
	MaxPriority = store.MaxPriority
	// MaxParams is the largest size in bytes of a job's parameters in the stored form.
	MaxParams = store.MaxParams
	// MaxAfter is the largest number of jobs after which a job runs.
	MaxAfter = store.MaxAfter
	// MaxLabels is the largest number of labels of a job.
	MaxLabels = store.MaxLabels
	// MaxSkipped is the largest number of failed partitions that a job may omit from
	// its result.
	MaxSkipped = store.MaxSkipped
)

// SubmitOptions are the options of a submission. A zero field means the field's default.
type SubmitOptions struct {
	// Params are the job's parameters: a value of the definition's parameter struct, or a
	// jobs.Params. A struct sets every parameter, so pass a changed copy of the definition's
	// Defaults. Nil means the defaults.
	//
	// In the stored form, which is JSON, the parameters have at most [MaxParams] bytes. Larger data
	// belongs in a file that the job reads.
	Params any
	// Pairs are parameters in the form name=value. Pairs override Params.
	Pairs []string

	// Files are stored together with the job, whose code can read them. The files are removed
	// together with the job. The parameters should contain the SHA-256 of each file.
	Files []jobs.File

	// Priority is -MaxPriority to MaxPriority. Jobs of a higher priority run first.
	Priority int
	// MaxAttempts is the number of times that a failing partition is tried before the job fails.
	// The default is DefaultMaxAttempts.
	MaxAttempts int
	// MaxSkipped is the number of partitions that the result may omit because all their attempts
	// failed. MaxSkipped is at most [MaxSkipped].
	MaxSkipped uint64

	// StrictBuilds restricts the job to workers of one build. A build is a version of Go, an
	// architecture and an architecture level, such as GOAMD64=v3. The leader chooses the build with
	// the most slots when the job begins. The job waits while no worker has that build.
	StrictBuilds bool
	// Timeout is how long leaders may work on the job from its beginning to its end, including partitions,
	// merges and retries. A job that takes longer fails. The default is no limit.
	Timeout time.Duration
	// StopAfter is how long leaders may work on a job with estimates before the job ends with the result of its
	// largest finished prefix, or on a job with rounds before it ends with the result of its finished rounds. This is not the same
	// in every run. The default is no limit.
	StopAfter time.Duration
	// PartitionTimeout is how long one partition may take, including the merges that follow it. A
	// partition that takes longer counts as failed, and is tried up to MaxAttempts times. The
	// timeout may be noticed late: after up to twice PartitionTimeout. The default is the field
	// Limits.Map of the definition, whose default is 24 h.
	PartitionTimeout time.Duration
	// Audit is the share of the partitions that are computed twice, in millionths, the second time on another
	// worker if there is one. If the two results of a partition differ, the job fails.
	Audit uint32

	// Keep is the number of bytes that the partial results may take that the cluster keeps for later jobs. A job with
	// Keep reuses the kept results of earlier jobs, and keeps its own: see [jobs.Keyer]. The result has the same bytes
	// as without. If Keep is 0, the job computes everything.
	Keep int64

	// After contains the IDs of jobs, or the beginnings of their IDs. The job begins when they have completed, and
	// fails if one of them fails, is cancelled or is removed. Jobs that have not ended and that the parameter input
	// names as job:ID are added. There may be MaxAfter jobs.
	After []string

	// From is the ID of a job with rounds of the same kind, or the beginning of its ID. When that job has ended, in whatever
	// way, this job continues from its last state: see [jobs.Rounds]. The last state of a job that did not complete is that of the
	// round in which it ended.
	From string

	// Name is a name for people: up to 100 letters, digits and ._:/@+-, beginning with a letter or digit. Several jobs
	// may have the same name.
	Name string
	// Labels are names and values for people, of the same form as Name, to select jobs. There may be MaxLabels.
	Labels map[string]string

	// Queue submits the job also if no worker has used the cluster yet or no worker runs the job, which then
	// waits for such workers.
	Queue bool

	// Placed, if not nil, is called with the job's place among the waiting jobs, if a leader answers.
	Placed func(Place)

	// Unchecked, if not nil, is called with the reason if this process could not compare the
	// parameters with the job's input, because the process cannot read the input.
	Unchecked func(reason error)
	// NoCheck disables the comparison of the parameters with the job's input. Set NoCheck if
	// this machine and the workers' machines have different files of the same name.
	NoCheck bool
}

// spec returns the options as they are stored.
func (o SubmitOptions) spec() store.Spec {
	return store.Spec{
		Priority: o.Priority, MaxAttempts: cmp.Or(o.MaxAttempts, DefaultMaxAttempts), MaxSkipped: o.MaxSkipped, StrictBuilds: o.StrictBuilds,
		Timeout: o.Timeout, PartitionTimeout: o.PartitionTimeout, Audit: o.Audit, After: o.After, From: o.From, StopAfter: o.StopAfter, Keep: o.Keep,
		Name: o.Name, Labels: o.Labels,
	}
}

func (o SubmitOptions) params(job jobs.Job) (base jobs.Params, err error) {
	switch p := o.Params.(type) {
	case nil:
	case jobs.Params:
		base = p
	default:
		if base, err = job.EncodeParams(p); err != nil {
			return nil, err
		}
	}
	return job.Params(base, o.Pairs...)
}

// Check returns the parameters of a job in the stored form. Check fails with [ErrInvalid] if Submit refuses
// the options whatever the cluster and the job's input are.
func (o SubmitOptions) Check(job jobs.Job) (jobs.Params, error) {
	if err := o.spec().CheckOptions(); err != nil {
		return nil, errorf(ErrInvalid, "submit job %s: %w", job.Name(), err)
	}
	params, err := o.params(job)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(params) > MaxParams {
		return nil, errorf(ErrInvalid, "submit job %s: the parameters have %d bytes as JSON: want at most %d", job.Name(), len(params), MaxParams)
	}
	if err := field.Check(o.MaxSkipped == 0 || job.MaxRounds(params) == 0, "MaxSkipped", o.MaxSkipped, "0, because the job has rounds, whose states need all partitions"); err != nil {
		return nil, errorf(ErrInvalid, "submit job %s: %w", job.Name(), err)
	}
	if err := field.Check(o.StopAfter == 0 || job.StopsEarly(params), "StopAfter", o.StopAfter, "0, because the job has neither estimates nor rounds with these parameters"); err != nil {
		return nil, errorf(ErrInvalid, "submit job %s: %w", job.Name(), err)
	}
	if err := field.Check(o.From == "" || job.Continues(), "From", o.From, "no job, because a job of this kind cannot continue from the state of another one"); err != nil {
		return nil, errorf(ErrInvalid, "submit job %s: %w", job.Name(), err)
	}
	if err := o.checkReuse(job, params); err != nil {
		return nil, errorf(ErrInvalid, "submit job %s: %w", job.Name(), err)
	}
	if o.Audit > 0 {
		if err := job.CheckAudit(params); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	return params, nil
}

// checkReuse checks whether the job can reuse partials.
func (o SubmitOptions) checkReuse(job jobs.Job, params jobs.Params) error {
	switch {
	case o.Keep == 0:
		return nil
	case o.Audit > 0:
		return errors.New("Keep and Audit exclude each other: a reused partition is not computed")
	case job.Estimates(params):
		return errors.New("Keep: a job with estimates cannot reuse partials, because a kept partial may contain several prefixes: want 0")
	}
	_, err := job.Family(params, "")
	return err
}

// checkInput compares the parameters with the job's input, if the job has a preview and this process can read
// the input.
func (c *Client) checkInput(ctx context.Context, job jobs.Job, params jobs.Params, o SubmitOptions) error {
	if o.NoCheck || !job.Previews() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	ctx, release := jobs.WithGrant(cluster.With(ctx, c.cfg.Cluster), c.cfg.Grant)
	defer release()
	_, err := job.Plan(ctx, params)
	switch {
	case err == nil:
	case jobs.IsPermanent(err):
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	case o.Unchecked != nil:
		o.Unchecked(err)
	}
	return nil
}

// Submit submits a job and returns its ID. If the job has a preview (see [jobs.Definition]), Submit first
// checks for up to Config.Timeout whether the parameters fit the job's input. Submit fails with [ErrUnused] if no
// worker has used the cluster, and with [ErrUnknown] if there are workers and none of them runs the job, unless
// SubmitOptions.Queue is true. When Submit returns, the job is durable and runs as soon as there are workers with its
// definition. If Submit fails, the job may still have been submitted, unless the error is [ErrInvalid], [ErrUnused],
// [ErrUnknown] or [ErrOtherStorage].
func (c *Client) Submit(ctx context.Context, job jobs.Job, o SubmitOptions) (id string, err error) {
	params, err := o.Check(job)
	if err != nil {
		return "", err
	}
	if err := c.checkInput(ctx, job, params, o); err != nil {
		return "", err
	}
	s, err := c.openFor(ctx, wire.JobKind{Name: job.Name(), Version: job.Version()}, o.Queue)
	if err == nil {
		o.After, err = c.predecessors(ctx, s, o.After, params)
	}
	if err == nil && o.From != "" {
		o.From, err = c.earlier(ctx, s, job, o.From)
	}
	if err != nil {
		return "", fmt.Errorf("submit job %s: %w", job.Name(), err)
	}
	now := time.Now().UTC()
	id = store.NewID(now)
	spec := o.spec()
	spec.ID, spec.Job, spec.Version, spec.Params, spec.Submitted = id, job.Name(), job.Version(), params, now
	spec.Estimates, spec.Rounds = job.Estimates(params), job.MaxRounds(params)
	if spec.Rounds > 0 {
		spec.Measure = job.Measure()
	}
	written, err := s.SubmitVersion(ctx, spec, o.Files...)
	if err != nil {
		return "", c.explain(fmt.Errorf("submit job %s: %w", job.Name(), err))
	}
	c.name(ctx, spec, written, o.Placed)
	return id, nil
}

// Place is the place of a submitted job among the jobs that wait for the end of active jobs.
type Place = wire.Place

// name tells the leader of a job of high priority that was submitted, so that the job begins ahead of jobs that are still in
// the queue. The function placed, if not nil, is called with the place of the job. Without an answer, the job
// begins when a leader receives it from the queue.
func (c *Client) name(ctx context.Context, spec store.Spec, written store.Version, placed func(Place)) {
	if spec.Priority <= 0 && placed == nil {
		return
	}
	submitted := &wire.Submitted{Priority: spec.Priority, Spec: string(written)}
	answer, err := ask[wire.Jobs](ctx, c, wire.AskJobs, wire.Encode(wire.JobQuery{Job: spec.ID, Submitted: submitted}), liveTimeout)
	if err == nil && answer.Place != nil && placed != nil {
		placed(*answer.Place)
	}
}
