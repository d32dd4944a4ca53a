package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// failure accounts for one failed attempt.
func (l *Ledger) failure(j *job, w *worker, f *wire.Failure) {
	j.trouble = f.Error
	switch {
	case f.Open:
		l.openFailed(j, w, f)
	case f.Permanent:
		l.fail(j, fmt.Sprintf("partition %d failed for good on worker %s: %s", f.Partition, w.id, f.Error))
	default:
		l.partitionFailed(j, w, f)
	}
}

// openFailed benches a worker that could not open a job, for longer each time. If
// none can, it is the job's fault.
func (l *Ledger) openFailed(j *job, w *worker, f *wire.Failure) {
	p := w.part(j)
	p.openFailed++
	p.shunned = l.now + l.backoff(p.openFailed)
	l.note(j.spec.ID, w.id, "Worker could not open the job: %s", f.Error)
	failures := 0
	for _, o := range l.workers {
		if o.draining || !o.knows(j) {
			continue
		}
		i, found := o.findPart(j.spec.ID)
		if !found || o.parts[i].openFailed == 0 {
			failures = 0
			break
		}
		failures += o.parts[i].openFailed
	}
	if f.Permanent || failures >= max(1, j.spec.MaxAttempts) {
		l.fail(j, "open: "+f.Error)
	}
}

// partitionFailed counts a failure. The partition waits to be tried again once
// its worker's account of its spans passes it.
func (l *Ledger) partitionFailed(j *job, w *worker, f *wire.Failure) {
	if !j.forest.anyMissing(single(f.Partition)) {
		return // it has succeeded elsewhere, or is none of the job's
	}
	a := j.attempts.get(f.Partition)
	a.Failed++
	a.Error = f.Error
	a.due, a.avoid = l.now+l.backoff(a.Failed), w.id
	switch {
	case a.Failed >= j.spec.MaxAttempts:
		l.giveUp(j, f.Partition, fmt.Sprintf("partition %d failed %s, last on worker %s: %s", f.Partition, times(a.Failed), w.id, f.Error))
	case len(j.attempts.list) > l.cfg.MaxFailing:
		l.fail(j, fmt.Sprintf("more than %d partitions are failing, last partition %d on worker %s: %s", l.cfg.MaxFailing, f.Partition, w.id, f.Error))
	default:
		l.note(j.spec.ID, w.id, "Partition %d failed, attempt %d of %d: %s", f.Partition, a.Failed, j.spec.MaxAttempts, f.Error)
	}
}

// giveUp skips a partition where the submitter allows it, or fails the job.
func (l *Ledger) giveUp(j *job, partition uint64, why string) {
	if uint64(len(j.skipped)) >= min(j.spec.MaxSkipped, uint64(l.cfg.MaxSkipped)) {
		l.fail(j, why)
		return
	}
	l.note(j.spec.ID, "", "Partition skipped: %s", why)
	i, _ := slices.BinarySearch(j.skipped, partition)
	j.skipped = slices.Insert(j.skipped, i, partition)
	l.finish(j, jobs.Leaf(partition), NoRef, false)
}

// unskip takes partitions off the list of those skipped: somebody did finish
// them, and the node in the forest has them.
func (j *job) unskip(span jobs.Span) {
	i, _ := slices.BinarySearch(j.skipped, span.Lo)
	k, _ := slices.BinarySearch(j.skipped, span.Hi)
	j.skipped = slices.Delete(j.skipped, i, k)
}

// backoff is the wait after a number of failures.
func (l *Ledger) backoff(failed int) time.Duration {
	wait := l.cfg.RetryAfter
	for ; failed > 1 && wait < l.cfg.RetryAtMost; failed-- {
		wait *= 2
	}
	return min(wait, l.cfg.RetryAtMost)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
