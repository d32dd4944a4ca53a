package ledger

import "github.com/bellwether-compute/bellwether/jobs/engine"

// maxRetried is the maximum number of spans in retriedPartitions. A set with maxRetried spans takes
// about 3 kB of a manifest.
const maxRetried = 256

// retriedPartitions is the set of partitions that ran again after a failure or after the death of a
// worker, for display. If the set has too many spans, spans are rounded to multiples of a larger
// grain until enough of them join, so the set may also contain neighbours of retried partitions.
type retriedPartitions struct {
	set   spanSet
	grain uint64 // unit to which the ends of all spans are rounded, in partitions; 0 means 1
}

func (r *retriedPartitions) add(span engine.Span) {
	r.set.add(r.rounded(span))
	for len(r.set.spans) > maxRetried {
		r.grain = 2 * max(r.grain, 1)
		spans := r.set.spans
		r.set = spanSet{}
		for _, s := range spans {
			r.set.add(r.rounded(s))
		}
	}
}

func (r *retriedPartitions) rounded(s engine.Span) engine.Span {
	grain := max(r.grain, 1)
	return engine.Span{Lo: s.Lo / grain * grain, Hi: (s.Hi + grain - 1) / grain * grain}
}

// retryBegun handles an assignment that a worker was running when it died: it records the
// partitions that the worker's slot had probably begun.
func (l *Ledger) retryBegun(a *assignment) {
	begun := uint64(a.job.rate.perSecond()*(l.now-a.progressAt).Seconds()) + 1
	a.job.retried.add(engine.Span{Lo: a.span.Lo, Hi: a.span.Lo + min(begun, a.span.Len())})
}
