package ledger

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// onFailure handles a failed attempt that a worker reports.
func (l *Ledger) onFailure(j *job, w *worker, f *wire.Failure) {
	if f.Holder == "" && !f.Slow { // f.Holder is set for a failed fetch of an operand, which is a temporary failure
		j.lastError = f.Error
	}
	if f.Function == wire.Map {
		j.errors.add(f.Error, f.Partition, 1)
	}
	switch {
	case f.Function == wire.Open:
		l.onOpenFailed(j, w, f)
	case f.Function != wire.Map:
		l.onCallFailed(j, w, f)
	case f.Permanent:
		l.logFailure(j, w, &f.Partition, 0, true, fmt.Sprintf("Partition %d failed permanently: %s", f.Partition, f.Error))
		l.failAt(j, f.Partition, fmt.Sprintf("partition %d failed permanently on worker %s: %s", f.Partition, w.id, f.Error))
	default:
		l.onPartitionFailed(j, w, f)
	}
}

// onOpenFailed handles a worker's failure to open a job: during a backoff that grows with each
// failure, the worker gets no partitions of the job. The job fails if the error is permanent, or if
// none of the workers that may begin the job can open it.
func (l *Ledger) onOpenFailed(j *job, w *worker, f *wire.Failure) {
	s := w.share(j)
	s.openFailures++
	s.benchedUntil = l.now + l.backoff(s.openFailures)
	l.logFailure(j, w, nil, s.openFailures, false, "Worker could not open the job: "+f.Error)
	failures := 0
	for _, o := range l.workers {
		if o.draining || !o.knows(j) || l.heldBack(o, j) {
			continue
		}
		i, found := o.findShare(j.spec.ID)
		if !found || o.shares[i].openFailures == 0 {
			failures = 0
			break
		}
		failures += o.shares[i].openFailures
	}
	if f.Permanent || failures >= max(1, j.spec.MaxAttempts) {
		l.fail(j, fmt.Sprintf("Open failed on worker %s: %s", w.id, f.Error))
	}
}

// onPartitionFailed counts a failed attempt of a partition. reconcile queues the partition again
// when the worker's spans no longer contain it.
func (l *Ledger) onPartitionFailed(j *job, w *worker, f *wire.Failure) {
	if !j.anyMissing(single(f.Partition)) {
		return // another worker has finished the partition, or the partition is not in the job
	}
	if w.blame.error = firstBytes(f.Error); w.probes() {
		l.bench(w)
	}
	p := j.queue.failed.get(f.Partition)
	p.failed++
	j.queue.failed.postpone(p, l.now+l.backoff(p.failed), w.id)
	limit := max(l.cfg.MaxFailing, int(l.mayBeSkipped(j)))
	last := p.failed >= j.spec.MaxAttempts || j.queue.failed.list.len > limit
	l.logFailure(j, w, &f.Partition, p.failed, last, fmt.Sprintf("Partition %d failed, attempt %d of %d: %s", f.Partition, p.failed, j.spec.MaxAttempts, f.Error))
	switch {
	case p.failed >= j.spec.MaxAttempts:
		l.giveUp(j, f.Partition, fmt.Sprintf("partition %d failed %s, last on worker %s: %s", f.Partition, times(p.failed), w.id, f.Error))
	case j.queue.failed.list.len > limit:
		l.fail(j, fmt.Sprintf("more than %d partitions are failing, last partition %d on worker %s: %s", limit, f.Partition, w.id, f.Error))
	default:
		j.retried.add(single(f.Partition))
	}
}

// giveUp skips a partition if the job may skip one more; otherwise it fails the job.
func (l *Ledger) giveUp(j *job, partition uint64, reason string) {
	if uint64(j.skipped.len) >= l.mayBeSkipped(j) {
		l.failAt(j, partition, reason)
		return
	}
	l.log(j.spec.ID, "", "Partition skipped: %s", reason)
	j.skipped.insert(skippedPartition(partition))
	j.reasons.add(partition, reason)
	if j.large {
		j.skipsIn = j.checkpoint.request()
	}
	l.finish(j, FinishedNode{Node: engine.Leaf(partition)}, false)
	if j.skipped.len > maxWholeSkips && j.keepsWhole() {
		l.loseWhole(j, fmt.Sprintf("more than %d partitions are skipped", maxWholeSkips))
	}
}

// mayBeSkipped returns how many partitions of a job may be skipped.
func (l *Ledger) mayBeSkipped(j *job) uint64 {
	return min(j.spec.MaxSkipped, uint64(l.cfg.MaxSkipped))
}

// unskip removes partitions from the list of skipped partitions when a worker has finished them.
func (j *job) unskip(span engine.Span) {
	j.skipped.removeRange(skippedPartition(span.Lo), skippedPartition(span.Hi))
	j.reasons.remove(span)
}

// skippedPartition is the entry of a skipped partition.
type skippedPartition uint64

func (p skippedPartition) Compare(q skippedPartition) int { return cmp.Compare(p, q) }

// firstSkipped returns the first skipped partitions, but at most n.
func (j *job) firstSkipped(n int) []uint64 {
	n = min(n, j.skipped.len)
	if n == 0 {
		return nil
	}
	list := make([]uint64, 0, n)
	for p := range j.skipped.from(0) {
		if list = append(list, uint64(*p)); len(list) == n {
			break
		}
	}
	return list
}

// backoff returns the waiting time before a retry, after the given number of failures.
func (l *Ledger) backoff(failures int) time.Duration {
	wait := l.cfg.RetryAfter
	for ; failures > 1 && wait < l.cfg.RetryAtMost; failures-- {
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
