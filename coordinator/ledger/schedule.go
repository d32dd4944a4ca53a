package ledger

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// spansPerSlot is how many spans of one job a slot is given at least, while
	// there are any: one to run and one to go on with.
	spansPerSlot = 2
	// maxSpansPerSlot bounds them where spans turn out short.
	maxSpansPerSlot = 16
	// shortest is the least work that is worth a message.
	shortest = 20 * time.Millisecond
	// splitSuspect is into how many pieces a suspect is cut each time it is given
	// out: the one that kills is found after a logarithmic number of deaths.
	splitSuspect = 8
	// isolateAfter is the number of deaths after which a single partition is run
	// with nothing beside it, so that it alone can be to blame.
	isolateAfter = 2
	// killsToBlame is how many workers a partition must kill alone, where the
	// job's limit of attempts is not lower.
	killsToBlame = 3
	// speculateAfter is how long a worker must have been at one partition, at
	// least, before another tries it too.
	speculateAfter = 2 * time.Second
)

// fill gives a worker what it should have of each job.
func (l *Ledger) fill(w *worker) {
	if l.settling || l.stopping || w.draining {
		return
	}
	l.appointQuarantine()
	if w == l.quarantine {
		l.isolate(w)
		return
	}
	for _, j := range l.fairly() {
		if j.ending || !w.knows(j) || l.now < w.cannot[j.spec.ID] {
			continue
		}
		for l.wants(w, j) {
			h := l.take(w, j)
			if h == nil {
				break
			}
			l.give(w, h)
		}
	}
	if len(w.held) < w.slots {
		l.relieve(w)
	}
}

// fairly orders the jobs: by priority, and within one those first that have the
// fewest spans out.
func (l *Ledger) fairly() []*job {
	list := slices.Clone(l.jobs)
	slices.SortStableFunc(list, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.spec.Priority, a.spec.Priority), cmp.Compare(len(a.held), len(b.held)))
	})
	return list
}

// wants reports whether a worker should have more of a job: until every slot has
// enough to outlast the horizon. Workers share their slots among jobs themselves.
func (l *Ledger) wants(w *worker, j *job) bool {
	spans, ahead := 0, time.Duration(0)
	for _, h := range w.held {
		if h.job == j {
			spans++
			ahead += l.remaining(h)
		}
	}
	return spans < spansPerSlot*w.slots ||
		spans < maxSpansPerSlot*w.slots && ahead < l.cfg.Horizon*time.Duration(w.slots)
}

// speed is the best guess of how many partitions per second a slot of the worker
// finishes, or 0.
func (j *job) speedOf(w *worker) float64 { return cmp.Or(w.speed[j.spec.ID], j.speed) }

// remaining guesses the time that the rest of an assignment takes; where the
// speed is unknown, half a horizon.
func (l *Ledger) remaining(h *held) time.Duration {
	speed := h.job.speedOf(h.worker)
	if speed == 0 {
		return l.cfg.Horizon / 2
	}
	return seconds(float64(h.span.Len()) / speed)
}

// seconds is a duration, at most a year.
func seconds(s float64) time.Duration {
	const year = 365 * 24 * 3600
	return time.Duration(min(s, year) * float64(time.Second))
}

// take removes a piece from the partitions of a job that wait, for the worker:
// first what failed elsewhere, then suspects, then the rest in order.
func (l *Ledger) take(w *worker, j *job) *held {
	for i, r := range j.retries {
		if l.now < r.due || r.avoid == w.id && l.now < r.due+l.cfg.RetryAtMost && l.others(w, j) {
			continue
		}
		j.retries = slices.Delete(j.retries, i, i+1)
		return &held{job: j, worker: w, span: jobs.Span{Lo: r.partition, Hi: r.partition + 1}}
	}
	for i, s := range j.suspects {
		if s.isolated() || w.id == l.cfg.Self && l.others(w, j) {
			continue
		}
		size := min(max(1, s.span.Len()/splitSuspect), l.size(w, j))
		piece := jobs.Span{Lo: s.span.Lo, Hi: s.span.Lo + size}
		deaths := s.deaths
		if size == 1 {
			deaths = min(deaths, isolateAfter) // what follows is counted for it alone
		}
		j.suspects[i].span.Lo = piece.Hi
		if j.suspects[i].span.Empty() {
			j.suspects = slices.Delete(j.suspects, i, i+1)
		}
		if size == 1 && deaths >= isolateAfter {
			j.suspect(suspect{piece, deaths}) // to be isolated
			return l.take(w, j)
		}
		return &held{job: j, worker: w, span: piece, deaths: deaths}
	}
	if len(j.fresh) == 0 {
		return nil
	}
	piece := j.fresh[0]
	if size := l.size(w, j); size < piece.Len() {
		piece.Hi = align(piece.Lo, size)
	}
	j.fresh.remove(piece)
	return &held{job: j, worker: w, span: piece}
}

// others reports whether some other worker can be given the job's partitions.
func (l *Ledger) others(w *worker, j *job) bool {
	return slices.ContainsFunc(l.workers, func(o *worker) bool {
		return o != w && !o.draining && o.knows(j) && l.now >= o.cannot[j.spec.ID]
	})
}

// size is how many partitions a piece should have. It is guided self-scheduling:
// a share of what is left, so that pieces shrink towards the end, between the
// shortest that is worth a message and half a horizon. Before the speed is known
// pieces are smaller, so that it soon is.
func (l *Ledger) size(w *worker, j *job) uint64 {
	share := j.unassigned()/uint64(2*max(1, l.slots())) + 1
	speed := j.speedOf(w)
	if speed == 0 {
		return max(1, share/4)
	}
	least, most := speed*shortest.Seconds(), speed*l.cfg.Horizon.Seconds()/2
	return max(1, uint64(min(max(float64(share), least), max(most, 1))))
}

// align returns an end for a piece of about that size, such that few nodes cover
// it: a multiple of a power of two near an eighth of the size.
func align(lo, size uint64) uint64 {
	hi := lo + size
	if step := uint64(1) << max(0, bits.Len64(size)-4); hi&^(step-1) > lo {
		return hi &^ (step - 1)
	}
	return hi
}

// give enters a new assignment into the books. The receipt will tell the worker.
func (l *Ledger) give(w *worker, h *held) {
	l.lastSpan++
	h.id = wire.SpanID{Epoch: l.cfg.Epoch, Number: l.lastSpan}
	h.moved = l.now
	l.hold(h)
}

// assign tells the worker of an assignment, and of its job if that is new to it.
func (l *Ledger) assign(w *worker, h *held) {
	h.told = true
	if _, opened := w.opened[h.job.spec.ID]; !opened {
		w.opened[h.job.spec.ID] = 0
		w.receipt.Opens = append(w.receipt.Opens, h.job.opening)
	}
	w.receipt.Assigned = append(w.receipt.Assigned, wire.Assignment{ID: h.id, Job: h.job.spec.ID, Span: h.span})
}

// relieve finds work for a worker with idle slots when none waits: it has the
// longest span of all cut in half, or, where nothing can be cut, runs a partition
// a second time that has taken too long.
func (l *Ledger) relieve(w *worker) {
	idle := w.slots - len(w.held) - w.cuts
	for ; idle > 0; idle-- {
		if h := l.longest(w); h != nil {
			at := h.span.Lo
			if h.running {
				at += (h.span.Len() + 1) / 2
			}
			l.cut(h, w, at)
			continue
		}
		h := l.straggler(w)
		if h == nil {
			return
		}
		h.copied = true
		l.note(h.job.spec.ID, w.id, "partition %d is late on worker %s and runs here too", h.span.Lo, h.worker.id)
		l.give(w, &held{job: h.job, worker: w, span: h.span, deaths: h.deaths, copied: true, copy: true})
	}
}

// longest returns the assignment that will take longest and can be cut.
func (l *Ledger) longest(w *worker) *held {
	var found *held
	var longest time.Duration
	for _, j := range l.jobs {
		if j.ending || !w.knows(j) || l.now < w.cannot[j.spec.ID] {
			continue
		}
		for _, h := range j.held {
			if h.cutFor != nil || !h.told || h.copied || h.deaths >= isolateAfter || h.running && h.span.Len() < 2 {
				continue
			}
			if !h.running && h.worker == w {
				continue // it has the slot for it already
			}
			if d := l.remaining(h); d > longest && d > shortest {
				found, longest = h, d
			}
		}
		if found != nil {
			return found // a lower priority waits
		}
	}
	return nil
}

// straggler returns an assignment of one partition that has taken far longer
// than others of its job.
func (l *Ledger) straggler(w *worker) *held {
	for _, j := range l.jobs {
		if j.ending || j.speed == 0 || !w.knows(j) || l.now < w.cannot[j.spec.ID] {
			continue
		}
		late := max(speculateAfter, 3*seconds(1/j.speed))
		for _, h := range j.held {
			if h.worker != w && h.running && h.span.Len() == 1 && !h.copied && h.deaths == 0 && l.now-h.moved > late {
				return h
			}
		}
	}
	return nil
}

// wake nudges workers with idle slots, as many as there is work for.
func (l *Ledger) wake() {
	if l.settling || l.stopping {
		return
	}
	for _, j := range l.jobs {
		work := uint64(0)
		if !j.ending {
			work = j.fresh.count() + uint64(len(j.suspects))
			for _, r := range j.retries {
				if l.now >= r.due {
					work++
				}
			}
		}
		for _, w := range l.workers {
			if work == 0 {
				break
			}
			if idle := w.slots - len(w.held); idle > 0 && !w.draining && w.knows(j) && l.now >= w.cannot[j.spec.ID] {
				l.nudge(w)
				work -= min(work, uint64(idle))
			}
		}
	}
}

// nudge asks a worker to report now, unless it has been asked already.
func (l *Ledger) nudge(w *worker) {
	if !w.nudged {
		w.nudged = true
		l.do(Nudge{w.id})
	}
}

// isolated reports whether the suspect is a single partition that must run with
// nothing beside it.
func (s suspect) isolated() bool { return s.span.Len() == 1 && s.deaths >= isolateAfter }

// appointQuarantine chooses the worker that runs isolated suspects, while there
// are any. It is not the leader's own, if there is another.
func (l *Ledger) appointQuarantine() {
	needed := func(w *worker) bool {
		for _, j := range l.jobs {
			if !j.ending && w.knows(j) && (slices.ContainsFunc(j.suspects, suspect.isolated) ||
				slices.ContainsFunc(w.held, func(h *held) bool { return h.deaths >= isolateAfter && h.span.Len() == 1 })) {
				return true
			}
		}
		return false
	}
	if l.quarantine != nil && !l.quarantine.draining && needed(l.quarantine) {
		return
	}
	l.quarantine = nil
	for _, w := range l.workers {
		if !w.draining && needed(w) && (l.quarantine == nil || l.quarantine.id == l.cfg.Self) {
			l.quarantine = w
		}
	}
}

// isolate gives the quarantine worker the next suspect once it holds nothing.
func (l *Ledger) isolate(w *worker) {
	if len(w.held) > 0 {
		return
	}
	for _, j := range l.jobs {
		for i, s := range j.suspects {
			if s.isolated() && w.knows(j) && !j.ending {
				j.suspects = slices.Delete(j.suspects, i, i+1)
				l.note(j.spec.ID, w.id, "partition %d runs alone: %d workers died on it", s.span.Lo, s.deaths)
				l.give(w, &held{job: j, worker: w, span: s.span, deaths: s.deaths})
				return
			}
		}
	}
}

func blame(h *held, deaths int) string {
	return fmt.Sprintf("partition %d kills its worker: %d died while they ran it, last %s", h.span.Lo, deaths, h.worker.id)
}
