package term

import (
	"context"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// timeline contains the milestones of a term, as times since the acquisition of the lease. A zero
// time means that the term has not reached the milestone.
type timeline struct {
	fenced          time.Duration // every active job's manifest contains this leader's epoch
	recovered       time.Duration // the ledger may begin to assign work
	work            time.Duration // the first job became active; later than recovered if the cluster was idle
	firstAssignment time.Duration // the first span was assigned to a worker
	firstResult     time.Duration // a worker reported the first node that was finished in this term

	record    store.TermRecord // the last record that was written
	recording bool             // true while a write of the record is in flight
}

// mark sets a milestone to the current time, unless the milestone was reached earlier.
func (t *Term) mark(milestone *time.Duration) {
	if *milestone == 0 {
		*milestone = t.since(t.leadership.Since)
	}
}

func (t *Term) markFirstAssignment(receipt wire.Receipt) {
	if len(receipt.Assigned) > 0 {
		t.mark(&t.timeline.firstAssignment)
	}
}

// recordTerm writes the term's record into the history if the term has reached a new milestone.
func (t *Term) recordTerm() {
	line := &t.timeline
	if line.recording {
		return
	}
	record := store.TermRecord{
		Epoch: t.leadership.Epoch, Worker: t.cfg.Worker, Cause: string(t.leadership.Cause), At: t.leadership.Since.UTC(),
		Detect: t.leadership.Detect, Elect: t.leadership.Elect, Fence: line.fenced,
	}
	if line.recovered > 0 {
		record.Resume = line.recovered - line.fenced
	}
	if line.firstAssignment > 0 {
		record.FirstAssignment = new(max(0, line.firstAssignment-max(line.recovered, line.work)))
		if line.firstResult > 0 { // the worker may have computed the result for an earlier leader
			record.FirstResult = new(max(0, line.firstResult-line.firstAssignment))
		}
	}
	if record.Equal(line.record) {
		return
	}
	t.observePhases(line.record, record)
	line.record, line.recording = record, true
	t.spawn(func() func() {
		err := t.retry("record term", func(ctx context.Context) error { return t.cfg.Store.PutTerm(ctx, record) })
		if err != nil && t.ctx.Err() == nil {
			t.log.Warn("Could not record the term", "error", err)
		}
		return func() {
			line.recording = false
			t.recordTerm() // a milestone may have been reached during the write
		}
	})
}
