package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// predecessors returns the IDs of the jobs after which a job runs: the given ones, of which it also takes the
// beginnings, and those that have not ended and whose output is the input of the job.
func (c *Client) predecessors(ctx context.Context, s *store.Store, given []string, params jobs.Params) (ids []string, err error) {
	for _, prefix := range given {
		id, err := c.Find(ctx, prefix)
		if err != nil {
			return nil, err
		}
		m, err := c.manifest(ctx, s, id)
		if err != nil {
			return nil, err
		}
		if m.State == Failed || m.State == Cancelled {
			return nil, fmt.Errorf("%w: a job cannot run after it: %w", ErrInvalid, Status{Spec: Spec{ID: id}, State: m.State, Error: m.Error}.Err())
		}
		ids = append(ids, id)
	}
	for _, prefix := range inputJobs(params) {
		id, err := c.Find(ctx, prefix)
		if err != nil {
			continue // the plan of the job says what is wrong with its input
		}
		if m, err := c.manifest(ctx, s, id); err == nil && !m.State.Final() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// earlier returns the ID of the job from which a job continues.
func (c *Client) earlier(ctx context.Context, s *store.Store, job jobs.Job, prefix string) (string, error) {
	id, err := c.Find(ctx, prefix)
	if err != nil {
		return "", err
	}
	r, err := c.record(ctx, s, id)
	switch kind := (wire.JobKind{Name: r.spec.Job, Version: r.spec.Version}); {
	case err != nil:
		return "", err
	case kind != wire.JobKind{Name: job.Name(), Version: job.Version()}:
		return "", errorf(ErrInvalid, "job %s is of the kind %s %s: want a job of the kind %s %s", id, kind.Name, kind.Version, job.Name(), job.Version())
	case r.manifest.State.Final() && (r.manifest.Rounds == nil || r.manifest.Rounds.Round == 0):
		return "", errorf(ErrInvalid, "job %s ended before its first round, so it has no state to continue from", id)
	}
	return id, nil
}

// inputJobs returns the IDs in names of the form job:ID, which package dataset explains, in the parameter input.
func inputJobs(params jobs.Params) (ids []string) {
	var p struct {
		Input string `json:"input"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil // the job has no parameter input, or one of another type
	}
	for name := range strings.SplitSeq(p.Input, ",") {
		if id, isJob := strings.CutPrefix(strings.TrimSpace(name), "job:"); isJob {
			ids = append(ids, id)
		}
	}
	return ids
}
