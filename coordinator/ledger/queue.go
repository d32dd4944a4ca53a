package ledger

import "github.com/bellwether-compute/bellwether/jobs/engine"

// queue contains the partitions of a job that are neither finished nor assigned. Each partition in
// the queue is fresh, failed or a crash suspect.
type queue struct {
	fresh    spanSet
	failed   failedPartitions // failed partitions, both queued and assigned: see failedPartition.queued
	suspects crashSuspects
	owners   owners
}

// size returns the number of queued partitions.
func (q *queue) size() uint64 {
	return q.fresh.size + uint64(q.failed.retries.len) + q.suspects.size
}

// enqueue queues the unfinished partitions of a span that no worker holds any more. The parameter
// deaths is the number of workers that died while the span was assigned to them. A partition that
// is in its backoff is retried alone and does not become a crash suspect, even if deaths is above
// 0.
func (l *Ledger) enqueue(j *job, span engine.Span, deaths int) {
	if j.ending() {
		return
	}
	for _, gap := range j.forest.missing(j.clip(span)) {
		l.queueGrew = true
		lo := gap.Lo
		for f := range j.queue.failed.in(gap) {
			if deaths == 0 || f.due > l.now {
				j.queue.add(engine.Span{Lo: lo, Hi: f.partition}, deaths)
				j.queue.failed.setQueued(f, true)
				lo = f.partition + 1
			}
		}
		j.queue.add(engine.Span{Lo: lo, Hi: gap.Hi}, deaths)
	}
}

// add queues a span as a crash suspect, or as fresh partitions if deaths is 0.
func (q *queue) add(span engine.Span, deaths int) {
	switch {
	case span.Empty():
	case deaths > 0:
		q.suspects.add(span, deaths)
	default:
		q.fresh.add(span)
	}
}

// remove removes the partitions of a span from the queue, and returns the highest
// number of deaths among them.
func (q *queue) remove(span engine.Span) (deaths int) {
	q.takeFresh(span)
	for f := range q.failed.in(span) {
		q.failed.setQueued(f, false)
	}
	return q.suspects.remove(span)
}

// claimable returns the longest prefix of a span whose partitions are all finished or queued, up to
// the last queued partition. It stops at the first assigned partition, because one report may
// contain thousands of overlapping spans.
func (j *job) claimable(span engine.Span) engine.Span {
	end := span.Lo
	span = j.clip(span)
	j.forest.eachMissing(span, func(gap engine.Span) bool {
		hi := j.queue.prefixEnd(gap)
		if hi > gap.Lo {
			end = hi
		}
		return hi == gap.Hi
	})
	return engine.Span{Lo: span.Lo, Hi: end}
}

// prefixEnd returns the end of the longest queued prefix of a span.
func (q *queue) prefixEnd(span engine.Span) uint64 {
	for rest := span; ; {
		at := max(q.fresh.prefix(rest).Hi, q.suspects.prefix(rest).Hi)
		if at == rest.Lo && !rest.Empty() && q.failed.isQueued(at) {
			at++
		}
		if at == rest.Lo {
			return at
		}
		rest.Lo = at
	}
}
