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
func (t *Term) Cancel(job string, answer func(error)) {
	if !store.ValidID(job) {
		answer(fmt.Errorf("cancel job %.40q: %w", job, store.ErrNotFound))
		return
	}
	if t.ledger == nil {
		t.early.keepCancel(cancelling{job, answer}) // the job may be one that is being resumed
		return
	}
	if j := t.jobs[job]; j != nil {
		if len(j.waiting) >= maxWaiting {
			return
		}
		j.waiting = append(j.waiting, answer)
		t.step(ledger.JobCancelled{Job: job})
		return
	}
	p := t.pending[job]
	switch {
	case p == nil && t.withdrawing >= maxWithdrawing:
		return
	case p == nil:
		t.withdraw(job, []func(error){answer})
		return
	case len(p.waiting) >= maxWaiting:
		return
	}
	p.waiting = append(p.waiting, answer)
	if !p.withdrawn { // its code may take long to plan it
		p.cancel()
		t.writeCancelled(job, false)
	}
}

// withdraw cancels a job that is neither active nor being begun.
func (t *Term) withdraw(id string, waiting []func(error)) {
	t.withdrawing++
	t.newPending(id, &pending{withdrawn: true, waiting: waiting})
	t.writeCancelled(id, true)
}

func (t *Term) writeCancelled(id string, begun bool) {
	t.spawn(func() func() {
		err := t.putCancelled(id, begun)
		return func() { t.withdrawn(id, err) }
	})
}

// withdrawn: an attempt to cancel a job in its manifest is over.
func (t *Term) withdrawn(id string, err error) {
	var fenced *fencedError
	if errors.As(err, &fenced) {
		t.fail(err)
		return
	}
	p := t.pending[id]
	if p == nil || errors.Is(err, errBegun) {
		return // it was begun meanwhile, which sees to those who wait
	}
	waiting := p.waiting
	p.waiting = nil
	if p.withdrawn {
		t.withdrawing--
		p.cancel()
		delete(t.pending, id)
		if p.submission != nil {
			t.accept(id, t.newPending(id, &pending{submission: p.submission}))
		}
	}
	if _, parked := t.parked[id]; err == nil && parked {
		delete(t.parked, id)
		t.step(ledger.JobEnded{Job: id})
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
func (t *Term) putCancelled(id string, begun bool) error {
	if _, err := t.readSpec(id); err != nil {
		return fmt.Errorf("cancel job %s: %w", id, err)
	}
	next := store.Manifest{}
	cond := store.IfAbsent
	for {
		next.Epoch, next.State, next.Finished = t.leadership.Epoch, store.Cancelled, t.env.Now().UTC()
		next.Sequence++
		_, err := t.place(id, next, cond)
		if errors.Is(err, errRemoved) {
			if _, failed := t.removed(id); failed != nil {
				return failed
			}
			return err
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		manifest, version, err := t.readManifest(id)
		switch {
		case err != nil:
			return err
		case manifest.State == store.Cancelled:
			return nil
		case manifest.State.Final():
			return fmt.Errorf("job %s has ended before it could be cancelled: it is %s", id, manifest.State)
		case manifest.Epoch > t.leadership.Epoch:
			return fmt.Errorf("cancel job %s: %w", id, &fencedError{manifest.Epoch})
		case manifest.State == store.Running && !begun:
			return errBegun
		}
		next, cond = manifest, store.IfVersion(version)
	}
}
