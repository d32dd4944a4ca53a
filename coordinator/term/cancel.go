package term

import (
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Every client that may submit jobs may also send requests to cancel jobs, even jobs that do not
// exist. The number of requests to cancel jobs is therefore bounded. A request that exceeds a bound
// gets no answer, and its sender retries.
const (
	maxWithdrawing = 100 // maximum number of concurrent cancellations of jobs that are neither active nor pending
	maxCancels     = 100 // maximum number of cancellations that wait for the end of one job
)

// Cancel cancels a job. It calls answer only when the cancellation is durable, so a leader that was
// replaced cannot answer.
func (t *Term) Cancel(job string, answer func(error)) {
	if !store.ValidID(job) {
		answer(fmt.Errorf("cancel job %.40q: %w", job, store.ErrNotFound))
		return
	}
	if t.ledger == nil {
		t.backlog.addCancel(queuedCancel{job, answer}) // a task may be resuming the job now
		return
	}
	if j := t.jobs.active[job]; j != nil {
		if len(j.cancels) >= maxCancels {
			return
		}
		j.cancels = append(j.cancels, answer)
		j.cancelled.Store(true)
		t.step(ledger.JobCancelled{Job: j.id})
		return
	}
	p := t.jobs.pending[job]
	switch {
	case p == nil && t.jobs.withdrawing >= maxWithdrawing:
		return
	case p == nil:
		t.withdraw(job, &pendingJob{cancels: []func(error){answer}})
		return
	case len(p.cancels) >= maxCancels:
		return
	}
	p.cancels = append(p.cancels, answer)
	if p.waiting {
		t.stopWaiting(job)
		t.withdraw(job, p)
	}
}

// withdraw cancels a job that no leader has begun or resumed yet.
func (t *Term) withdraw(id string, p *pendingJob) {
	t.jobs.withdrawing++
	p.withdrawing = true
	t.addPending(id, p)
	ended := t.ledger.Ended(id)
	t.spawn(func() func() {
		err := t.putCancelled(id, ended)
		return func() { t.withdrawn(id, err) }
	})
}

// withdrawn handles the outcome of an attempt to cancel a job in its manifest.
func (t *Term) withdrawn(id string, err error) {
	var fenced *fencedError
	if errors.As(err, &fenced) {
		t.fail(err)
		return
	}
	p := t.jobs.pending[id]
	t.jobs.withdrawing--
	delete(t.jobs.pending, id)
	if p.submission != nil { // admit the job, so that its index entry and submission are cleaned up
		t.admit(id, t.addPending(id, &pendingJob{submission: p.submission}))
	}
	if err == nil {
		delete(t.jobs.parked, id)
		t.jobEnded(id)
		t.transport.Ended(id)
	}
	for _, answer := range p.cancels {
		answer(err)
	}
}

// putCancelled marks a job as cancelled in its manifest. A leader that later receives the job's
// submission reads this manifest. No other task of this leader works on the job during
// putCancelled. If the job has ended in this term and has no manifest, it was removed. For a
// removed job putCancelled writes nothing, even if a delayed write has stored the spec again.
func (t *Term) putCancelled(id string, ended bool) error {
	spec, err := t.readSpec(id)
	if err == nil && ended {
		_, _, err = t.readManifest(id)
	}
	if err != nil {
		return fmt.Errorf("cancel job %s: %w", id, err)
	}
	next := store.Manifest{}
	cond := store.IfAbsent
	for {
		next.Epoch, next.State, next.Finished = t.leadership.Epoch, store.Cancelled, t.env.Now().UTC()
		next.Sequence++
		_, err := t.putInactive(spec, next, cond)
		if !errors.Is(err, errChanged) {
			return t.retractRemoved(id, err)
		}
		manifest, version, err := t.readManifest(id)
		switch {
		case err != nil:
			return err
		case manifest.State == store.Cancelled && manifest.Sequence > 1:
			return nil
		case manifest.State == store.Cancelled: // an earlier try may have written this manifest although its reply was lost
			return t.retractRemoved(id, t.checkSpec(spec))
		case manifest.State.Final():
			return endedFirst(id, manifest.State)
		case manifest.Epoch > t.leadership.Epoch:
			return fmt.Errorf("cancel job %s: %w", id, &fencedError{manifest.Epoch})
		}
		next, cond = manifest, store.IfVersion(version)
	}
}

// endedFirst returns the error for a cancellation that came after the job's end.
func endedFirst(id string, state store.State) error {
	return fmt.Errorf("job %s ended before it could be cancelled: it is %s", id, state)
}
