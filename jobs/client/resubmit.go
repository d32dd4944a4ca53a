package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Retry submits a job again that failed, was cancelled, or has completed with skipped partitions, and returns the ID of the new
// job. The new job begins with what the last checkpoint of the old one contains, except partitions that were skipped. The
// result of a completed job that skipped partitions becomes whole: the new job runs only these. If the old job is removed
// before the new one begins, the new one computes everything. Retry fails with [ErrNotEnded], or with [ErrInvalid]
// if a completed job has skipped nothing, has not kept what a retry needs, or has an output of rows, of which one object may
// have rows of many partitions: [Status.Completable] says so. For a job that failed, and whose parameters have an output, use
// Resubmit: the objects that the old job's partials name were removed when it failed.
func (c *Client) Retry(ctx context.Context, id string) (string, error) {
	return c.again(ctx, id, func(spec *Spec, old record) error {
		if err := old.mayRetry(); err != nil {
			return err
		}
		spec.Retries = id
		return nil
	})
}

// mayRetry returns why a job cannot be retried, or nil.
func (r record) mayRetry() error {
	id, m := r.spec.ID, r.manifest
	switch {
	case !m.State.Final():
		return &JobError{ID: id, State: m.State, Err: ErrNotEnded}
	case m.State != Completed || r.completable():
		return nil
	case len(m.Skipped) == 0:
		return errorf(ErrInvalid, "job %s is completed and has skipped nothing, so nothing is left to retry", id)
	case r.spec.Estimates:
		return errorf(ErrInvalid, "job %s is completed, and a job with estimates keeps nothing for a retry: resubmit it", id)
	case r.rows:
		return errorf(ErrInvalid, "job %s is completed and has an output of rows, to which a retry cannot add rows: resubmit it with another folder", id)
	}
	return errorf(ErrInvalid, "job %s is completed, and has not kept what a retry of its %d skipped partitions needs, because that is too large or an earlier version ran the job: resubmit it", id, len(m.Skipped))
}

// completable reports whether a completed job has skipped partitions, and a retry can compute only these, because the job keeps
// all others and its output can be completed.
func (r record) completable() bool {
	m := r.manifest
	tree, err := engine.NewTree(m.Partitions)
	if err != nil || m.State != Completed || len(m.Skipped) == 0 || r.rows {
		return false
	}
	kept := uint64(len(m.Skipped))
	for _, n := range m.Nodes {
		kept += tree.Span(n.Node).Len()
	}
	return kept == m.Partitions
}

// RetryAs is like Retry for a job of which the definition is known. If the definition says that the partials of a failed job
// cannot be used again, such as those that name objects of an output, the new job computes everything, and RetryAs also
// returns the reason. If that job was itself a retry of a completed one, the completed one is retried.
func (c *Client) RetryAs(ctx context.Context, job jobs.Job, id string) (again string, recomputes, err error) {
	s, err := c.Status(ctx, id)
	if err != nil {
		return "", nil, err
	}
	_, keeps := job.Family(s.Params, "")
	if keeps != nil && !job.Iterates(s.Params) && (s.State == Failed || s.State == Cancelled) {
		if s.Retries != "" {
			if old, err := c.Status(ctx, s.Retries); err == nil && old.Completable {
				again, err = c.Retry(ctx, s.Retries)
				return again, nil, err
			}
		}
		again, err = c.Resubmit(ctx, id, nil)
		return again, keeps, err
	}
	again, err = c.Retry(ctx, id)
	return again, nil, err
}

// hasOutput reports whether parameters name a folder for an output, as those of package dataset do.
func hasOutput(params jobs.Params) bool {
	var p struct {
		Output string `json:"output"`
	}
	return json.Unmarshal(params, &p) == nil && p.Output != ""
}

// ofRows reports whether a result describes an output of rows, of which one object may have rows of many partitions.
func ofRows(result json.RawMessage) bool {
	var r struct {
		Output struct {
			Manifest string `json:"manifest"`
		} `json:"output"`
	}
	return json.Unmarshal(result, &r) == nil && r.Output.Manifest != ""
}

// Resubmit submits a job again with the same options, and returns the ID of the new job. If params is not nil, the
// new job has these parameters. The new job does not wait for the jobs after which the old one ran.
func (c *Client) Resubmit(ctx context.Context, id string, params jobs.Params) (string, error) {
	return c.again(ctx, id, func(spec *Spec, _ record) error {
		if params != nil {
			spec.Params = params
		}
		return nil
	})
}

// again submits a job with the spec of an earlier one, which the function change may change, and its files.
func (c *Client) again(ctx context.Context, id string, change func(*Spec, record) error) (string, error) {
	s, err := c.open(ctx)
	if err != nil {
		return "", err
	}
	r, err := c.record(ctx, s, id)
	if err != nil {
		return "", err
	}
	now := time.Now().UTC()
	spec := r.spec
	spec.ID, spec.Submitted, spec.After, spec.Retries = store.NewID(now), now, nil, ""
	if err := change(&spec, r); err != nil {
		return "", err
	}
	if spec.After, err = c.predecessors(ctx, s, nil, spec.Params); err != nil {
		return "", err
	}
	if _, err = c.openFor(ctx, wire.JobKind{Name: spec.Job, Version: spec.Version}, false); err != nil {
		return "", fmt.Errorf("submit job %s again: %w", id, err)
	}
	files, err := s.Files(ctx, id, spec.Params)
	var written store.Version
	if err == nil {
		written, err = s.SubmitVersion(ctx, spec, files...)
	}
	if err != nil {
		return "", c.explain(fmt.Errorf("submit job %s again: %w", id, err))
	}
	c.name(ctx, spec, written, nil)
	return spec.ID, nil
}
