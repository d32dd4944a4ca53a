package ledger

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// reconcile compares the spans that a worker reports with the worker's assignments. An assignment
// that the worker no longer holds was finished, given back or lost.
func (l *Ledger) reconcile(w *worker, spans []wire.HeldSpan) {
	reported := make(map[wire.SpanID]wire.HeldSpan, len(spans))
	for _, s := range spans {
		reported[s.ID] = s
	}
	var work []progress
	for _, a := range slices.Clone(w.assignments) {
		if a.state == statePlanned {
			continue
		}
		s, holds := reported[a.id]
		delete(reported, a.id)
		if a.call != nil {
			l.reconcileCall(a, s, holds)
			continue
		}
		if ran, finished := l.reconcileSpan(a, s, holds); ran || finished > 0 {
			work = append(work, progress{a, finished})
		}
	}
	l.updateRates(w, work)
	w.unknownSpans = 0
	for _, s := range spans { // spans are in the order in which the worker will run them
		if _, unmatched := reported[s.ID]; unmatched {
			l.adopt(w, s)
		}
	}
	for _, s := range spans {
		l.reserveNumber(s.ID)
	}
}

// reconcileSpan compares an assigned span with the worker's report. It reports whether the worker has
// run the span since its last report, and how many partitions have finished since then.
func (l *Ledger) reconcileSpan(a *assignment, s wire.HeldSpan, holds bool) (ran bool, finished uint64) {
	if !holds {
		s.Span = engine.Span{Lo: a.span.Hi, Hi: a.span.Hi}
	}
	ran = a.state == stateRunning || s.Running
	finished = l.advance(a, s.Span)
	if s.Done > a.ran {
		a.progressAt = l.now
	}
	a.ran = s.Done
	switch {
	case !s.Running:
		a.state = stateConfirmed
	case a.state != stateRunning:
		a.state = stateRunning
		a.progressAt = l.now
	}
	a.step, a.slot = cmp.Or(s.Step, a.step), s.Slot
	if s.Running {
		l.ranFor(a.job, l.now-a.progressAt)
	}
	if a.cut != nil && a.cut.sent {
		a.removeCut() // the report acknowledges the cut
	}
	switch {
	case a.span.Empty():
		l.release(a)
	case a.job.ending(): // the worker learns of the job's end when the end is durable
	case !a.obsolete && !a.job.anyMissing(a.span):
		a.obsolete = true
		a.cutAt(0, nil)
	}
	return ran, finished
}

// reserveNumber ensures that no new assignment gets a span ID that a worker has reported. A worker can
// have a span ID of this epoch from another leader if storage has lost its latest writes in a crash, so
// that two leaders got the same epoch.
func (l *Ledger) reserveNumber(id wire.SpanID) {
	if id.Epoch == l.cfg.Epoch {
		l.lastNumber = max(l.lastNumber, min(id.Number, maxReserved))
	}
}

// maxReserved leaves enough numbers for new assignments, whatever a worker reports.
const maxReserved = 1 << 62

// advance shortens an assignment to the reported span, and returns how many of the removed
// partitions are finished. Removed partitions that are not finished are queued.
func (l *Ledger) advance(a *assignment, reported engine.Span) (finished uint64) {
	was := a.span
	a.span.Lo = max(was.Lo, min(reported.Lo, was.Hi))
	a.span.Hi = max(a.span.Lo, min(reported.Hi, was.Hi))
	if a.span.Hi < was.Hi {
		l.giveBack(a, engine.Span{Lo: a.span.Hi, Hi: was.Hi})
	}
	if a.span.Lo == was.Lo {
		return 0
	}
	a.progressAt = l.now
	passed := engine.Span{Lo: was.Lo, Hi: a.span.Lo}
	finished = passed.Len()
	for _, gap := range a.job.forest.missing(passed) {
		finished -= gap.Len()
	}
	l.giveBack(a, passed)
	return finished
}

// progress is the number of an assignment's partitions that finished since the worker's last
// report.
type progress struct {
	assignment *assignment
	finished   uint64
}

// updateRates updates the rates of a worker and of its jobs with the progress since the worker's
// last report. If more assignments have run than the worker has slots, some of them ran one after
// the other, so each assignment counts only for a part of the time. The time of a running partition
// counts only after the partition is finished, because a hanging partition would otherwise lower
// the rate. The first progress of an adopted assignment does not count, because it would raise the rate: the
// ledger has not seen the beginning of one partition, or of several that the worker reports together.
func (l *Ledger) updateRates(w *worker, work []progress) {
	elapsed := (l.now - w.spansReportedAt).Seconds()
	w.spansReportedAt = l.now
	if len(work) == 0 || elapsed <= 0 {
		return
	}
	slotSeconds := elapsed * float64(min(len(work), w.slots)) / float64(len(work))
	for _, p := range work {
		a := p.assignment
		a.slotSeconds += slotSeconds
		if p.finished == 0 {
			continue
		}
		if !a.adopted {
			a.share.rate.add(float64(p.finished), a.slotSeconds)
			a.job.rate.add(float64(p.finished), a.slotSeconds)
		}
		a.slotSeconds, a.adopted = 0, false
	}
}

// adopt handles a reported span that is not an assignment of this ledger: an earlier leader
// assigned the span, or this leader assigned it before it removed the worker. The partitions of the
// span that are still queued become an assignment of the worker.
func (l *Ledger) adopt(w *worker, s wire.HeldSpan) {
	j := l.jobsByID[s.Job]
	if j == nil {
		w.unknownSpans++
		l.onUnknownJob(w, s.Job, 0)
		return
	}
	share := w.share(j)
	share.opened = share.opened || s.Function != wire.Plan
	if j.ending() {
		return // the worker learns of the job's end when the end is durable
	}
	if s.Function != wire.Map {
		l.adoptCall(w, j, s)
		return
	}
	claim := j.claimable(s.Span)
	if !j.admits(w.build()) || j.assignments.find(s.ID) != nil || s.ID.Epoch > l.cfg.Epoch || s.ID.Epoch == l.cfg.Epoch && s.ID.Number > l.lastNumber {
		claim.Hi = claim.Lo // no leader has assigned this span ID to this worker, or the job does not admit the worker's build
	}
	if claim.Hi < s.Span.Hi {
		// A worker finishes its running partition despite a cut, so this partition may be reported
		// twice.
		w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: s.ID, Hi: claim.Hi})
	}
	if claim.Empty() {
		return
	}
	deaths := j.queue.remove(claim)
	state := stateConfirmed
	if s.Running {
		state = stateRunning
	}
	l.addAssignment(&assignment{id: s.ID, worker: w, job: j, share: share, span: claim, state: state, slot: s.Slot, progressAt: l.now, adopted: s.Running, deaths: deaths})
}
