package ledger

import (
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// held is an assignment: a span that a worker is to run, or what is left of it.
type held struct {
	*part
	id      wire.SpanID
	span    jobs.Span // Lo is the first partition not reported
	running bool
	moved   time.Duration // when it last began or got on
	busy    float64       // slot-seconds spent on it since it got on

	told bool   // the worker knows of it
	seen bool   // and has said how far it is
	save uint64 // the checkpoint that must be durable before the worker may know; 0 for none

	deaths int   // how many workers have died on it
	alone  bool  // it runs with nothing beside it
	twin   *held // the same partition, run by another worker as well; nil if there is none
	cut    *cut  // it is to end early; nil if it is not
	moot   bool  // it is to end because all of it is done elsewhere
	struck bool  // it was released
}

// cut is an order to end a span early. What the worker then says is final: where
// it was further than thought, it keeps what it has begun.
type cut struct {
	at   uint64
	on   *worker // on whose behalf, or nil
	told bool
}

// give makes a new assignment. The receipt will tell the worker.
func (l *Ledger) give(w *worker, j *job, h held) {
	l.lastSpan++
	h.part = w.part(j)
	h.id = wire.SpanID{Epoch: l.cfg.Epoch, Number: l.lastSpan}
	h.moved = l.now
	if j.wary && w.id == l.cfg.Self {
		h.save = l.mustSave(j)
	}
	l.hold(&h)
	if h.twin != nil {
		h.twin.twin = &h
	}
}

// hold enters an assignment into the books.
func (l *Ledger) hold(h *held) {
	h.worker.held = append(h.worker.held, h)
	h.job.held.add(h)
	h.job.contributor(h.worker.id) // a new leader must wait for whoever holds something
	h.job.dirty = true
}

// release strikes an assignment from the books. Its partitions are the caller's
// to plan.
func (l *Ledger) release(h *held) {
	h.endCut()
	if h.twin != nil {
		h.twin.twin, h.twin = nil, nil
	}
	i := slices.Index(h.worker.held, h)
	h.worker.held = slices.Delete(h.worker.held, i, i+1)
	h.job.held.remove(h)
	h.job.dirty = true
}

// takeBack ends an assignment of a worker that is gone.
func (l *Ledger) takeBack(h *held, died bool) {
	j, deaths, twin := h.job, h.deaths, h.twin
	if died {
		deaths = h.deathsAfterOne()
	}
	if twin != nil {
		twin.deaths = max(twin.deaths, min(deaths, isolateAfter)) // it goes on
	}
	l.release(h)
	switch {
	case twin != nil || j.ending:
	case h.alone && blamed(j, deaths) && j.forest.anyMissing(h.span):
		l.giveUp(j, h.span.Lo, killing(h.span.Lo, deaths, h.worker.id))
	default:
		l.plan(j, h.span, deaths)
	}
}

// giveBack plans anew partitions that a worker holds no more, unless another
// runs them too.
func (l *Ledger) giveBack(h *held, span jobs.Span) {
	if h.twin == nil {
		l.plan(h.job, span, h.deaths)
	}
}

// shorten has a span end early. The rest of it becomes free when the worker's
// next report says so.
func (h *held) shorten(at uint64, on *worker) {
	if h.cut != nil {
		return
	}
	h.cut = &cut{at: at, on: on}
	if on != nil {
		on.cuts++
	}
}

func (h *held) endCut() {
	if h.cut != nil && h.cut.on != nil {
		h.cut.on.cuts--
	}
	h.cut = nil
}
