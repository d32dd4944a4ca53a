package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Kept returns the storage of the partials that jobs with SubmitOptions.Keep have kept, for the functions of package
// jobs/store/kept.
func (c *Client) Kept(ctx context.Context) (store.Blobs, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the kept partials: %w", err)
	}
	return s.Blobs(), nil
}

// Verify computes a sample of the partials that a completed job has kept again, in this process, and compares them. It
// also computes the result that follows from what is kept. Only a program of the build that has computed the job can
// verify it. The job must have been submitted with SubmitOptions.Keep.
func (c *Client) Verify(ctx context.Context, job jobs.Job, id string, local jobs.Local, sample jobs.Audit) (Status, jobs.Verified, error) {
	s, err := c.Status(ctx, id)
	if err != nil {
		return s, jobs.Verified{}, err
	}
	build := wire.ThisBuild()
	family, reason := job.Family(s.Params, build)
	switch {
	case s.State != Completed:
		return s, jobs.Verified{}, errorf(ErrNotEnded, "job %s is %s: want a completed one", id, s.State)
	case job.Name() != s.Job || job.Version() != s.Version:
		return s, jobs.Verified{}, errorf(ErrInvalid, "job %s is %s version %s, and this program has version %s of %s", id, s.Job, s.Version, job.Version(), job.Name())
	case s.Keep == 0 || reason != nil:
		return s, jobs.Verified{}, errorf(ErrInvalid, "job %s has kept nothing that can be verified: submit it with reuse", id)
	case !slices.Equal(s.Builds, []string{build}):
		return s, jobs.Verified{}, errorf(ErrInvalid, "job %s was computed by %s, and this program is of the build %s, which may compute other bytes", id, strings.Join(s.Builds, ", "), build)
	}
	blobs, err := c.Kept(ctx)
	if err != nil {
		return s, jobs.Verified{}, err
	}
	st, err := c.open(ctx)
	if err != nil {
		return s, jobs.Verified{}, err
	}
	plan, err := st.Plan(ctx, id)
	if err != nil {
		return s, jobs.Verified{}, c.explain(fmt.Errorf("read the plan of job %s: %w", id, err))
	}
	list, err := kept.Open(ctx, kept.Config{Blobs: blobs, Family: family})
	if err != nil {
		return s, jobs.Verified{}, err
	}
	local.Reuse = jobs.Reuse{Family: family, Kept: list}
	v, err := local.Verify(jobs.WithFiles(ctx, jobFiles{c, id}), job, s.Params, plan.Plan, sample)
	return s, v, err
}
