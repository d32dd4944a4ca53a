package jobs

import (
	"context"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Inputs is an optional interface of a [Keyer] that names what a partition reads, so that a dry run can say why
// partitions are computed.
type Inputs interface {
	Inputs(partition uint64) []InputObject
}

// InputObject is an object that a partition reads. Its version changes whenever its content does.
type InputObject = engine.InputObject

// Missing describes the partitions of a job that are not kept. Objects are counted only if such a partition reads them.
type Missing struct {
	Partitions uint64 `json:"partitions"`
	Uncertain  uint64 `json:"uncertain"` // number of these partitions whose input may change without a trace, for example because a file is a few seconds old

	// Compared is true if the objects were compared with those of an earlier job.
	Compared    bool     `json:"compared"`
	New         uint64   `json:"new_objects"`       // number of objects that the earlier job did not have
	Changed     uint64   `json:"changed_objects"`   // number of objects of which the earlier job had another version
	Names       []string `json:"objects,omitempty"` // names of the first of these objects
	Unexplained uint64   `json:"unexplained"`       // number of the partitions that read only objects of the earlier job, for example because their partials were dropped
}

// maxNames is the number of objects that Missing names.
const maxNames = 10

// Missing returns which partitions of a job with a plan Run would compute, because [Local].Reuse does
// not have their partials. Missing computes nothing. The objects earlier are those of an earlier job; they are compared if
// compare is true.
func (l Local) Missing(ctx context.Context, job Job, params Params, plan Plan, earlier []InputObject, compare bool) (m Missing, err error) {
	ctx, release := WithGrant(ctx, l.Grant)
	defer release()
	err = job.withTask(ctx, params, plan, func(task openTask) error {
		found, err := task.reuses(ctx, l.Reuse, maxLevel)
		if err != nil {
			return err
		}
		c := comparison{m: &m, known: map[string]string{}, seen: map[string]bool{}}
		for _, o := range earlier {
			c.known[o.Name] = o.Version
		}
		m.Compared = compare && task.inputs(Span{}) != nil
		next := uint64(0)
		gap := func(hi uint64) {
			m.Partitions += hi - next
			m.Uncertain += task.uncertain(ctx, Span{Lo: next, Hi: hi})
			for partition := next; m.Compared && partition < hi; partition++ {
				c.partition(ctx, task, Span{Lo: partition, Hi: partition + 1})
			}
		}
		for _, f := range found {
			gap(f.span.Lo)
			next = f.span.Hi
		}
		gap(plan.Partitions)
		return nil
	})
	return m, err
}

// comparison compares the objects of partitions with those of an earlier job.
type comparison struct {
	m     *Missing
	known map[string]string // versions of the earlier job's objects
	seen  map[string]bool   // objects that were counted
}

// partition counts the objects of a partition that is not kept.
func (c *comparison) partition(ctx context.Context, task openTask, span Span) {
	same := true
	for o := range task.inputs(span) {
		version, ok := c.known[o.Name]
		if ok && version == o.Version {
			continue
		}
		if same = false; c.seen[o.Name] {
			continue
		}
		c.seen[o.Name] = true
		if ok {
			c.m.Changed++
		} else {
			c.m.New++
		}
		if len(c.m.Names) < maxNames {
			c.m.Names = append(c.m.Names, o.Name)
		}
	}
	if same && task.uncertain(ctx, span) == 0 {
		c.m.Unexplained++
	}
}
