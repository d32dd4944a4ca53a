package ledger

import "github.com/bellwether-compute/bellwether/jobs"

// maxRetried bounds the spans of retriedPartitions, which take about 3 kB of a manifest.
const maxRetried = 256

// retriedPartitions is a set of partitions that ran again after a failure or a death, for
// display. If it has too many spans, they are rounded outwards, so that the set has
// neighbours of retried partitions too.
type retriedPartitions struct {
	set   spanSet
	grain uint64 // spans begin and end at multiples of it; 0 means 1
}

func (r *retriedPartitions) add(span jobs.Span) {
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

func (r *retriedPartitions) rounded(s jobs.Span) jobs.Span {
	grain := max(r.grain, 1)
	return jobs.Span{Lo: s.Lo / grain * grain, Hi: (s.Hi + grain - 1) / grain * grain}
}

// retryBegun records the partitions of a dead worker's running assignment that its slot had
// probably begun.
func (l *Ledger) retryBegun(a *assignment) {
	begun := uint64(a.job.rate.perSecond()*(l.now-a.progressAt).Seconds()) + 1
	a.job.retried.add(jobs.Span{Lo: a.span.Lo, Hi: a.span.Lo + min(begun, a.span.Len())})
}
