package reign

import (
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// merge performs one merge. Its place is taken until the result is small, or in a
// blob, or of no use.
func (r *Reign) merge(m ledger.Merge) {
	j := r.jobs[m.Job]
	left, right := r.use(m.Left), r.use(m.Right)
	for _, p := range []partial{left, right} {
		j.spares.use(p.blob)
	}
	r.merging.enter(func() {
		if j.ending.Load() {
			r.merging.leave()
			return
		}
		r.spawn(func() func() {
			data, took, err := r.mergeTwo(j, left, right)
			list := []placed{{m.Node, partial{data: data, job: m.Job}}}
			done := func(err error) {
				r.merging.leave()
				r.cfg.Observe(MergeDone{took})
				for _, p := range []partial{left, right} {
					j.spares.release(p.blob)
				}
				if err != nil {
					r.step(ledger.MergeFailed{Job: m.Job, Error: err.Error()})
					return
				}
				r.step(ledger.Merged{Job: m.Job, Node: m.Node, Ref: r.newRef(list[0].partial)})
			}
			if err != nil {
				return func() { done(err) }
			}
			return func() { r.unload(j, list, inMemory, done) }
		})
	})
}

// mergeTwo is called from tasks.
func (r *Reign) mergeTwo(j *activeJob, left, right partial) (data []byte, took time.Duration, err error) {
	a, err := r.load(j.spec.ID, left)
	if err != nil {
		return nil, 0, err
	}
	b, err := r.load(j.spec.ID, right)
	if err != nil {
		return nil, 0, err
	}
	began := r.world.Now()
	data, err = j.job.Merge(a, b)
	return data, r.since(began), err
}
