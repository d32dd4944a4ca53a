package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func (l *Ledger) WorkerCount() int { return len(l.workers) }

// Workers returns descriptions of the workers for display, sorted by ID.
func (l *Ledger) Workers() []wire.WorkerInfo {
	list := make([]wire.WorkerInfo, 0, len(l.workers))
	for _, w := range l.workers {
		list = append(list, l.workerInfo(w))
	}
	return list
}

func (l *Ledger) workerInfo(w *worker) wire.WorkerInfo {
	return wire.WorkerInfo{
		ID: w.id, Host: w.hello.Host, PID: w.hello.PID, Slots: w.slots, Since: w.hello.Since,
		Lost: w.hello.Slots - w.slots, Leader: w.id == l.cfg.Self, State: l.workerState(w), Build: w.build(), Version: w.hello.Version,
		Usage: w.usage,
	}
}

func (l *Ledger) workerState(w *worker) string {
	switch {
	case l.now-w.reportedAt > 3*w.reportInterval+time.Second:
		return "silent"
	case w.draining:
		return "draining"
	case w.benched(l.now):
		return "benched: " + w.blame.reason
	case len(w.assignments) > 0:
		return "busy"
	}
	return "idle"
}

// WorkersAfter returns descriptions of up to limit workers whose IDs are greater than after, and
// the number of further workers.
func (l *Ledger) WorkersAfter(after string, limit int) (list []wire.WorkerInfo, more int) {
	from, found := l.findWorker(after)
	if found {
		from++
	}
	to := min(from+limit, len(l.workers))
	for _, w := range l.workers[from:to] {
		info := l.workerInfo(w)
		info.LostAt = w.lostAt
		for _, a := range w.assignments {
			if a.call != nil {
				continue
			}
			info.Spans++
			if a.state != stateRunning {
				continue
			}
			info.Busy++
			// If a worker dies, its work since the last report is lost, and so are the large
			// partials that only this worker holds. Reported small partials are in the leader's
			// memory and survive a worker's death.
			running := l.now - a.progressAt
			info.Cost += running.Seconds() + a.share.slotSeconds(min(a.ran, a.span.Len()))
			if len(info.Running) < wire.MaxRunning {
				failed := a.job.queue.failed.find(a.span.Lo)
				info.Running = append(info.Running, wire.RunningSpan{
					Number: a.id.Number, Job: a.job.id(), For: running, Slot: a.slot, Lo: a.span.Lo, Hi: a.span.Hi,
					Again: failed != nil && failed.failed > 0, Reassigned: a.deaths > 0,
				})
			}
		}
		for _, n := range w.nodes {
			if at := n.job.forest.holdingOf(w.id, n.node); at != nil {
				info.Cost += w.share(n.job).slotSeconds(at.exposed())
			}
		}
		list = append(list, info)
	}
	return list, len(l.workers) - to
}

// Totals returns the statistics of all workers and the rate of all jobs.
func (l *Ledger) Totals() wire.Totals {
	t := wire.Totals{Workers: len(l.workers)}
	builds, versions := map[string]int{}, map[string]int{}
	for _, w := range l.workers {
		switch l.workerState(w) {
		case "silent":
			t.Silent++
		case "draining":
			t.Draining++
		}
		t.Slots += w.slots
		t.Lost += w.hello.Slots - w.slots
		t.Memory += w.usage.Memory
		for _, a := range w.assignments {
			if a.call == nil && a.state == stateRunning {
				t.Busy++
			}
		}
		builds[w.build()]++
		versions[w.hello.Version]++
	}
	for _, j := range l.jobs {
		if j.done() < j.result().Len() {
			t.Rate += j.display.perSecond
		}
	}
	for _, name := range mostFrequent(builds) {
		t.Builds = append(t.Builds, wire.BuildCount{Build: name, Workers: builds[name]})
	}
	for _, name := range mostFrequent(versions) {
		t.Versions = append(t.Versions, wire.VersionCount{Version: name, Workers: versions[name]})
	}
	t.OtherBuilds, t.OtherVersions = len(builds)-len(t.Builds), len(versions)-len(t.Versions)
	return t
}

// Kinds returns the definitions that workers run, sorted by name and version, but at most wire.MaxKinds.
func (l *Ledger) Kinds() (list []wire.KindCount) {
	counts := map[wire.JobKind]int{}
	for _, w := range l.workers {
		if w.draining {
			continue
		}
		for _, kind := range w.hello.Knows {
			counts[kind]++
		}
	}
	for kind, n := range counts {
		list = append(list, wire.KindCount{Name: kind.Name, Version: kind.Version, Workers: n})
	}
	slices.SortFunc(list, func(a, b wire.KindCount) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return list[:min(len(list), wire.MaxKinds)]
}

// mostFrequent returns the names with the highest counts, at most wire.MaxBuilds names.
func mostFrequent(counts map[string]int) []string {
	names := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return names[:min(len(names), wire.MaxBuilds)]
}

// Knows reports whether a worker that is not draining has the definition of a kind of job.
func (l *Ledger) Knows(kind wire.JobKind) bool {
	return slices.ContainsFunc(l.workers, func(w *worker) bool { return !w.draining && slices.Contains(w.hello.Knows, kind) })
}

// Jobs returns descriptions of the active jobs for display, in the order of their priority.
func (l *Ledger) Jobs() []wire.JobProgress {
	list := make([]wire.JobProgress, 0, len(l.jobs))
	for _, j := range l.jobs {
		list = append(list, l.jobProgress(j))
	}
	return list
}

// Progress returns the progress of an active job, or nil if the job is not active.
func (l *Ledger) Progress(job string) *wire.JobProgress {
	j := l.jobsByID[job]
	if j == nil {
		return nil
	}
	p := l.jobProgress(j)
	return &p
}

func (l *Ledger) jobProgress(j *job) wire.JobProgress {
	p := wire.JobProgress{
		Job: j.id(), Round: engine.CountedRound(j.round.Number, j.round.Last, j.round.TimeUp), Earlier: j.round.Earlier, State: string(store.Running), Partitions: j.tree.Partitions(), Done: j.done(), Executed: j.executed,
		Skipped: j.firstSkipped(wire.MaxSkipped), Rate: j.display.perSecond, Trouble: j.lastError,
	}
	p.SlotSeconds, p.LostSeconds = j.cost.SlotSeconds, j.cost.LostSeconds
	p.Estimates, p.Stopped = j.prefixes.estimates, j.prefixes.stopped
	if p.Done == p.Partitions {
		p.MergesLeft, p.Rate = j.forest.remainingMerges(), 0
	}
	l.heldProgress(j, &p)
	l.counts++
	for a := range j.assignments.all() {
		if a.worker.countedIn != l.counts {
			a.worker.countedIn = l.counts
			p.Workers++
		}
	}
	if slow := l.slowest(j); slow != "" {
		p.Trouble = slow
	}
	if above := l.heldBackBy(j); above != nil {
		p.State, p.Trouble = string(store.Queued), fmt.Sprintf("no slot is left by jobs of a higher priority, such as job %s of priority %d", above.id(), above.spec.Priority)
	}
	if waits := l.waits(j); waits != "" {
		p.Trouble = waits
	}
	if len(l.workers) > 0 && !slices.ContainsFunc(l.workers, func(w *worker) bool { return w.knowsKind(j) }) {
		p.Trouble = fmt.Sprintf("no worker knows %s version %s: start workers of a program that does", j.spec.Job, j.spec.Version)
	} else if len(l.workers) > 0 {
		p.Trouble = cmp.Or(l.missingBuild(j), p.Trouble)
	}
	return p
}

// heldBackBy returns a job of a higher priority that runs while nothing of an unfinished job runs. It
// returns nil if there is no such job.
func (l *Ledger) heldBackBy(j *job) *job {
	if partitions := j.tree.Partitions(); j.runs() || partitions > 0 && j.done() == j.result().Len() {
		return nil
	}
	for _, above := range l.jobs {
		if above.spec.Priority <= j.spec.Priority {
			break // the jobs are sorted by priority
		}
		if above.runs() {
			return above
		}
	}
	return nil
}

// runs reports whether a worker runs a span or a call of the job.
func (j *job) runs() bool {
	for a := range j.assignments.all() {
		if a.state == stateRunning {
			return true
		}
	}
	return false
}

// slowAfter is the running time after which the job's status reports a partition or call as slow. A
// slow partition must also run slowFactor times as long as the job's average partition.
const (
	slowAfter  = time.Minute
	slowFactor = 10
)

// slowest describes the slow partition or call of a job that has been running for the longest time;
// it returns "" if none is slow.
func (l *Ledger) slowest(j *job) string {
	var slowest *assignment
	for a := range j.assignments.all() {
		if a.state == stateRunning && (slowest == nil || a.progressAt < slowest.progressAt) {
			slowest = a
		}
	}
	if slowest == nil {
		return ""
	}
	took := l.now - slowest.progressAt
	name := fmt.Sprintf("partition %d", slowest.span.Lo)
	if slowest.call != nil {
		name = slowest.call.String()
	} else if perSecond := j.perSecond(); perSecond > 0 && took < slowFactor*duration(1/perSecond) {
		return ""
	}
	if took < slowAfter {
		return ""
	}
	return fmt.Sprintf("%s has been running for %v on worker %s", name, took.Truncate(time.Second), slowest.worker.id)
}

// progressText describes a job's progress for errors and logs.
func (l *Ledger) progressText(j *job) string {
	switch slow := l.slowest(j); {
	case slow != "":
		return slow
	case !j.planned():
		return "it is not planned"
	}
	return fmt.Sprintf("%d of %d partitions are done", j.done(), j.result().Len())
}
