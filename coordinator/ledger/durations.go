package ledger

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// delivery describes items that a slot has delivered together: consecutive partitions, with the time on the first
// item.
type delivery struct {
	span engine.Span
	took time.Duration
}

// measure adds an item to the delivery of the item before. If the item begins another delivery, measure counts the
// durations of the earlier one. The results of calls have no time and are not counted.
func (j *job) measure(d delivery, worker string, item Item) delivery {
	var span engine.Span
	switch {
	case item.Held != nil:
		span = j.tree.Span(*item.Held)
	case item.Partial != nil:
		span = j.tree.Span(item.Partial.Node)
	}
	if item.Took == 0 && !span.Empty() && span.Lo == d.span.Hi {
		d.span.Hi = span.Hi
		return d
	}
	j.durations.Add(d.span, d.took, worker)
	return delivery{span, item.Took}
}
