package ledger

import (
	"slices"
	"time"
)

// speculateAfter is how long a worker must have been at one partition, at least,
// before another tries it too.
const speculateAfter = 2 * time.Second

// relieve finds work for a worker with idle slots when none waits: the longest
// spans of all are cut in half, and where nothing can be cut, it runs partitions
// a second time that have taken too long.
func (l *Ledger) relieve(w *worker) {
	idle := w.slots - len(w.held) - w.cuts
	if idle <= 0 {
		return
	}
	for _, h := range l.longest(w, idle) {
		at := h.span.Lo
		if h.running {
			left, _ := l.remaining(h)
			at = h.span.Hi - max(1, uint64(left/2))
		}
		h.shorten(at, w)
		if h.worker != w { // which is being told
			l.nudge(h.worker)
		}
		idle--
	}
	for ; idle > 0; idle-- {
		h := l.straggler(w)
		if h == nil {
			return
		}
		l.note(h.job.spec.ID, w.id, "Partition %d is late on worker %s and runs here too", h.span.Lo, h.worker.id)
		l.give(w, h.job, held{span: h.span, deaths: h.deaths, twin: h})
	}
}

// longest returns the assignments, at most n, that will take longest and can be
// cut for a worker.
func (l *Ledger) longest(w *worker, n int) []*held {
	type candidate struct {
		held *held
		left time.Duration
	}
	var found []candidate
	for _, j := range l.jobs {
		if len(found) > 0 && j.spec.Priority < found[0].held.job.spec.Priority {
			break // those jobs wait until the more urgent ones need no help
		}
		if !l.can(w, j) {
			continue
		}
		for h := range j.held.backward() { // late ones are likely not begun
			switch {
			case h.cut != nil || !h.seen || h.twin != nil || h.alone || h.moot:
				continue
			case h.running && h.span.Len() < 2:
				continue
			case !h.running && h.worker == w:
				continue // it has a slot for it
			}
			_, left := l.remaining(h)
			if left <= l.worthwhile() || len(found) == n && left <= found[n-1].left {
				continue
			}
			c := candidate{h, left}
			i, _ := slices.BinarySearchFunc(found, c, func(a, b candidate) int {
				if a.left >= b.left {
					return -1
				}
				return 1
			})
			found = slices.Insert(found, i, c)
			found = found[:min(n, len(found))]
		}
	}
	list := make([]*held, len(found))
	for i, c := range found {
		list[i] = c.held
	}
	return list
}

// straggler returns an assignment of one partition that has taken far longer
// than others of its job.
func (l *Ledger) straggler(w *worker) *held {
	for _, j := range l.jobs {
		speed := j.pace.speed()
		if speed == 0 || !l.can(w, j) {
			continue
		}
		late := max(speculateAfter, 3*duration(1/speed))
		for h := range j.held.all() {
			switch {
			case h.worker == w || !h.running || h.span.Len() != 1 || h.twin != nil || h.deaths > 0:
			case l.now-h.moved > late && j.forest.anyMissing(h.span):
				return h
			}
		}
	}
	return nil
}
