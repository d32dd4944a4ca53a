package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// reconcile compares what a worker says it holds with what it was given. A span
// that it holds no more was finished, given back or lost.
func (l *Ledger) reconcile(w *worker, spans []wire.HeldSpan) {
	said := make(map[wire.SpanID]wire.HeldSpan, len(spans))
	for _, s := range spans {
		said[s.ID] = s
	}
	var work []progress
	for _, h := range slices.Clone(w.held) {
		if !h.told {
			continue
		}
		s, holds := said[h.id]
		delete(said, h.id)
		if !holds {
			s.Span = jobs.Span{Lo: h.span.Hi, Hi: h.span.Hi}
		}
		ran := h.running || s.Running
		done := l.move(h, s.Span)
		if ran || done > 0 {
			work = append(work, progress{h, done})
		}
		if s.Running && !h.running {
			h.moved = l.now
		}
		h.running, h.seen = s.Running, true
		if h.cut != nil && h.cut.told {
			h.endCut() // this is the answer to it
		}
		switch {
		case h.span.Empty():
			l.release(h)
		case h.job.ending: // the worker is told once the end is durable
		case !h.moot && !h.job.forest.anyMissing(h.span):
			h.moot = true
			h.shorten(0, nil)
		}
	}
	l.learn(w, work)
	w.foreign = 0
	for _, s := range spans { // in the order in which the worker will run them
		if _, unknown := said[s.ID]; unknown {
			l.adopt(w, s)
		}
	}
}

// move brings an assignment to where the worker says it is, and returns how many
// partitions that finished. What the worker passed or gave back without finishing
// it is planned anew.
func (l *Ledger) move(h *held, said jobs.Span) (finished uint64) {
	was := h.span
	h.span.Lo = max(was.Lo, min(said.Lo, was.Hi))
	h.span.Hi = max(h.span.Lo, min(said.Hi, was.Hi))
	if h.span.Hi < was.Hi {
		l.giveBack(h, jobs.Span{Lo: h.span.Hi, Hi: was.Hi})
	}
	if h.span.Lo == was.Lo {
		return 0
	}
	h.moved = l.now
	passed := jobs.Span{Lo: was.Lo, Hi: h.span.Lo}
	finished = passed.Len()
	for _, gap := range h.job.forest.missing(passed) {
		finished -= gap.Len()
	}
	l.giveBack(h, passed)
	return finished
}

// progress is how many partitions of an assignment a slot has finished.
type progress struct {
	held *held
	done uint64
}

// learn takes a worker's progress since it last spoke into its paces. Where it
// ran more spans than it has slots, one after the other, each counts for a part
// of the time. The time of a partition under way counts once it is finished: what
// hangs must not make hanging seem normal.
func (l *Ledger) learn(w *worker, work []progress) {
	elapsed := (l.now - w.told).Seconds()
	w.told = l.now
	if len(work) == 0 || elapsed <= 0 {
		return
	}
	busy := elapsed * float64(min(len(work), w.slots)) / float64(len(work))
	for _, p := range work {
		h := p.held
		h.busy += busy
		if p.done > 0 {
			h.pace.add(float64(p.done), h.busy)
			h.job.pace.add(float64(p.done), h.busy)
			h.busy = 0
		}
	}
}

// adopt lets a worker keep a span that this leader did not give it, as far as
// nobody else has it: an earlier leader did, or the worker was thought dead.
func (l *Ledger) adopt(w *worker, s wire.HeldSpan) {
	j := l.byID[s.Job]
	if j == nil {
		w.foreign++
		l.spokenOf(w, s.Job, 0)
		return
	}
	p := w.part(j)
	p.opened = true
	if j.ending {
		return // it will be told once the end is durable
	}
	mine := j.claimable(s.Span)
	if j.held.find(s.ID) != nil || s.ID.Epoch > l.cfg.Epoch || s.ID.Epoch == l.cfg.Epoch && s.ID.Number > l.lastSpan {
		mine.Hi = mine.Lo // no leader has given it that
	}
	if mine.Hi < s.Span.Hi {
		// Its present partition may be under way. That one comes twice.
		w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: s.ID, Hi: mine.Hi})
	}
	if mine.Empty() {
		return
	}
	deaths := j.unplan(mine)
	l.hold(&held{part: p, id: s.ID, span: mine, running: s.Running, told: true, seen: true, moved: l.now, deaths: deaths})
}
