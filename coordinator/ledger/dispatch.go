package ledger

import (
	"cmp"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// spansPerSlot is how many spans a slot is given at least, while there are any:
	// one to run and one to go on with.
	spansPerSlot = 2
	// maxSpansPerSlot bounds them where spans turn out short, and maxSpans those of one
	// worker: what the one with the most slots must have, and less than any holds
	// (book.MaxHeld).
	maxSpansPerSlot = 16
	maxSpans        = spansPerSlot * wire.MaxSlots
	// manySpans of all workers are so many that no slot is given more than it must
	// have of each priority: what leading costs goes by their number.
	manySpans = 16_000
	// atFirst is the most partitions of a piece while nobody knows how long they take.
	// Where they take next to nothing that costs a few reports.
	atFirst = 32
	// worthwhile is the least work that is worth a message, and worthwhileShare the
	// part of an interval of reports that it is at least: many workers together cannot
	// send as many.
	worthwhile      = 20 * time.Millisecond
	worthwhileShare = 8
	// long is more work ahead than anybody wants. Sums end there, and it stands for
	// work of which nobody knows how long it takes.
	long = time.Hour
)

// fill gives a worker what it should have.
func (l *Ledger) fill(w *worker) {
	if l.settling || l.stopping || w.draining {
		return
	}
	if l.setAside(w) {
		l.isolate(w)
	}
	if w.isolates {
		return
	}
	for l.giveNext(w) {
	}
	l.relieve(w)
}

// giveNext gives a worker one more assignment, if it should have one and there is
// one: of the jobs with the highest priority, and among them of that which has
// the fewest out. A worker that has enough of one priority is given of lower ones.
func (l *Ledger) giveNext(w *worker) bool {
	var best, refused *job
	for _, j := range l.jobs {
		worse := best != nil && (j.spec.Priority < best.spec.Priority || j.held.len() >= best.held.len())
		hasEnough := refused != nil && j.spec.Priority == refused.spec.Priority
		if worse || hasEnough || !l.hasWork(w, j) || len(w.held) >= w.slots && l.leaves(w, j) {
			continue
		}
		if best == nil && !l.wants(w, j.spec.Priority) {
			refused = j
			continue
		}
		best = j
	}
	if best == nil {
		return false
	}
	l.give(w, best, l.take(w, best))
	return true
}

// wants reports whether a worker should have more of a priority: until each slot has
// work of it, or of a higher one, that outlasts the horizon or, where that is less,
// is its share of what waits. With more than its share it would still be busy when
// others have nothing left.
func (l *Ledger) wants(w *worker, priority int) bool {
	if len(w.held) >= maxSpans {
		return false
	}
	spans, ahead := 0, time.Duration(0)
	for _, h := range w.held {
		if h.job.spec.Priority >= priority {
			spans++
			_, d := l.remaining(h)
			ahead = min(ahead+d, long)
		}
	}
	switch {
	case spans < spansPerSlot*w.slots:
		return true
	case spans >= maxSpansPerSlot*w.slots || l.spans() >= manySpans:
		return false
	}
	enough := min(l.horizon(), l.share(w, priority))
	return ahead < min(enough*time.Duration(w.slots), long)
}

// share is how long what waits of a priority, and a worker can do, would keep every
// slot busy that can do it.
func (l *Ledger) share(w *worker, priority int) time.Duration {
	d := time.Duration(0)
	for _, j := range l.jobs {
		if waiting := j.waiting(); j.spec.Priority == priority && waiting > 0 && l.can(w, j) {
			speed := j.pace.speed()
			if speed == 0 {
				return long
			}
			d = min(d+duration(float64(waiting)/speed/float64(l.slotsFor(j))), long)
		}
	}
	return d
}

// spans is how many spans all workers hold.
func (l *Ledger) spans() (n int) {
	for _, j := range l.jobs {
		n += j.held.len()
	}
	return n
}

// slotsFor is how many slots there are that may be given work of a job.
func (l *Ledger) slotsFor(j *job) int { return max(1, l.slots[j.opening.Kind]) }

// leaves reports whether a worker whose slots all have work should leave the last
// pieces of a job to others that are idle, rather than queue them. A partition that
// has failed or is suspect is a piece by itself.
func (l *Ledger) leaves(w *worker, j *job) bool {
	size := l.size(w, j)
	last := (j.fresh.size+size-1)/size + uint64(j.attempts.waiting) + j.suspects.size
	if last > uint64(l.slotsFor(j)) {
		return false
	}
	for _, o := range l.workers {
		if idle := o.slots - len(o.held); o != w && idle > 0 && !o.isolates && l.hasWork(o, j) {
			if uint64(idle) >= last {
				return true
			}
			last -= uint64(idle)
		}
	}
	return false
}

// hasWork reports whether take would find something of a job for a worker.
func (l *Ledger) hasWork(w *worker, j *job) bool {
	return j.waiting() > 0 && l.can(w, j) &&
		(len(j.fresh.spans) > 0 || l.hasSuspect(w, j) || l.retryFor(w, j) != nil)
}

// take removes a piece from what waits of a job: first what has failed elsewhere,
// then suspects, then the rest in order. There must be something.
func (l *Ledger) take(w *worker, j *job) held {
	if a := l.retryFor(w, j); a != nil {
		j.attempts.setWaiting(a, false)
		return held{span: single(a.Partition)}
	}
	if h, ok := l.takeSuspect(w, j); ok {
		return h
	}
	piece := j.fresh.spans[0]
	if size := l.size(w, j); piece.Len() > size+size/4 { // leave no scrap
		piece = jobs.Span{Lo: piece.Lo, Hi: piece.Lo + size}.Aligned()
	}
	j.fresh.remove(piece)
	return held{span: piece}
}

// retryFor returns the first failing partition that is due for a worker. The one
// it failed on last should be another, but not for ever.
func (l *Ledger) retryFor(w *worker, j *job) *attempt {
	if j.attempts.waiting == 0 || l.now < j.attempts.idle {
		return nil
	}
	next := l.now + l.cfg.RetryAtMost
	for i := range j.attempts.list {
		a := &j.attempts.list[i]
		if !a.waiting {
			continue
		}
		next = min(next, a.due)
		if l.now >= a.due && (a.avoid != w.id || l.now >= a.due+l.cfg.RetryAtMost || !l.others(w, j)) {
			return a
		}
	}
	j.attempts.idle = next
	return nil
}

// size is how many partitions a piece should have. It is guided self-scheduling
// (Polychronopoulos and Kuck, 1987): a share of what waits, so that pieces shrink
// towards the end, between the shortest that is worth a message and half a
// horizon. Before the speed is known pieces are small, so that it soon is, and no
// worker holds work for hours.
func (l *Ledger) size(w *worker, j *job) uint64 {
	share := j.waiting()/uint64(2*l.slotsFor(j)) + 1
	speed := speedOf(w.part(j))
	if speed == 0 {
		return max(1, min(share/4, atFirst))
	}
	least, most := speed*l.worthwhile().Seconds(), speed*l.horizon().Seconds()/2
	return max(1, uint64(min(max(float64(share), least), max(most, 1), jobs.MaxPartitions)))
}

// worthwhile is the least work of a slot that is worth a message.
func (l *Ledger) worthwhile() time.Duration { return max(worthwhile, l.interval()/worthwhileShare) }

// speedOf is the best guess of how many partitions per second a slot of the
// worker finishes, or 0.
func speedOf(p *part) float64 { return cmp.Or(p.pace.speed(), p.job.pace.speed()) }

// remaining guesses how many partitions of an assignment are left by now, and how
// long they take; where the speed is unknown, half a horizon.
func (l *Ledger) remaining(h *held) (partitions float64, d time.Duration) {
	partitions = float64(h.span.Len())
	speed := speedOf(h.part)
	if speed == 0 {
		return partitions, l.horizon() / 2
	}
	if h.running {
		partitions = max(1, partitions-speed*(l.now-h.worker.told).Seconds())
	}
	return partitions, duration(partitions / speed)
}

// wake nudges workers with idle slots, as many as there is work for.
func (l *Ledger) wake() {
	l.freed = false
	if l.settling || l.stopping {
		return
	}
	for _, j := range l.jobs {
		work := j.waiting()
		for _, w := range l.workers {
			if work == 0 {
				break
			}
			idle := w.slots - len(w.held)
			if idle <= 0 || !l.wouldTake(w, j) {
				continue
			}
			l.nudge(w)
			work -= min(work, uint64(idle))
		}
	}
}

// wouldTake reports whether an idle worker that reports now would be given
// something of the job. To nudge it otherwise would be in vain, again and again.
func (l *Ledger) wouldTake(w *worker, j *job) bool {
	if len(w.held) == 0 && w.foreign == 0 && (w.isolates || l.isolated < max(1, len(l.workers)/4)) && l.suspectFor(w) == j {
		return true
	}
	return !w.isolates && l.hasWork(w, j)
}
