package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// deathsPerChance is how many deaths in quarantine are allowed for each death that chance explains. It
	// is a compromise: work that kills its worker within an eighth of the mean lifetime of workers is always
	// blamed, and harmless work rarely, even if its attempts last longer than workers live.
	deathsPerChance = 8
	// maxDeaths is the number of deaths whose work the ledger remembers. It counts earlier deaths as deaths
	// from outside.
	maxDeaths = 256
	// When workers have run for maxWorkerTime in all, half of the deaths and of the time are forgotten, so
	// that the mean lifetime of workers follows changes.
	maxWorkerTime = 10_000 * time.Hour
	// minWorkerTime is added to the time for which workers have run, so that work that kills its worker at
	// once is also blamed in a cluster that has just started.
	minWorkerTime = time.Minute
)

// deathLog records the deaths of workers. Most deaths come from outside: machines are evicted, and
// processes are killed. Only the comparison with the deaths of other workers shows whether work that runs
// alone kills its workers.
type deathLog struct {
	list       []*death      // last deaths in this term, the oldest first
	earlier    int           // number of deaths from outside before those in the list
	workerTime time.Duration // sum of the times for which workers were not reserved for quarantined work
	leader     *death        // death of the last leader, or nil; it is in the list, too, until it is forgotten
}

// death is the death of a worker's process.
type death struct {
	work []workID      // assignments that may have ended the process
	ran  time.Duration // longest time for which one of them was assigned or made no progress
	led  []string      // IDs of the jobs that the process led; their merges may have ended it
}

// workID names a span or a call of a job.
type workID struct {
	job      string
	function wire.Function
	node     engine.Node // only for Merge
	span     engine.Span // only for Map
}

// pass adds to the time for which workers have run.
func (d *deathLog) pass(workerTime time.Duration) {
	if d.workerTime += workerTime; d.workerTime > maxWorkerTime {
		d.workerTime, d.earlier = d.workerTime/2, d.earlier/2
		d.list = slices.Delete(d.list, 0, (len(d.list)+1)/2)
	}
}

// forget removes the deaths of workers to which work of a job was assigned, or which led the job, because the
// job was blamed for deaths.
func (d *deathLog) forget(j *job) {
	d.list = slices.DeleteFunc(d.list, func(x *death) bool {
		return slices.Contains(x.led, j.spec.ID) || slices.ContainsFunc(x.work, func(w workID) bool { return w.job == j.spec.ID })
	})
}

// recordDeath records the death of a worker with the work that may have caused the death.
func (l *Ledger) recordDeath(w *worker) {
	x := &death{}
	for _, a := range w.assignments {
		if a.state < stateSent {
			continue
		}
		id := workID{job: a.job.spec.ID, span: a.span}
		if a.call != nil {
			id.function, id.node = a.call.function, a.call.node
		}
		x.work, x.ran = append(x.work, id), max(x.ran, l.now-a.progressAt)
	}
	d := &l.deaths
	if len(d.list) == maxDeaths {
		d.list = slices.Delete(d.list, 0, 1)
		d.earlier++
	}
	d.list = append(d.list, x)
}

// resumeDeaths restores the deaths in a manifest. If the last leader died, its death counts too, with the
// work that its own worker ran.
func (l *Ledger) resumeDeaths(e JobAdded) {
	d := &l.deaths
	if e.WorkerTime > d.workerTime { // each manifest contains the deaths in the whole cluster
		d.earlier, d.workerTime = max(0, e.Deaths), min(e.WorkerTime, maxWorkerTime)
	}
	if !e.LeaderDied {
		return
	}
	if d.leader == nil {
		d.leader = &death{}
		d.list = append(d.list, d.leader)
	}
	own := d.leader
	own.led = append(own.led, e.Spec.ID)
	for _, s := range e.CrashSuspects {
		if s.Led > 0 {
			own.work = append(own.work, workID{job: e.Spec.ID, span: s.Span})
		}
	}
	for _, r := range e.Calls {
		for _, f := range []wire.Function{wire.Plan, wire.Merge, wire.Finish} {
			if r.Led > 0 && r.Function == f.String() {
				own.work = append(own.work, workID{job: e.Spec.ID, function: f, node: r.Node})
			}
		}
	}
}

// outsideDeaths returns the number of deaths that came from outside, because all work that was assigned to
// the worker has finished since then. It also returns for how long workers have run in all, without the
// times before the other deaths.
func (l *Ledger) outsideDeaths() (n int, workerTime time.Duration) {
	n, workerTime = l.deaths.earlier, l.deaths.workerTime
	for _, d := range l.deaths.list {
		if slices.ContainsFunc(d.work, l.unfinished) {
			workerTime -= d.ran
			continue
		}
		d.work = nil // it is not looked at again
		n++
	}
	return n, max(0, workerTime)
}

// unfinished reports whether a call of an active job has not returned, or a partition of a span is not
// finished.
func (l *Ledger) unfinished(w workID) bool {
	j := l.jobsByID[w.job]
	switch {
	case j == nil:
		return false
	case w.function != wire.Map:
		return j.calls.find(w.function, w.node) != nil
	}
	return j.forest.anyMissing(w.span)
}

// kills reports whether work kills its workers. The parameters are the name of the work, the number of
// workers that died while it ran alone, and for how long it ran on them in all. At least killsToBlame
// workers must have died, or the job's limit of attempts if that is lower. If workers also die from
// outside, the work is allowed more deaths: deathsPerChance for each death that chance explains. The next
// death counts as if it had happened, because the first deaths of workers say little about the others.
func (l *Ledger) kills(j *job, name string, deaths int, alone time.Duration) bool {
	limit := max(1, min(j.spec.MaxAttempts, killsToBlame))
	if deaths < limit {
		return false
	}
	outside, workerTime := l.outsideDeaths()
	lifetime := (workerTime + minWorkerTime) / time.Duration(outside+1)
	switch byChance := alone.Seconds() / lifetime.Seconds(); {
	case float64(deaths) >= float64(limit-1)+deathsPerChance*byChance:
		return true
	case outside == 0 && deaths >= 2*limit: // in a small cluster no other worker may be left
		return true
	}
	j.lastError = fmt.Sprintf("%d workers died while %s ran alone, but workers live only %v on average: divide the job into shorter partitions, or let workers live longer", deaths, name, lifetime.Round(time.Second))
	l.log(j.spec.ID, "", "Not blamed: %s", j.lastError)
	return false
}
