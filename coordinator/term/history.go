package term

import (
	"context"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// timeline is how far a term has come, each moment counted from when the lease
// was acquired; 0 means not yet.
type timeline struct {
	fenced          time.Duration // every active job's manifest has the epoch
	settled         time.Duration // assigning may begin
	firstAssignment time.Duration // a worker was given a span
	firstResult     time.Duration // a worker reported a node that is not from before

	recorded  store.TermRecord // as it was written last
	recording bool
}

// mark sets a moment to now if it has not come before.
func (r *Reign) mark(moment *time.Duration) {
	if *moment == 0 {
		*moment = r.since(r.term.Since)
	}
}

// recordTerm writes the term into the history, and again when more of its
// timeline is known.
func (r *Reign) recordTerm() {
	t := &r.timeline
	if t.recording {
		return
	}
	record := store.TermRecord{
		Epoch: r.term.Epoch, Worker: r.cfg.Worker, Cause: r.term.Cause, At: r.term.Since.UTC(),
		Detect: r.term.Detect, Elect: r.term.Elect, Fence: t.fenced,
	}
	if t.settled > 0 {
		record.Resume = t.settled - t.fenced
	}
	if t.firstAssignment > 0 {
		record.FirstAssignment = max(store.AtOnce, t.firstAssignment-t.settled)
		if t.firstResult > 0 { // maybe of work that was given before
			record.FirstResult = max(store.AtOnce, t.firstResult-t.firstAssignment)
		}
	}
	if record == t.recorded {
		return
	}
	r.observePhases(t.recorded, record)
	t.recorded, t.recording = record, true
	r.spawn(func() func() {
		err := r.persist("record term", func(ctx context.Context) error { return r.cfg.Store.PutTerm(ctx, record) })
		if err != nil && r.ctx.Err() == nil {
			r.log.Warn("Could not record the term", "error", err)
		}
		return func() { t.recording = false }
	})
}
