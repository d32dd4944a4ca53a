package sim

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// mayBeBlamed reports whether the leader may skip a partition or fail the job for it: the scenario makes the
// partition fail or kill its process, or many workers died while it was assigned to them, more often than
// other workers.
func (c *checks) mayBeBlamed(j *job, partition uint64) bool {
	return partition == j.broken || partition == j.permanent || partition == j.sours || partition == j.killer ||
		c.deaths[partitionOf{j.spec.ID, partition}] >= min(j.spec.MaxAttempts, 3) && c.diesOften(partitionOf{j.spec.ID, partition})
}

// mayFail reports whether the leader may end a job as failed because of any partition.
func (c *checks) mayFail(j *job) bool {
	for partition := range j.partitions {
		if c.mayBeBlamed(j, partition) {
			return true
		}
	}
	return false
}

// callMayFail reports whether the leader may fail a job because of a call: the function that the error names
// misbehaves, or workers died while a call of it was assigned to them.
func (c *checks) callMayFail(j *job, reason string) bool {
	for _, f := range []wire.Function{wire.Plan, wire.Merge, wire.Finish, wire.Estimate} {
		if strings.HasPrefix(reason, f.String()+" ") {
			return f == j.rogue.function || strings.Contains(reason, "kills its worker") && c.callsDied[callOf{j.spec.ID, f}] > 1
		}
	}
	return false
}

// announced is called when a leader announces that a job has ended. Storage must contain the end.
func (c *checks) announced(by *process, id string) {
	if by.storage == c.sim.storage && !c.sim.job(id).removing && !c.manifest(id).State.Final() {
		c.sim.fail("%s announced the end of job %s, which is not in storage", by.name, id)
	}
}

// ended is called at the end of the simulation. Every submitted job must have ended as expected.
func (c *checks) ended() {
	for _, j := range c.sim.list {
		if !j.removing {
			c.endedWell(j)
			continue
		}
		if key := c.sim.storage.remainder(j.spec.ID); key != "" {
			c.sim.fail("%s is in storage of job %s, which was removed", key, j.spec.ID)
		}
	}
	for _, key := range c.sim.storage.keys("poison/") {
		c.sim.fail("%s is in storage", key)
	}
}

func (c *checks) endedWell(j *job) {
	m := c.manifest(j.spec.ID)
	if err := c.endsAtStop(j, m); err != nil {
		c.sim.fail("job %s: %v", j.spec.ID, err)
	}
	switch {
	case m.State == store.Cancelled && !j.cancelAsked:
		c.sim.fail("job %s is cancelled, though nobody cancelled it", j.spec.ID)
	case m.State != store.Cancelled && j.cancelled:
		c.sim.fail("job %s is %s, though it was said to be cancelled", j.spec.ID, m.State)
	case m.State == store.Failed && strings.HasPrefix(m.Error, "Open ") && j.openFailures >= j.spec.MaxAttempts:
	case m.State == store.Completed && j.mustFail(m):
		c.sim.fail("job %s completed, though %v always misbehaves", j.spec.ID, j.rogue.function)
	case j.rogue.kills > mostKills+len(c.terms) && c.sim.scenario.calm: // a leader may die before it records the last death
		c.sim.fail("%v of job %s killed %d processes in %d terms", j.rogue.function, j.spec.ID, j.rogue.kills, len(c.terms))
	case m.State == store.Failed && c.callMayFail(j, m.Error):
	case m.State == store.Failed && !c.mayFail(j):
		c.sim.fail("job %s failed: %s", j.spec.ID, m.Error)
	case m.State == store.Completed:
		c.completedWell(j, m)
	}
}

func (c *checks) completedWell(j *job, m store.Manifest) {
	if uint64(len(m.Skipped)) > j.spec.MaxSkipped {
		c.sim.fail("job %s skipped %d partitions, %d are allowed", j.spec.ID, len(m.Skipped), j.spec.MaxSkipped)
	}
	for _, p := range m.Skipped {
		if !c.mayBeBlamed(j, p) {
			c.sim.fail("job %s skipped partition %d, which does no harm", j.spec.ID, p)
		}
	}
	reasons := 0
	for _, r := range m.SkipReasons {
		if _, skipped := slices.BinarySearch(m.Skipped, r.Partition); skipped && r.Text != "" {
			reasons++
		}
	}
	if reasons != len(m.Skipped) || reasons != len(m.SkipReasons) {
		c.sim.fail("job %s skipped the partitions %v, for the reasons %v", j.spec.ID, m.Skipped, m.SkipReasons)
	}
	c.reusesWhatWasFound(j, m)
	c.keepsWholeNodes(j, m)
	j = j.needed(m)
	want, digest, err := j.reference(m.Skipped)
	if err != nil {
		c.sim.fail("compute the reference of job %s: %v", j.spec.ID, err)
		return
	}
	got, _, err := c.sim.storage.blobs.Get(context.Background(), "result/"+j.spec.ID+"/"+m.SHA256) // of a job that stops in time
	if errors.Is(err, store.ErrNotFound) {
		got, _, err = c.sim.storage.blobs.Get(context.Background(), "result/"+j.spec.ID)
	}
	if err != nil {
		c.sim.fail("read the result of job %s: %v", j.spec.ID, err)
		return
	}
	if err := j.countsEachOnce(got, m.Skipped); err != nil {
		c.sim.fail("job %s: %v", j.spec.ID, err)
	}
	if string(got) != string(want) || m.SHA256 != digest {
		c.sim.fail("the result of job %s is %s with digest %s, a single process computes %s with %s", j.spec.ID, got, m.SHA256, want, digest)
	}
	orderly := c.sim.scenario.calm && !c.sim.killed
	if orderly {
		c.sim.cover("seen: job of an orderly cluster")
	}
	all := j.partitions * max(1, j.rounds)
	if orderly && !(m.Rounds != nil && m.Rounds.TimeUp) && m.Executed+uint64(len(m.Skipped)) != all {
		c.sim.fail("job %s of %d partitions says that it executed %d, though no process was killed", j.spec.ID, all, m.Executed)
	}
	if m.Executed+uint64(len(m.Skipped)) < all {
		c.sim.fail("job %s of %d partitions says that it executed %d", j.spec.ID, all, m.Executed)
	}
}
