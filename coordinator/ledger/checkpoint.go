package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// checkpointState records which checkpoints of a job were requested and which are durable. The
// checkpoints of a job are numbered from 1.
type checkpointState struct {
	dirty       bool          // the job has changed since the last request
	requestedAt time.Duration // time of the last request for a checkpoint
	requested   uint64        // number of the last requested checkpoint
	durable     uint64        // number of the last durable checkpoint
	wanted      uint64        // number of a checkpoint that is needed as soon as possible, if higher than requested
}

// request asks for a checkpoint as soon as possible, and returns its number.
func (c *checkpointState) request() uint64 {
	c.wanted = c.requested + 1
	return c.wanted
}

func (c *checkpointState) inFlight() bool { return c.requested > c.durable }

// requestCheckpoints requests the checkpoints that are due. Each job has at most one checkpoint in
// flight; later changes go into the next checkpoint.
func (l *Ledger) requestCheckpoints() {
	for _, j := range l.jobs {
		c := &j.checkpoint
		wanted := c.wanted > c.requested
		if j.ending() || c.inFlight() || !c.dirty && !wanted {
			continue
		}
		if wanted || l.now-c.requestedAt >= l.cfg.CheckpointEvery {
			c.dirty, c.requestedAt = false, l.now
			c.requested++
			for _, c := range j.contributors {
				c.checkpointing = c.received
			}
			s := l.snapshot(j)
			if s.Whole, _ = j.wholeReady(); s.Whole {
				j.whole.keptIn = c.requested
			}
			l.do(Checkpoint{j.spec.ID, s})
		}
	}
}

// onCheckpointed marks the checkpoint in flight as durable. Items in a durable checkpoint are
// acknowledged to their workers, and assignments that waited for the checkpoint are sent.
func (l *Ledger) onCheckpointed(j *job) {
	if !j.checkpoint.inFlight() {
		return
	}
	j.checkpoint.durable = j.checkpoint.requested
	l.queueGrew = l.queueGrew || j.spec.StrictBuilds // the checkpoint may contain the pinned build of a job
	j.releaseStored()
	for _, c := range j.contributors {
		c.durable = max(c.durable, c.checkpointing)
	}
	l.wholeKept(j)
	if j.spec.Estimates && !l.stopping {
		for a := range j.assignments.all() {
			if a.state == statePlanned && a.waitsFor > 0 && a.maySend() {
				l.nudge(a.worker)
			}
		}
	}
	if w := l.worker(l.cfg.Self); w != nil && !l.stopping {
		waited := func(a *assignment) bool { return a.job == j && a.state == statePlanned && a.maySend() }
		if slices.ContainsFunc(w.assignments, waited) || w.reserved && w.holdsNothing() {
			l.nudge(w)
		}
	}
}

// AllDurable reports whether the state of all jobs is durable. After [Stopping], AllDurable reports
// whether the state at the time of the last such event is durable.
func (l *Ledger) AllDurable() bool {
	return !slices.ContainsFunc(l.jobs, func(j *job) bool {
		c := &j.checkpoint
		return j.ending() || c.durable < c.wanted || !l.stopping && (c.dirty || c.inFlight())
	})
}

// snapshot returns the job's state for a checkpoint.
func (l *Ledger) snapshot(j *job) Snapshot {
	deaths, workerTime := l.outsideDeaths()
	s := Snapshot{Nodes: j.finishedNodes(), Work: store.Work{
		Executed: j.executed, Uncounted: j.uncounted, Builds: slices.Clone(j.builds.list), Skipped: j.firstSkipped(j.skipped.len), SkipReasons: j.reasons.sorted(),
		Errors: j.errors.sorted(), OtherErrors: j.errors.others, Calls: l.snapshotCalls(j),
		Elapsed: l.now - j.began, Retried: slices.Clone(j.retried.set.spans), PartitionTime: j.partitionTime(), Durations: j.durations.Clone(),
		Deaths: deaths, WorkerTime: workerTime,
		Cost: l.costNow(j), Judged: j.prefixes.estimates, Stopped: j.prefixes.stopped, Reused: j.reused,
	}}
	for _, id := range slices.Sorted(maps.Keys(j.contributors)) {
		s.Workers = append(s.Workers, store.Contributor{Worker: id, Through: j.contributors[id].received})
	}
	for f := range j.queue.failed.list.from(failedPartition{}) {
		if f.failed > 0 {
			s.Attempts = append(s.Attempts, store.Attempt{Partition: f.partition, Failed: f.failed})
		}
	}
	addSuspect := func(span engine.Span, deaths, deathsWithLeader int) {
		if deaths > 0 || deathsWithLeader > 0 {
			s.CrashSuspects = append(s.CrashSuspects, store.CrashSuspect{Span: span, Deaths: deaths, Led: deathsWithLeader, Alone: j.alone[span.Lo]})
		}
	}
	for _, x := range j.queue.suspects.list {
		addSuspect(x.span, x.deaths, 0)
	}
	for a := range j.assignments.all() {
		if a.call != nil {
			continue
		}
		// Only assignments of the leader's own worker can kill the leader. If the leader dies, the
		// next leader counts one more death for each of these assignments.
		if a.worker.id == l.cfg.Self && !l.stopping {
			addSuspect(a.span, a.deaths, a.deathsAfterOne())
		} else {
			addSuspect(a.span, a.deaths, 0)
		}
	}
	slices.SortFunc(s.CrashSuspects, func(a, b store.CrashSuspect) int {
		return cmp.Or(cmp.Compare(a.Span.Lo, b.Span.Lo), cmp.Compare(a.Deaths, b.Deaths), cmp.Compare(a.Led, b.Led))
	})
	return s
}
