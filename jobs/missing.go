package jobs

import "context"

// Inputs is an optional interface of a [Keyer] that names what a partition reads, so that a dry run can say why
// partitions are computed.
type Inputs interface {
	Inputs(partition uint64) []InputObject
}

// InputObject is an object that a partition reads. Its version changes whenever its content does.
type InputObject struct{ Name, Version string }

// Missing describes the partitions of a job that are not kept. Objects are counted only if such a partition reads them.
type Missing struct {
	Partitions uint64 `json:"partitions"`
	Uncertain  uint64 `json:"uncertain"` // number of these partitions whose input may change without a trace, for example because a file is a few seconds old

	// Compared is true if the objects were compared with those of an earlier plan.
	Compared bool   `json:"compared"`
	New      uint64 `json:"new_objects"`     // number of objects that the earlier plan does not have
	Changed  uint64 `json:"changed_objects"` // number of objects of which the earlier plan has another version
}

// Missing returns which partitions of a job with a plan Run would compute, because [Local].Reuse does
// not have their partials. Missing computes nothing. The plan earlier is that of the job that has kept partials last, or
// nil if it is unknown.
func (l Local) Missing(ctx context.Context, job Job, params Params, plan Plan, earlier *Plan) (m Missing, err error) {
	ctx, release := WithGrant(ctx, l.Grant)
	defer release()
	var known map[string]string
	if earlier != nil {
		err = job.withTask(ctx, params, *earlier, func(task openTask) error {
			known = map[string]string{}
			m.Compared = task.inputs(Span{Hi: earlier.Partitions}, func(o InputObject) { known[o.Name] = o.Version })
			return nil
		})
		if err != nil {
			return m, err
		}
	}
	err = job.withTask(ctx, params, plan, func(task openTask) error {
		found, err := task.reuses(ctx, l.Reuse, maxLevel)
		if err != nil {
			return err
		}
		seen, next := map[string]bool{}, uint64(0)
		gap := func(hi uint64) {
			m.Partitions += hi - next
			m.Uncertain += task.uncertain(ctx, Span{Lo: next, Hi: hi})
			task.inputs(Span{Lo: next, Hi: hi}, func(o InputObject) {
				if m.Compared && !seen[o.Name] {
					seen[o.Name] = true
					m.count(known, o)
				}
			})
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

// count compares an object with the versions of an earlier plan.
func (m *Missing) count(known map[string]string, o InputObject) {
	switch version, ok := known[o.Name]; {
	case !ok:
		m.New++
	case version != o.Version:
		m.Changed++
	}
}
