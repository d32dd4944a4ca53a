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
func (t *Term) mark(moment *time.Duration) {
	if *moment == 0 {
		*moment = t.since(t.leadership.Since)
	}
}

// recordTerm writes the term into the history, and again when more of its
// timeline is known.
func (t *Term) recordTerm() {
	line := &t.timeline
	if line.recording {
		return
	}
	record := store.TermRecord{
		Epoch: t.leadership.Epoch, Worker: t.cfg.Worker, Cause: string(t.leadership.Cause), At: t.leadership.Since.UTC(),
		Detect: t.leadership.Detect, Elect: t.leadership.Elect, Fence: line.fenced,
	}
	if line.settled > 0 {
		record.Resume = line.settled - line.fenced
	}
	if line.firstAssignment > 0 {
		record.FirstAssignment = new(max(0, line.firstAssignment-line.settled))
		if line.firstResult > 0 { // maybe of work that was given before
			record.FirstResult = new(max(0, line.firstResult-line.firstAssignment))
		}
	}
	if record.Equal(line.recorded) {
		return
	}
	t.observePhases(line.recorded, record)
	line.recorded, line.recording = record, true
	t.spawn(func() func() {
		err := t.persist("record term", func(ctx context.Context) error { return t.cfg.Store.PutTerm(ctx, record) })
		if err != nil && t.ctx.Err() == nil {
			t.log.Warn("Could not record the term", "error", err)
		}
		return func() { line.recording = false }
	})
}
