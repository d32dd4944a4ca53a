package ledger

import "time"

// Successor returns the worker that should lead next, which is the worker that can merge for the most
// jobs. It returns "" if no other worker can lead. A silent, draining or benched worker is never chosen.
func (l *Ledger) Successor() string {
	best, most := "", -1
	for _, w := range l.workers {
		if state := l.workerState(w); w.id == l.cfg.Self || state != "idle" && state != "busy" {
			continue
		}
		known := 0
		for _, j := range l.jobs {
			if w.knowsKind(j) {
				known++
			}
		}
		if known > most {
			best, most = w.id, known
		}
	}
	return best
}

// SelfDrains reports whether the worker in the leader's process drains.
func (l *Ledger) SelfDrains() bool {
	w := l.worker(l.cfg.Self)
	return w != nil && w.draining
}

// drainsTogether is the time within which all workers begin to drain when a whole cluster is
// stopped.
const drainsTogether = 500 * time.Millisecond

// OthersDrain reports whether a leader that stops should wait for other draining workers. The
// leader waits while a worker has just begun to drain, because other workers may follow, and a
// draining worker should not become the successor. The leader also waits while all other workers
// drain and one of them has assignments, because a leader must accept their results.
func (l *Ledger) OthersDrain() bool {
	able, running := false, false
	for _, w := range l.workers {
		switch {
		case w.id == l.cfg.Self:
		case !w.draining:
			able = true
		case l.now-w.drainsSince < drainsTogether:
			return true
		case len(w.assignments) > 0:
			running = true
		}
	}
	return running && !able
}
