package ledger

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// This file records events of jobs that operators are not told of, because there may be many or because another log
// line contains them.

// noteAssignment records the first span that a worker gets of a job, and what runs again. Other assignments are
// too many.
func (l *Ledger) noteAssignment(a *assignment) {
	attempt := a.attempt()
	switch {
	case a.quarantined || a.duplicate != nil: // logged
	case attempt > 1:
		l.note(a.job, a.worker.id, "Attempt %d: %s assigned", attempt, a.text())
	case a.call == nil && !a.share.noted:
		a.share.noted = true
		l.note(a.job, a.worker.id, "First assigned: %s", a.text())
	}
}

// attempt returns the number of the attempt at an assignment, from 1. It counts failures and deaths of workers.
func (a *assignment) attempt() int {
	if a.call != nil {
		return 1 + a.call.failed + a.call.deaths
	}
	attempt := 1 + a.deaths
	if a.span.Len() == 1 {
		if f := a.job.queue.failed.find(a.span.Lo); f != nil {
			attempt += f.failed
		}
	}
	return attempt
}

// maxNoted is the number of assignments that the event of a worker's death names for each job.
const maxNoted = 10

// noteLoss records, for each job, which assignments a worker had when it died or fell silent.
func (l *Ledger) noteLoss(w *worker, what string) {
	for _, j := range l.jobs {
		text, n := what+"; assigned to it: ", 0
		for _, a := range w.assignments {
			if a.job != j || a.state < stateSent {
				continue
			}
			if n++; n > 1 && n <= maxNoted {
				text += ", "
			}
			if n <= maxNoted {
				text += a.text()
			}
		}
		if n > maxNoted {
			text += fmt.Sprintf(" and %d more", n-maxNoted)
		}
		if n > 0 {
			l.do(Log{Job: j.spec.ID, Worker: w.id, Text: text, Event: true, Details: Details{Kind: store.DeathEvent, Host: w.hello.Host}})
		}
	}
}

// logFailure records a failed attempt. An attempt after which the job fails or skips the partition is only an event,
// because another line tells operators of it.
func (l *Ledger) logFailure(j *job, w *worker, partition *uint64, attempt int, last bool, text string) {
	l.do(Log{Job: j.spec.ID, Worker: w.id, Text: text, Event: last, Details: Details{Kind: store.FailureEvent, Partition: partition, Attempt: attempt}})
}

// text names the call or the partitions of an assignment.
func (a *assignment) text() string {
	if a.call != nil {
		return fmt.Sprint(a.call)
	}
	return partitions(a.span)
}

func partitions(s engine.Span) string {
	if s.Len() == 1 {
		return fmt.Sprintf("partition %d", s.Lo)
	}
	return fmt.Sprintf("partitions %d to %d", s.Lo, s.Hi-1)
}
