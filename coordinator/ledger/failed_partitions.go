package ledger

import (
	"cmp"
	"iter"
	"math"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// failedPartition is an unfinished partition that has failed. A failedPartition is either queued
// for a retry or assigned. A failed partition with its retry takes about 150 bytes of memory. A job
// may have a million failed partitions, if its submitter allows a million skipped partitions.
type failedPartition struct {
	partition   uint64
	failed      int           // number of failed attempts of the partition
	due         time.Duration // time at which the partition's backoff ends
	avoidWorker string        // ID of the worker on which the partition failed last
	queued      bool
}

func (f failedPartition) Compare(g failedPartition) int { return cmp.Compare(f.partition, g.partition) }

// retry is the queue entry of a failed partition.
type retry struct {
	avoidWorker string
	due         time.Duration
	partition   uint64
}

func (r retry) Compare(s retry) int {
	return cmp.Or(cmp.Compare(r.avoidWorker, s.avoidWorker), cmp.Compare(r.due, s.due), cmp.Compare(r.partition, s.partition))
}

// failedPartitions are the failed partitions of a job.
type failedPartitions struct {
	list    sortedList[failedPartition] // failed partitions in the order of their index
	retries sortedList[retry]           // queued partitions, sorted by the worker to avoid and then by time
	nextDue time.Duration               // earliest time at which a queued partition may be assigned
}

// find returns the entry of a failed partition, or nil. The returned pointer is valid until an
// entry is added or removed.
func (p *failedPartitions) find(partition uint64) *failedPartition {
	return p.list.find(failedPartition{partition: partition})
}

// get returns the entry of a partition, and adds the entry if the partition has none.
func (p *failedPartitions) get(partition uint64) *failedPartition {
	if f := p.find(partition); f != nil {
		return f
	}
	return p.list.insert(failedPartition{partition: partition})
}

// in iterates over the entries of the partitions in a span; the loop must not add or remove
// entries.
func (p *failedPartitions) in(span engine.Span) iter.Seq[*failedPartition] {
	return func(yield func(*failedPartition) bool) {
		for f := range p.list.from(failedPartition{partition: span.Lo}) {
			if f.partition >= span.Hi || !yield(f) {
				return
			}
		}
	}
}

// isQueued reports whether a partition has failed and is queued for a retry.
func (p *failedPartitions) isQueued(partition uint64) bool {
	f := p.find(partition)
	return f != nil && f.queued
}

// postpone sets the earliest time of a partition's retry, and the worker to avoid.
func (p *failedPartitions) postpone(f *failedPartition, due time.Duration, avoidWorker string) {
	queued := f.queued
	p.setQueued(f, false)
	f.due, f.avoidWorker = due, avoidWorker
	p.setQueued(f, queued)
}

func (p *failedPartitions) setQueued(f *failedPartition, queued bool) {
	if f.queued == queued {
		return
	}
	f.queued = queued
	if r := (retry{f.avoidWorker, f.due, f.partition}); queued {
		p.retries.insert(r)
		p.nextDue = min(p.nextDue, f.due)
	} else {
		p.retries.remove(r)
	}
}

func (p *failedPartitions) remove(span engine.Span) {
	for f := range p.in(span) {
		p.setQueued(f, false)
	}
	p.list.removeRange(failedPartition{partition: span.Lo}, failedPartition{partition: span.Hi})
}

// nextRetry returns a retry that mayRetry allows, or nil. If several retries avoid the same worker, nextRetry
// considers only the retry that is due first.
func (p *failedPartitions) nextRetry(now time.Duration, mayRetry func(retry) bool) *retry {
	if p.retries.len == 0 || now < p.nextDue {
		return nil
	}
	nextDue := time.Duration(math.MaxInt64)
	for r := p.retries.first(retry{}); r != nil; r = p.retries.first(retry{r.avoidWorker, math.MaxInt64, math.MaxUint64}) {
		if now >= r.due && mayRetry(*r) {
			return r
		}
		nextDue = min(nextDue, r.due)
	}
	p.nextDue = nextDue
	return nil
}
