package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// A broken process may be benched when mayBench partitions have failed on it and then run on others.
	// It must be benched after mustBench partitions: the leader may not count all of them, because reports
	// arrive in another order than the items were delivered.
	mayBench, mustBench = 5, 8
	// benchedWithin is the time within which a leader must know of these partitions.
	benchedWithin = 2 * time.Second
	// benchedFor is the time for which a benched process gets no partitions.
	benchedFor = 10 * time.Second
)

// benchChecks observes the process on which all partitions fail.
type benchChecks struct {
	failed map[partitionOf]bool // partitions that failed on the process under the current leader and have run nowhere since
	ran    int                  // number of partitions that failed on the process and then ran on others
	epoch  uint64               // epoch of the leader
	from   time.Duration        // time from which the process must be benched
	until  time.Duration        // time at which the process may get a partition again
}

// deliveredOrFailed is called when a slot has passed items to its worker's session.
func (c *checks) deliveredOrFailed(p *process, j *job, items []wire.Item) {
	b := &c.benched
	if epoch := p.worker.session.Epoch(); p.broken && b.epoch != epoch { // a new leader knows nothing of the failures
		*b = benchChecks{failed: map[partitionOf]bool{}, epoch: epoch}
	}
	for _, i := range items {
		switch {
		case p.broken && i.Failure != nil:
			b.failed[partitionOf{j.spec.ID, i.Failure.Partition}] = true
		case !p.broken && i.Partial != nil && i.Partial.MergedFor == 0:
			b.ranElsewhere(j, j.tree.Span(i.Partial.Node), c.sim.now)
		}
	}
}

func (b *benchChecks) ranElsewhere(j *job, span engine.Span, now time.Duration) {
	for p := span.Lo; p < span.Hi; p++ {
		if at := (partitionOf{j.spec.ID, p}); b.failed[at] {
			delete(b.failed, at)
			switch b.ran++; b.ran {
			case mayBench:
				b.until = now + benchedFor
			case mustBench:
				b.from = now + benchedWithin
			}
		}
	}
}

// assignsBroken is called when a leader assigns work to a worker. A worker that must be benched gets no
// partition.
func (c *checks) assignsBroken(worker *process, epoch uint64, a wire.Assignment) {
	b := &c.benched
	if benched := b.ran >= mustBench && b.from <= c.sim.now && c.sim.now < b.until; worker.broken && b.epoch == epoch && a.Call == nil && benched {
		c.sim.fail("%s gets %v of job %s, although %d partitions have failed only on this worker", worker.name, a.Span, a.Job, b.ran)
	}
}
