package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

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

func (r *reign) newPending(id string, p *pending) *pending {
	p.ctx, p.cancel = context.WithCancel(r.ctx)
	r.pending[id] = p
	return p
}

// received: a submission was taken from the queue, and room for its job.
type received struct{ submission *store.Submission }

func (in received) on(r *reign) {
	s := in.submission
	j, p := r.jobs[s.ID], r.pending[s.ID]
	switch {
	case j != nil: // it was delivered again
		j.submission = s
		<-r.room
	case p != nil:
		if p.submission != nil {
			<-r.room
		}
		p.submission = s
	case r.parked[s.ID] != "":
		<-r.room // it comes again, maybe to a leader who can do it
	default:
		r.accept(s.ID, r.newPending(s.ID, &pending{submission: s}))
	}
}

// accept makes an active job of one that was submitted. It may have ended, or
// been begun by an earlier leader.
func (r *reign) accept(id string, p *pending) {
	r.spawn(func() {
		err := r.persist("enter job in the index", func(ctx context.Context) error { return r.cfg.Store.Activate(ctx, id) })
		if err != nil {
			r.failWrite(err)
			return
		}
		ready, err := r.ready(p.ctx, id)
		if err != nil {
			r.failWrite(err)
			return
		}
		r.post(accepted{ready})
	})
}

// accepted: a job that was pending is ready, or cannot be worked on.
type accepted struct{ ready readied }

func (in accepted) on(r *reign) {
	id := in.ready.id
	p := r.pending[id]
	p.cancel()
	delete(r.pending, id)
	if j := in.ready.active; j != nil {
		j.submission, j.hasRoom, j.waiting = p.submission, p.submission != nil, p.waiting
		r.takeOn(in.ready)
		if len(j.waiting) > 0 {
			r.step(ledger.JobCancelled{Job: id})
		}
		return
	}
	if p.submission != nil {
		<-r.room
	}
	r.takeOn(in.ready)
	if in.ready.ended && p.submission != nil {
		r.spawn(func() { r.tidy(id, p.submission, true) })
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
func (r *reign) inquire(id string) {
	if r.pending[id] != nil {
		return // the answer is on its way
	}
	p := r.newPending(id, &pending{})
	r.spawn(func() {
		manifest, _, err := r.readManifest(id)
		ready := readied{id: id, ended: true}
		switch {
		case errors.Is(err, store.ErrNotFound): // and so has the job
		case err == nil && manifest.State.Final():
		default:
			if ready, err = r.ready(p.ctx, id); err != nil {
				r.failWrite(err)
				return
			}
		}
		r.post(accepted{ready})
	})
}

// withdraw cancels a job that is neither active nor being begun.
func (r *reign) withdraw(id string, waiting []func(error)) {
	r.newPending(id, &pending{withdrawn: true, waiting: waiting})
	r.spawn(func() { r.post(withdrawn{id, r.writeCancelled(id, true)}) })
}

// withdrawn: an attempt to cancel a job in its manifest is over.
type withdrawn struct {
	id  string
	err error
}

func (in withdrawn) on(r *reign) {
	p := r.pending[in.id]
	if p == nil || errors.Is(in.err, errBegun) {
		return // it was begun meanwhile, which sees to those who wait
	}
	waiting := p.waiting
	p.waiting = nil
	if p.withdrawn {
		p.cancel()
		delete(r.pending, in.id)
		if p.submission != nil {
			r.accept(in.id, r.newPending(in.id, &pending{submission: p.submission}))
		}
	}
	if in.err == nil && r.parked[in.id] != "" {
		delete(r.parked, in.id)
		r.step(ledger.JobEnded{Job: in.id})
	}
	for _, answer := range waiting {
		answer(in.err)
	}
}

// errBegun: the job's first manifest is there, and it may be active at any moment.
var errBegun = errors.New("job is just being begun")

// writeCancelled writes that a job was cancelled into its manifest: whoever
// receives its submission finds that. A job that has been begun it cancels only
// where nobody of this leader works on it.
func (r *reign) writeCancelled(id string, begun bool) error {
	if _, err := r.readSpec(id); err != nil {
		return fmt.Errorf("cancel job %s: %w", id, err)
	}
	next := store.Manifest{}
	cond := store.IfAbsent
	for {
		next.Epoch, next.State, next.Finished = r.term.Epoch, store.Cancelled, time.Now().UTC()
		next.Sequence++
		err := r.persist("write last manifest", func(ctx context.Context) error {
			_, err := r.cfg.Store.PutManifest(ctx, id, next, cond)
			return err
		})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		manifest, version, err := r.readManifest(id)
		switch {
		case err != nil:
			return err
		case manifest.State == store.Cancelled:
			return nil
		case manifest.State.Final():
			return fmt.Errorf("job %s has ended before it could be cancelled: it is %s", id, manifest.State)
		case manifest.Epoch > r.term.Epoch:
			r.term.Deposed(manifest.Epoch)
			return fmt.Errorf("cancel job %s: %w: epoch %d", id, errFenced, manifest.Epoch)
		case manifest.State == store.Running && !begun:
			return errBegun
		}
		next, cond = manifest, store.IfVersion(version)
	}
}
