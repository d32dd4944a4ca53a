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

func (t *Term) newPending(id string, p *pending) *pending {
	p.ctx, p.cancel = context.WithCancel(t.ctx)
	t.pending[id] = p
	return p
}

// received: a submission was taken from the queue, and room for its job.
func (t *Term) received(s *store.Submission) {
	j, p := t.jobs[s.ID], t.pending[s.ID]
	before, parked := t.parked[s.ID]
	switch {
	case j != nil: // it was delivered again
		j.submission = s
		t.active.leave()
	case p != nil:
		if p.submission != nil {
			t.active.leave()
		}
		p.submission = s
	case parked && !before.damaged():
		t.active.leave() // it comes again, maybe to a leader who can do it
	default: // maybe it was damaged, and somebody has removed it since
		t.accept(s.ID, t.newPending(s.ID, &pending{submission: s}))
	}
}

// accept makes an active job of one that was submitted. It may have ended, or
// been begun by an earlier leader.
func (t *Term) accept(id string, p *pending) {
	t.spawn(func() func() {
		err := t.persist("enter job in the index", func(ctx context.Context) error { return t.cfg.Store.Activate(ctx, id) })
		if err != nil {
			return func() { t.fail(err) }
		}
		ready, err := t.ready(p.ctx, id)
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() { t.accepted(ready) }
	})
}

// accepted: a job that was pending is ready, or cannot be worked on.
func (t *Term) accepted(ready readied) {
	id := ready.id
	p := t.pending[id]
	p.cancel()
	delete(t.pending, id)
	if j := ready.active; j != nil {
		j.submission, j.hasRoom, j.waiting = p.submission, p.submission != nil, p.waiting
		t.takeOn(ready)
		if len(j.waiting) > 0 {
			t.step(ledger.JobCancelled{Job: id})
		}
		return
	}
	if p.submission != nil {
		t.active.leave()
	}
	t.takeOn(ready)
	if ready.ended && p.submission != nil {
		t.spawn(func() func() {
			t.tidy(id, p.submission, true)
			return nil
		})
	}
	if len(p.waiting) > 0 {
		t.withdraw(id, p.waiting)
	}
}

// inquire finds out about a job that a worker speaks of and that this leader did
// not resume. It has ended, or else an earlier leader began it after this one had
// listed those that are active: it becomes this leader's here, or once its
// submission is delivered again. Until then the earlier leader may go on with it,
// alone.
func (t *Term) inquire(id string) {
	if t.pending[id] != nil {
		return // the answer is on its way
	}
	p := t.newPending(id, &pending{})
	t.spawn(func() func() {
		manifest, _, err := t.readManifest(id)
		ready := readied{id: id, ended: true}
		switch {
		case errors.Is(err, store.ErrNotFound): // and so has the job
		case err == nil && manifest.State.Final():
		default:
			if ready, err = t.ready(p.ctx, id); err != nil {
				return func() { t.fail(err) }
			}
		}
		return func() { t.accepted(ready) }
	})
}
