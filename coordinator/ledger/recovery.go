package ledger

import (
	"slices"
	"time"
)

// recovery is the phase at the beginning of a term in which a new leader only receives reports. A
// new leader assigns nothing during recovery, because it must not assign work that another worker
// already holds.
type recovery struct {
	active  bool
	since   time.Duration // time when the ledger was created, or when the last job with workers was resumed
	awaited []string      // workers whose report or death is awaited, sorted by ID
	joined  int           // number of workers that had no leader before this one
}

// checkRecovery ends recovery once each awaited worker has reported its work or is dead, or once
// Config.RecoveryTimeout has passed. A manifest does not name workers that were assigned their first work after it
// was written. Recovery therefore lasts at least for Config.RecoveryGrace, unless as many workers have reported
// as the previous leader had.
func (l *Ledger) checkRecovery() {
	r := &l.recovery
	waited := l.now - r.since
	if !r.active || waited < l.cfg.RecoveryGrace && !l.allReported() || waited < l.cfg.RecoveryTimeout && len(r.awaited) > 0 {
		return
	}
	if len(r.awaited) > 0 {
		l.log("", "", "Workers did not answer the new leader in %v: %v", waited.Round(time.Millisecond), r.awaited)
	}
	for _, id := range r.awaited {
		if l.worker(id) == nil {
			l.departed[id] = departure{at: l.now}
		}
	}
	r.active, r.awaited = false, nil
	l.queueGrew = true
}

// allReported reports whether as many workers have reported as the previous leader had, if that number is known.
// The worker in the process of a lost leader counts only if it has reported. Workers that had no leader before do not count.
func (l *Ledger) allReported() bool {
	missing := l.cfg.Workers - (len(l.workers) - l.recovery.joined)
	if l.cfg.Lost != "" && l.worker(l.cfg.Lost) == nil {
		missing--
	}
	return l.cfg.Workers > 0 && missing <= 0
}

// await adds a worker to r.awaited. It returns false if the worker was already in the list.
func (r *recovery) await(id string) (added bool) {
	i, found := slices.BinarySearch(r.awaited, id)
	if !r.active || found {
		return false
	}
	r.awaited = slices.Insert(r.awaited, i, id)
	return true
}

// checkOff removes a worker from r.awaited, because it has reported all of its spans or is dead.
func (r *recovery) checkOff(id string) {
	if i, found := slices.BinarySearch(r.awaited, id); found {
		r.awaited = slices.Delete(r.awaited, i, i+1)
	}
}

// Recovered reports whether recovery has ended and the ledger may assign work.
func (l *Ledger) Recovered() bool { return !l.recovery.active }
