package ledger

import (
	"cmp"
	"slices"
	"time"
)

const (
	// listFor is how long the lists of a job's stealable assignments are used, for each assignment of the job. Making the
	// lists takes some 30 ns per assignment, and therefore at most 3 % of the leader's time.
	listFor = time.Microsecond
	// The lists of a job with at most fewAssignments assignments are made at each use.
	fewAssignments = 1000
	// maxListed is the largest number of assignments in a list, so that sorting takes less time than finding them.
	maxListed = 1000
)

// stealable lists the assignments of a job that idle workers may take over. Many idle workers ask for them at the end of a
// job, when a large cluster has more than 100,000 assignments, so the lists are used for some time. The assignments change
// in this time, so whoever uses a list must check each assignment again.
type stealable struct {
	until time.Duration // time at which the lists are made again
	cut   bool          // long lacks assignments, because there were more than maxListed

	long []candidate   // assignments that can be cut, those with the longest remaining time first
	late []*assignment // running assignments of one overdue partition, the oldest first
}

// candidate is an assignment that can be cut.
type candidate struct {
	assignment *assignment
	left       time.Duration // the assignment's remaining time when it was listed
}

func compareLeft(a, b candidate) int { return cmp.Compare(b.left, a.left) }

// stealable returns the lists of a job.
func (l *Ledger) stealable(j *job) *stealable {
	s := &j.stealable
	for len(s.long) > 0 && !s.long[0].assignment.canBeCut() {
		s.long = s.long[1:]
	}
	if l.now >= s.until || s.cut && len(s.long) == 0 {
		l.listStealable(j)
	}
	return s
}

func (l *Ledger) listStealable(j *job) {
	s := &j.stealable
	*s = stealable{until: l.now}
	if n := j.assignments.len(); n > fewAssignments {
		s.until += time.Duration(n) * listFor
	}
	least := l.leastWork(j)
	for a := range j.assignments.backward() { // a worker starts later assignments last, so these have probably not started
		if a.span.Len() == 1 && l.isOverdue(a) {
			s.late = append(s.late, a)
		}
		if !a.canBeCut() {
			continue
		}
		_, left := l.remaining(a)
		waits := a.state == stateConfirmed && l.now-a.progressAt > speculateAfter // the assignment's worker has not started it
		if left <= least && !waits || s.cut && left <= s.long[maxListed-1].left {
			continue
		}
		if s.long = append(s.long, candidate{a, left}); len(s.long) == 2*maxListed {
			slices.SortStableFunc(s.long, compareLeft)
			s.long, s.cut = s.long[:maxListed], true
		}
	}
	slices.SortStableFunc(s.long, compareLeft)
	s.long = s.long[:min(len(s.long), maxListed)]
	slices.Reverse(s.late)
}

// canBeCut reports whether another worker may take over the end of an assignment.
func (a *assignment) canBeCut() bool {
	switch {
	case a.call != nil || a.cut != nil || a.duplicate != nil || a.quarantined || a.obsolete:
		return false
	case a.state == stateRunning:
		return a.span.Len() >= 2
	}
	return a.state == stateConfirmed
}
