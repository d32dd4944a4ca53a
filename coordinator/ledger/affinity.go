package ledger

import (
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// A worker keeps what a job with rounds has loaded for its partitions. The partitions that a worker has computed in a
// round are therefore its home in the next round:
//
//	report ─▶ jobShare.ran ──round ends──▶ jobShare.home ─▶ dispatch: 1. partitions of the worker's home
//	                                                                 2. partitions of no home
//	                                                                 3. partitions of another home, if the worker is idle
//
// A home is a preference, and no result depends on it. A partition that another worker computes, because its worker is
// slow, dead or gone, is at home there in the next round. A new leader knows only what was reported to it, so its first
// full round has homes for these partitions alone; the homes are complete again one round later.

const (
	// maxHome is the maximum number of spans of a worker's home. The other partitions of a worker have no home.
	maxHome = 1000
	// awaitOwners is how long an idle worker leaves the partitions of other homes alone at the beginning of a round.
	// It is the smallest amount of work that is worth an assignment. The owners were nudged, so they usually report earlier.
	awaitOwners = minWork
)

// owners describes the homes of a round's queued partitions.
type owners struct {
	queued  spanSet       // queued fresh partitions that are at home on a worker
	awaited int           // number of workers with a home that have not reported since the round began
	until   time.Duration // time until which the awaited workers are waited for
}

// computed records partitions that a worker has computed, for the next round.
func (s *jobShare) computed(span engine.Span) {
	if !s.job.round.Rounds {
		return
	}
	if s.ran.add(span); len(s.ran.spans) > maxHome {
		s.ran.remove(span)
	}
}

// settle gives a worker its home in a round, and its speed. The parameter before is its jobShare of the round before.
func (l *Ledger) settle(s, before *jobShare) {
	s.rate, s.job.rate = before.rate.single(), before.job.rate.single()
	s.home = before.ran
	o := &s.job.queue.owners
	for _, span := range s.home.spans {
		for part := s.job.queue.fresh.first(span); !part.Empty(); part = s.job.queue.fresh.first(engine.Span{Lo: part.Hi, Hi: span.Hi}) {
			o.queued.add(part)
		}
	}
	if len(s.home.spans) > 0 {
		s.awaited = true
		o.awaited++
		o.until = l.now + awaitOwners
	}
}

// arrived records that a worker gets assignments of its jobs, or is gone. Idle workers may be waiting for it.
func (l *Ledger) arrived(w *worker) {
	for _, s := range w.shares {
		if s.awaited {
			s.awaited = false
			s.job.queue.owners.awaited--
			l.queueGrew = true
		}
	}
}

// unsettle makes the homes of a worker that is gone the homes of no worker.
func (l *Ledger) unsettle(w *worker) {
	l.arrived(w)
	for _, s := range w.shares {
		for _, span := range s.home.spans {
			s.job.queue.owners.queued.remove(span)
		}
	}
}

// own returns the first queued partitions of a worker's home.
func (s *jobShare) own() engine.Span {
	for len(s.home.spans) > 0 {
		span := s.home.spans[0]
		if part := s.job.queue.owners.queued.first(span); !part.Empty() {
			return part
		}
		s.home.remove(span)
	}
	return engine.Span{}
}

// lastOwn returns the last queued partitions of a worker's home.
func (s *jobShare) lastOwn() engine.Span {
	for len(s.home.spans) > 0 {
		span := s.home.spans[len(s.home.spans)-1]
		if part := s.job.queue.owners.queued.last(span); !part.Empty() {
			return part
		}
		s.home.remove(span)
	}
	return engine.Span{}
}

// hasFresh reports whether a job's queue has fresh partitions that a worker may run now.
func (l *Ledger) hasFresh(w *worker, j *job) bool {
	o := &j.queue.owners
	switch {
	case j.queue.fresh.size > o.queued.size:
		return true
	case o.queued.size == 0:
		return false
	}
	return w.ownsQueued(j) || w.idleSlots() > 0 && (o.awaited == 0 || l.now >= o.until)
}

// ownsQueued reports whether partitions of a worker's home are queued.
func (w *worker) ownsQueued(j *job) bool {
	if j.queue.owners.queued.size == 0 {
		return false
	}
	i, found := w.findShare(j.spec.ID)
	return found && !w.shares[i].own().Empty()
}

// homeless returns the fresh partitions that are at home on no worker.
func (q *queue) homeless() []engine.Span {
	if q.owners.queued.size == 0 {
		return q.fresh.spans
	}
	rest := spanSet{slices.Clone(q.fresh.spans), q.fresh.size}
	for _, span := range q.owners.queued.spans {
		rest.remove(span)
	}
	return rest.spans
}

// takeFresh removes the next fresh partitions of a worker from a job's queue.
func (l *Ledger) takeFresh(w *worker, j *job) engine.Span {
	s, size := w.share(j), l.pieceSize(w, j)
	subtree := j.large || l.spreads(w, j)
	var piece engine.Span
	if own := s.own(); !own.Empty() {
		piece = j.firstPiece(own, size, subtree)
	} else if gaps := j.queue.homeless(); len(gaps) > 0 {
		gap := gaps[0]
		if subtree || j.round.Rounds {
			gap = l.gapFor(w, j, gaps, size)
		}
		piece = j.firstPiece(gap, size, subtree)
	} else {
		piece = l.helpOwner(j, size)
	}
	if subtree || j.round.Rounds {
		s.next = piece.Hi
	}
	j.queue.takeFresh(piece)
	return piece
}

// takeFresh removes fresh partitions from the queue.
func (q *queue) takeFresh(span engine.Span) {
	q.fresh.remove(span)
	q.owners.queued.remove(span)
}

// firstPiece returns the first partitions of a queued span as an assignment of about the given size: two thirds to four thirds
// of it. In this range the assignment ends at the multiple of the highest power of two, so that few nodes cover it, and its
// results take few items.
func (j *job) firstPiece(gap engine.Span, size uint64, subtree bool) engine.Span {
	if subtree {
		return j.firstSubtree(gap, size)
	}
	least, most := size-size/3, size+size/3
	if gap.Len() <= most {
		return gap
	}
	return engine.Span{Lo: gap.Lo, Hi: mostAligned(gap.Lo+least, gap.Lo+most+1)}
}

// helpOwner returns the last partitions of the worker that has most of its home before it. An owner begins with the
// first ones, so the two do not meet until little is left.
func (l *Ledger) helpOwner(j *job, size uint64) engine.Span {
	var slowest *jobShare
	for _, w := range l.workers {
		if i, found := w.findShare(j.spec.ID); found {
			if s := w.shares[i]; s.home.size > 0 && !s.lastOwn().Empty() && (slowest == nil || s.home.size > slowest.home.size) {
				slowest = s
			}
		}
	}
	if slowest == nil { // cannot happen: a queued home has an owner
		return j.queue.fresh.spans[0]
	}
	piece := slowest.lastOwn()
	piece.Lo = piece.Hi - min(piece.Len(), size)
	slowest.home.remove(piece)
	return piece
}
