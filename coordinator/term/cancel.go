package term

import (
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Whoever may submit may ask for cancellations, of jobs that there are and of
// others. What is beyond these bounds is not answered, and asked again.
const (
	maxWithdrawing = 100 // jobs that are neither active nor being begun, at once
	maxWaiting     = 100 // who waits for the end of one job
)

// Cancel cancels a job. The answer comes once that is durable, so an old leader
// cannot give it.
func (r *Reign) Cancel(job string, answer func(error)) {
	if !store.ValidID(job) {
		answer(fmt.Errorf("cancel job %.40q: %w", job, store.ErrNotFound))
		return
	}
	if r.ledger == nil {
		r.early.keepCancel(cancelling{job, answer}) // the job may be one that is being resumed
		return
	}
	if j := r.jobs[job]; j != nil {
		if len(j.waiting) >= maxWaiting {
			return
		}
		j.waiting = append(j.waiting, answer)
		r.step(ledger.JobCancelled{Job: job})
		return
	}
	p := r.pending[job]
	switch {
	case p == nil && r.withdrawing >= maxWithdrawing:
		return
	case p == nil:
		r.withdraw(job, []func(error){answer})
		return
	case len(p.waiting) >= maxWaiting:
		return
	}
	p.waiting = append(p.waiting, answer)
	if !p.withdrawn { // its code may take long to plan it
		p.cancel()
		r.writeCancelled(job, false)
	}
}

// withdraw cancels a job that is neither active nor being begun.
func (r *Reign) withdraw(id string, waiting []func(error)) {
	r.withdrawing++
	r.newPending(id, &pending{withdrawn: true, waiting: waiting})
	r.writeCancelled(id, true)
}

func (r *Reign) writeCancelled(id string, begun bool) {
	r.spawn(func() func() {
		err := r.putCancelled(id, begun)
		return func() { r.withdrawn(id, err) }
	})
}

// withdrawn: an attempt to cancel a job in its manifest is over.
func (r *Reign) withdrawn(id string, err error) {
	var fenced *fencedError
	if errors.As(err, &fenced) {
		r.fail(err)
		return
	}
	p := r.pending[id]
	if p == nil || errors.Is(err, errBegun) {
		return // it was begun meanwhile, which sees to those who wait
	}
	waiting := p.waiting
	p.waiting = nil
	if p.withdrawn {
		r.withdrawing--
		p.cancel()
		delete(r.pending, id)
		if p.submission != nil {
			r.accept(id, r.newPending(id, &pending{submission: p.submission}))
		}
	}
	if _, parked := r.parked[id]; err == nil && parked {
		delete(r.parked, id)
		r.step(ledger.JobEnded{Job: id})
	}
	for _, answer := range waiting {
		answer(err)
	}
}

// errBegun: the job's first manifest is there, and it may be active at any moment.
var errBegun = errors.New("job is just being begun")

// putCancelled writes that a job was cancelled into its manifest: whoever
// receives its submission finds that. A job that has been begun it cancels only
// where nobody of this leader works on it. It is called from tasks.
func (r *Reign) putCancelled(id string, begun bool) error {
	if _, err := r.readSpec(id); err != nil {
		return fmt.Errorf("cancel job %s: %w", id, err)
	}
	next := store.Manifest{}
	cond := store.IfAbsent
	for {
		next.Epoch, next.State, next.Finished = r.term.Epoch, store.Cancelled, r.world.Now().UTC()
		next.Sequence++
		_, err := r.place(id, next, cond)
		if errors.Is(err, errRemoved) {
			if _, failed := r.removed(id); failed != nil {
				return failed
			}
			return err
		}
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
			return fmt.Errorf("cancel job %s: %w", id, &fencedError{manifest.Epoch})
		case manifest.State == store.Running && !begun:
			return errBegun
		}
		next, cond = manifest, store.IfVersion(version)
	}
}
