package ledger

import (
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// This file counts for how long the partitions of jobs have occupied slots. Workers measure the time and report it with
// their items, so that each item counts once, whoever leads. The ledger estimates only the time that no worker reports:
// that of attempts whose worker has died, and of attempts that run when their job ends.

// spend counts the time of an item of a worker's report, after which the job has the given number of partitions more.
func (j *job) spend(item Item, added uint64) {
	took := item.Took.Seconds()
	j.cost.SlotSeconds += took
	if item.Partial != nil {
		if all := j.tree.Span(item.Partial.Node).Len(); added < all {
			j.cost.LostSeconds += took * float64(all-added) / float64(all)
		}
	}
	if item.Failure != nil {
		j.loseTime(item.Failure.Took.Seconds())
	}
}

// loseTime counts time whose work is lost.
func (j *job) loseTime(seconds float64) {
	j.cost.SlotSeconds += seconds
	j.cost.LostSeconds += seconds
}

// unreported estimates for how many seconds a slot has run an assignment without a report of results.
func (l *Ledger) unreported(a *assignment) float64 {
	if a.call != nil || a.state != stateRunning {
		return 0
	}
	return a.slotSeconds + (l.now - a.worker.spansReportedAt).Seconds()
}

// loseUnreported counts the time of the attempts that run when their job ends.
func (l *Ledger) loseUnreported(j *job) {
	for a := range j.assignments.all() {
		j.loseTime(l.unreported(a))
	}
}

// recompute moves the time of finished partitions whose only partial was lost to the time that is lost.
func (j *job) recompute(partitions uint64) {
	seconds := float64(partitions) * j.partitionTime().Seconds()
	j.cost.LostSeconds = min(j.cost.SlotSeconds, j.cost.LostSeconds+seconds)
}

// costNow returns the cost of a job for a checkpoint. If the leader dies, its own slots lose what they have not reported,
// and also what they do until then: on average for half of the time between two checkpoints.
func (l *Ledger) costNow(j *job) store.Cost {
	c := j.cost
	for a := range j.assignments.all() {
		if a.worker.id == l.cfg.Self && a.call == nil && a.state == stateRunning && !l.stopping {
			c.LeaderSeconds += l.unreported(a) + l.cfg.CheckpointEvery.Seconds()/2
		}
	}
	return c
}

// resumeCost restores the cost of a manifest.
func (j *job) resumeCost(c store.Cost, leaderDied bool) {
	j.cost = c
	j.cost.LeaderSeconds = 0
	if leaderDied {
		j.loseTime(c.LeaderSeconds)
	}
}
