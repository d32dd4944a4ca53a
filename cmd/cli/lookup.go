package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

var idForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// lookup finds the ID of a job from the ID or the beginning of it.
func (c *clusterConn) lookup(ctx context.Context, given string) (string, error) {
	if !idForm.MatchString(given) {
		return "", usagef("%q is not the ID of a job: '%s list' shows them", given, c.program)
	}
	ids, err := c.jobs(ctx)
	if err != nil {
		return "", err
	}
	if slices.Contains(ids, given) {
		return given, nil
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, given) })
	switch len(ids) {
	case 0:
		return "", usagef("cluster %s has no job %s: '%s list' shows those it has", c.name, given, c.program)
	case 1:
		return ids[0], nil
	}
	return "", usagef("%s is the beginning of %d jobs' IDs: %s", given, len(ids), strings.Join(ids[:min(len(ids), 5)], ", "))
}

// record is what storage has of a job.
type record struct {
	spec     store.Spec
	manifest store.Manifest // the zero Manifest with state queued where no leader has taken it up
}

// record reads what storage has of a job. With an error comes what could be read.
func (c *clusterConn) record(ctx context.Context, id string) (record, error) {
	// Where the job is being removed, the spec goes before the manifest.
	manifest, _, err := c.store.Manifest(ctx, id)
	spec, specErr := c.store.Spec(ctx, id)
	switch {
	case specErr != nil:
		return record{store.Spec{ID: id}, manifest}, c.explain(fmt.Errorf("read job %s: %w", id, specErr))
	case errors.Is(err, store.ErrNotFound):
		manifest = store.Manifest{State: store.Queued}
	case err != nil:
		return record{spec, manifest}, c.explain(fmt.Errorf("read the checkpoint of job %s: %w", id, err))
	}
	return record{spec, manifest}, nil
}

// jobsAtOnce is how many jobs are read or removed at once: each takes some requests
// to storage, and there may be thousands.
const jobsAtOnce = 16

// damagedRecord is what could be read of a job that is damaged.
type damagedRecord struct {
	record
	err error
}

// records is what storage has of jobs, in that order, and of those that are damaged.
// Jobs that are not there are left out: they have just been removed.
func (c *clusterConn) records(ctx context.Context, ids []string) (records []record, damaged []damagedRecord, err error) {
	all, errs := make([]record, len(ids)), make([]error, len(ids))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(jobsAtOnce)
	for i, id := range ids {
		reads.Go(func() error {
			all[i], errs[i] = c.record(ctx, id)
			if errors.Is(errs[i], store.ErrNotFound) || errors.Is(errs[i], store.ErrCorrupt) {
				return nil
			}
			return errs[i]
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, nil, err
	}
	for i, err := range errs {
		switch {
		case err == nil:
			records = append(records, all[i])
		case errors.Is(err, store.ErrCorrupt):
			damaged = append(damaged, damagedRecord{all[i], err})
		}
	}
	return records, damaged, nil
}

// all is what storage has of all jobs, oldest first. Of those that are damaged there
// is a word on standard error instead.
func (a *app) all(ctx context.Context, c *clusterConn) ([]record, error) {
	ids, err := c.jobs(ctx)
	if err != nil {
		return nil, err
	}
	records, damaged, err := c.records(ctx, ids)
	for _, d := range damaged {
		if errors.Is(d.err, store.ErrNewer) {
			a.note("%v", d.err)
		} else {
			a.note("%v: '%s remove' takes its ID", d.err, c.program)
		}
	}
	return records, err
}

// jobs are the IDs of all jobs, oldest first.
func (c *clusterConn) jobs(ctx context.Context) ([]string, error) {
	ids, err := c.store.Jobs(ctx)
	if err != nil {
		return nil, c.explain(fmt.Errorf("list jobs: %w", err))
	}
	return ids, nil
}

// done is how many partitions the checkpoint has.
func (r record) done() uint64 {
	if r.manifest.State == store.Completed {
		return r.manifest.Partitions
	}
	tree, err := jobs.NewTree(r.manifest.Partitions)
	if err != nil {
		return 0 // not planned
	}
	var n uint64
	for _, stored := range r.manifest.Nodes {
		n += tree.Span(stored.Node).Len()
	}
	return n
}

// repeated is how many executions went beyond one for each partition. The
// checkpoint of a job that failed or was cancelled no longer tells which
// partitions were done; the answer is then the least that it can be.
func (r record) repeated() uint64 {
	m := r.manifest
	once := r.done() - min(r.done(), uint64(len(m.Skipped)))
	if m.State.Final() && m.State != store.Completed {
		once = m.Partitions
	}
	return m.Executed - min(m.Executed, once)
}

// outcome reads the result too where there is one.
func (c *clusterConn) outcome(ctx context.Context, r record) (outcome, error) {
	m := r.manifest
	o := outcome{
		ID: r.spec.ID, Job: r.spec.Job, Version: r.spec.Version,
		State: m.State, Partitions: m.Partitions, SHA256: m.SHA256, Epochs: listed(m.Epochs),
		Executed: m.Executed, Repeated: r.repeated(), Skipped: listed(m.Skipped), Error: m.Error,
		Submitted: timestamp(r.spec.Submitted), Started: timestamp(m.Started), Finished: timestamp(m.Finished),
	}
	if m.State != store.Completed {
		return o, nil
	}
	result, err := c.store.Result(ctx, r.spec.ID)
	if err != nil {
		return o, c.explain(fmt.Errorf("read the result of job %s: %w", r.spec.ID, err))
	}
	if got := sum(result); got != m.SHA256 {
		return o, fmt.Errorf("the stored result of job %s is damaged: its SHA-256 is %s, the checkpoint says %s", r.spec.ID, got, m.SHA256)
	}
	o.Result = result
	return o, nil
}

// live asks the leader how far active jobs are: one, or all where id is empty.
// It is nil where nobody answers.
func (c *clusterConn) live(ctx context.Context, id string) (*wire.Jobs, error) {
	answer, err := ask[wire.Jobs](ctx, c, wire.AskJobs, wire.Encode(wire.JobQuery{Job: id}), liveTimeout)
	switch {
	case errors.Is(err, errNoLeader):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &answer, nil
}

// completeID completes a job's ID as the first argument.
func (a *app) completeID(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeIDs(cmd, args, begun)
}

// completeIDs completes a job's ID as any argument.
func (a *app) completeIDs(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	c, err := a.openTarget(cmd.Context())
	if err != nil {
		return nil, directive
	}
	defer c.close()
	ids, err := c.store.Jobs(cmd.Context())
	if err != nil {
		return nil, directive
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		return !strings.HasPrefix(id, begun) || slices.Contains(args, id)
	}), directive
}
