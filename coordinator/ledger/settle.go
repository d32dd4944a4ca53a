package ledger

import (
	"slices"
	"time"
)

// settle ends the time in which a new leader only listens: once all workers that
// the manifests name have told what they hold or are dead, or it takes too long.
// Work that somebody holds must not be given to somebody else.
func (l *Ledger) settle() {
	waited := l.now - l.heard
	if !l.settling || waited < l.cfg.RecoveryGrace || waited < l.cfg.RecoveryTimeout && len(l.roster) > 0 {
		return
	}
	l.settling = false
	if len(l.roster) > 0 {
		l.note("", "", "Workers did not answer the new leader in %v: %v", waited.Round(time.Millisecond), l.roster)
	}
	for _, id := range l.roster {
		if l.worker(id) == nil {
			l.departed[id] = l.now
		}
	}
	l.roster = nil
	l.freed = true
}

// expect puts a worker on the roster, while the leader settles.
func (l *Ledger) expect(id string) (added bool) {
	i, found := slices.BinarySearch(l.roster, id)
	if !l.settling || found {
		return false
	}
	l.roster = slices.Insert(l.roster, i, id)
	return true
}

// strike takes a worker off the roster: it has told all it holds, or is dead.
func (l *Ledger) strike(id string) {
	if i, found := slices.BinarySearch(l.roster, id); found {
		l.roster = slices.Delete(l.roster, i, i+1)
	}
}

// Recovered reports whether assigning has begun.
func (l *Ledger) Recovered() bool { return !l.settling }
