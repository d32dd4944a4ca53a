package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// addJob adds a new job, or resumes a job from its manifest.
func (l *Ledger) addJob(e JobAdded) {
	var tree engine.Tree
	var err error
	if e.Partitions > 0 {
		tree, err = engine.NewTree(e.Partitions)
	}
	if err != nil || l.jobsByID[e.Spec.ID] != nil {
		l.log(e.Spec.ID, "", "Job refused: it is already active, or its number of partitions is %d", e.Partitions)
		return
	}
	j := l.newJob(e)
	j.setPlan(e.Plan, tree)
	i, _ := slices.BinarySearchFunc(l.jobs, j, compareJobs)
	l.jobs = slices.Insert(l.jobs, i, j)
	l.jobsByID[j.spec.ID] = j
	l.unknownJobs.markKnown(j.spec.ID)
	l.collectUnkept(j.spec.ID)
	l.queueGrew = true
	l.resumeDeaths(e)
	j.resumeCost(e.Cost, e.LeaderDied)
	l.resumeContributors(j, e)
	l.resumeForest(j, e.Nodes)
	l.join(j)
	j.resumeFailures(e.Work)
	j.whole.over = e.Whole || j.skipped.len > maxWholeSkips
	l.resumeSuspects(j, e.CrashSuspects, e.LeaderDied)
	l.resumeCalls(j, e.Calls, e.LeaderDied || e.LeaderSilent)
	j.display = rateDisplay{measuredAt: l.now, done: j.forest.done()}
	if !j.planned() {
		l.addCall(j, wire.Plan, engine.Node{})
	}
	for _, n := range e.Nodes {
		l.mergeUp(j, n.Node)
	}
	l.judgeNext(j)
}

// newJob returns a job without a plan, with the part of its state that does not depend on the plan.
func (l *Ledger) newJob(e JobAdded) *job {
	died := func(s store.CrashSuspect) bool { return s.Deaths > 0 }
	killed := func(c store.CallRecord) bool { return c.Deaths > 0 }
	j := &job{
		spec: e.Spec, state: jobActive, began: l.now - max(0, e.Elapsed),
		opening: wire.Opening{
			Job: e.Spec.ID, Kind: wire.JobKind{Name: e.Spec.Job, Version: e.Spec.Version}, Params: e.Spec.Params, ParamsSHA256: e.ParamsSHA256,
			Priority: e.Spec.Priority, PartitionTimeout: e.Spec.PartitionTimeout, Audit: e.Spec.Audit, Keep: e.Spec.Keep,
			Rounds: e.Rounds, State: e.State, StateBlob: e.StateBlob, Last: e.Last,
		},
		round:        e.Round,
		contributors: map[string]*contributor{},
		executed:     e.Executed, uncounted: e.Uncounted, builds: builds{list: slices.Clone(e.Builds)}, reused: e.Reused,
		checkpoint: checkpointState{requestedAt: l.now - l.cfg.CheckpointEvery},
		writeAhead: e.LeaderDied || slices.ContainsFunc(e.CrashSuspects, died) || slices.ContainsFunc(e.Calls, killed),
		merges:     mergePlace{assigned: !e.CanMerge}, trial: trial{over: len(e.Nodes) > 0 || e.Round.Number > 1},
		prefixes:    prefixes{estimates: e.Judged, stopped: e.Stopped},
		expectLarge: e.ExpectLarge, merging: rateDisplay{measuredAt: l.now},
		resumed: rate{1, max(0, e.PartitionTime.Seconds())},
	}
	if e.LeaderDied || e.LeaderSilent {
		j.merges.until = l.now + mergeProbation
	}
	if j.writeAhead {
		j.leaderExemptUntil = l.now + leaderMakesAfter
	}
	return j
}

// resumeContributors restores the item numbers of the workers in a manifest. During recovery the
// ledger waits for the first reports of these workers, except that of a worker whose process was silent as the leader:
// a probe cannot tell whether such a process runs. If it does, it keeps what is still queued when it reports.
func (l *Ledger) resumeContributors(j *job, e JobAdded) {
	if len(e.Workers) > 0 {
		l.recovery.since = l.now
	}
	for _, c := range e.Workers {
		j.contributors[c.Worker] = &contributor{c.Through, c.Through, c.Through}
		switch {
		case !l.recovery.active || l.worker(c.Worker) != nil:
		case e.LeaderSilent && c.Worker == l.cfg.Lost:
			l.departed[c.Worker] = departure{at: l.now}
		case l.recovery.await(c.Worker):
			l.do(Probe{Worker: c.Worker})
		}
	}
}

// resumeForest restores the finished nodes of a manifest, and queues all other partitions.
func (l *Ledger) resumeForest(j *job, nodes []FinishedNode) {
	for _, n := range nodes {
		if !j.isNeeded(n.Node) {
			l.dropPartials(n.Ref)
			continue
		}
		j.large = j.large || n.Large
		drop, _ := j.forest.insert(n)
		l.dropPartials(drop...)
		j.forest.markDurable(n.Node)
	}
	for _, gap := range j.forest.missing(j.result()) {
		j.queue.fresh.add(gap)
	}
}

// resumeFailures restores the failed, retried and skipped partitions of a manifest, and their errors.
func (j *job) resumeFailures(w store.Work) {
	for _, partition := range w.Skipped {
		j.skipped.insert(skippedPartition(partition))
	}
	for _, r := range w.SkipReasons {
		j.reasons.add(r.Partition, r.Text)
	}
	j.errors.resume(w.Errors, w.OtherErrors)
	j.durations = w.Durations.Clone()
	for _, span := range w.Retried {
		j.retried.add(span)
	}
	for _, a := range w.Attempts {
		if j.anyMissing(single(a.Partition)) {
			j.queue.failed.get(a.Partition).failed = a.Failed
		}
		if a.Error != "" {
			j.errors.add(a.Error, a.Partition, 1)
		}
	}
}
