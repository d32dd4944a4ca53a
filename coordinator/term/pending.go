package term

import (
	"context"
	"errors"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// pending is a job whose manifest something beside the loop is about to write:
// it is being begun or resumed, or withdrawn. There is one such thing per job at
// a time, and none while the job is active. So whoever writes a manifest knows
// what it was before, and a manifest with this leader's epoch and a sequence
// number of its own is its own.
type pending struct {
	ctx        context.Context // done once the job is not wanted any more: its plan need not be finished
	cancel     context.CancelFunc
	withdrawn  bool              // it is being withdrawn, not begun
	submission *store.Submission // nil where none was received
	waiting    []func(error)     // who wants it cancelled
}

func (r *Reign) newPending(id string, p *pending) *pending {
	p.ctx, p.cancel = context.WithCancel(r.ctx)
	r.pending[id] = p
	return p
}

// received: a submission was taken from the queue, and room for its job.
func (r *Reign) received(s *store.Submission) {
	j, p := r.jobs[s.ID], r.pending[s.ID]
	before, parked := r.parked[s.ID]
	switch {
	case j != nil: // it was delivered again
		j.submission = s
		r.active.leave()
	case p != nil:
		if p.submission != nil {
			r.active.leave()
		}
		p.submission = s
	case parked && !before.damaged():
		r.active.leave() // it comes again, maybe to a leader who can do it
	default: // maybe it was damaged, and somebody has removed it since
		r.accept(s.ID, r.newPending(s.ID, &pending{submission: s}))
	}
}

// accept makes an active job of one that was submitted. It may have ended, or
// been begun by an earlier leader.
func (r *Reign) accept(id string, p *pending) {
	r.spawn(func() func() {
		err := r.persist("enter job in the index", func(ctx context.Context) error { return r.cfg.Store.Activate(ctx, id) })
		if err != nil {
			return func() { r.fail(err) }
		}
		ready, err := r.ready(p.ctx, id)
		if err != nil {
			return func() { r.fail(err) }
		}
		return func() { r.accepted(ready) }
	})
}

// accepted: a job that was pending is ready, or cannot be worked on.
func (r *Reign) accepted(ready readied) {
	id := ready.id
	p := r.pending[id]
	p.cancel()
	delete(r.pending, id)
	if j := ready.active; j != nil {
		j.submission, j.hasRoom, j.waiting = p.submission, p.submission != nil, p.waiting
		r.takeOn(ready)
		if len(j.waiting) > 0 {
			r.step(ledger.JobCancelled{Job: id})
		}
		return
	}
	if p.submission != nil {
		r.active.leave()
	}
	r.takeOn(ready)
	if ready.ended && p.submission != nil {
		r.spawn(func() func() {
			r.tidy(id, p.submission, true)
			return nil
		})
	}
	if len(p.waiting) > 0 {
		r.withdraw(id, p.waiting)
	}
}

// inquire finds out about a job that a worker speaks of and that this leader did
// not resume. It has ended, or else an earlier leader began it after this one had
// listed those that are active: it becomes this leader's here, or once its
// submission is delivered again. Until then the earlier leader may go on with it,
// alone.
func (r *Reign) inquire(id string) {
	if r.pending[id] != nil {
		return // the answer is on its way
	}
	p := r.newPending(id, &pending{})
	r.spawn(func() func() {
		manifest, _, err := r.readManifest(id)
		ready := readied{id: id, ended: true}
		switch {
		case errors.Is(err, store.ErrNotFound): // and so has the job
		case err == nil && manifest.State.Final():
		default:
			if ready, err = r.ready(p.ctx, id); err != nil {
				return func() { r.fail(err) }
			}
		}
		return func() { r.accepted(ready) }
	})
}
