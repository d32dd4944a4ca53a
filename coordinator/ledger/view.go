package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Size is how many workers there are.
func (l *Ledger) WorkerCount() int { return len(l.workers) }

// Workers describes the workers for a person, in order of their IDs.
func (l *Ledger) Workers() []wire.WorkerInfo {
	list := make([]wire.WorkerInfo, 0, len(l.workers))
	for _, w := range l.workers {
		state := "idle"
		switch {
		case l.now-w.seen > 3*w.every+time.Second:
			state = "silent"
		case w.draining:
			state = "draining"
		case len(w.held) > 0:
			state = "busy"
		}
		list = append(list, wire.WorkerInfo{
			ID: w.id, Host: w.hello.Host, PID: w.hello.PID, Slots: w.slots, Since: w.hello.Since,
			Leader: w.id == l.cfg.Self, State: state,
		})
	}
	return list
}

// Knows reports whether a worker is here and has the definition of a kind.
func (l *Ledger) Knows(worker string, kind wire.JobKind) bool {
	w := l.worker(worker)
	return w != nil && slices.Contains(w.hello.Knows, kind)
}

// Jobs describes the active jobs for a person, in the order in which they are
// served.
func (l *Ledger) Jobs() []wire.JobProgress {
	list := make([]wire.JobProgress, 0, len(l.jobs))
	for _, j := range l.jobs {
		list = append(list, l.progress(j))
	}
	return list
}

func (l *Ledger) progress(j *job) wire.JobProgress {
	p := wire.JobProgress{
		Job: j.spec.ID, State: string(store.Running), Partitions: j.tree.Partitions(), Done: j.forest.done(),
		Executed: j.executed, Skipped: slices.Clone(j.skipped[:min(len(j.skipped), wire.MaxSkipped)]), Rate: j.rate, Trouble: j.trouble,
	}
	holders := map[*worker]bool{}
	for h := range j.held.all() {
		holders[h.worker] = true
	}
	p.Workers = len(holders)
	if len(l.workers) > 0 && !slices.ContainsFunc(l.workers, func(w *worker) bool { return w.knows(j) }) {
		p.Trouble = fmt.Sprintf("no worker knows %s version %s: start some of a program that does", j.spec.Job, j.spec.Version)
	}
	return p
}

// measure updates the rate shown to people, as a moving average over some seconds.
func (j *job) measure(now time.Duration) {
	elapsed := (now - j.measured).Seconds()
	if elapsed < 0.5 {
		return
	}
	done := j.forest.done()
	current := float64(done-j.counted) / elapsed
	weight := min(1, elapsed/3)
	if j.rate == 0 {
		weight = 1
	}
	j.rate += weight * (current - j.rate)
	j.measured, j.counted = now, done
}
