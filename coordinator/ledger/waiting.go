package ledger

import "github.com/bellwether-compute/bellwether/jobs"

// waiting is the number of partitions that wait to be assigned.
func (j *job) waiting() uint64 {
	return j.fresh.size + uint64(j.attempts.waiting) + j.suspects.size
}

// plan makes partitions that nobody holds any more wait to be assigned, except
// those that are finished. What workers died on is suspect. What failed is tried
// again by itself, and after a while: an error just reported is no death.
func (l *Ledger) plan(j *job, span jobs.Span, deaths int) {
	if j.ending {
		return
	}
	for _, gap := range j.forest.missing(span) {
		l.freed = true
		lo := gap.Lo
		failed := j.attempts.in(gap)
		for i := range failed {
			if a := &failed[i]; deaths == 0 || a.due > l.now {
				j.planRest(jobs.Span{Lo: lo, Hi: a.Partition}, deaths)
				j.attempts.setWaiting(a, true)
				lo = a.Partition + 1
			}
		}
		j.planRest(jobs.Span{Lo: lo, Hi: gap.Hi}, deaths)
	}
}

func (j *job) planRest(span jobs.Span, deaths int) {
	switch {
	case span.Empty():
	case deaths > 0:
		j.suspects.add(span, deaths)
	default:
		j.fresh.add(span)
	}
}

// unplan takes partitions from those that wait, and returns the most deaths that
// any of them stood for.
func (j *job) unplan(span jobs.Span) (deaths int) {
	j.fresh.remove(span)
	failed := j.attempts.in(span)
	for i := range failed {
		j.attempts.setWaiting(&failed[i], false)
	}
	return j.suspects.remove(span)
}

// claimable returns the longest beginning of a span that is finished or waits,
// without finished partitions at its end. It looks no further than that: a report
// may claim thousands of spans.
func (j *job) claimable(span jobs.Span) jobs.Span {
	end := span.Lo
	j.forest.eachMissing(span, func(gap jobs.Span) bool {
		reached := j.waitsFrom(gap)
		if reached > gap.Lo {
			end = reached
		}
		return reached == gap.Hi
	})
	return jobs.Span{Lo: span.Lo, Hi: end}
}

// waitsFrom returns the end of the longest beginning of a span that waits.
func (j *job) waitsFrom(span jobs.Span) uint64 {
	for rest := span; ; {
		at := max(j.fresh.prefix(rest).Hi, j.suspects.prefix(rest).Hi)
		if at == rest.Lo && !rest.Empty() && j.attempts.waits(at) {
			at++
		}
		if at == rest.Lo {
			return at
		}
		rest.Lo = at
	}
}
