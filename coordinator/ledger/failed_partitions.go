package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// failedPartition is a partition that has failed and is not finished. Either it is queued
// alone, or it is assigned.
type failedPartition struct {
	partition   uint64
	failed      int           // failed attempts
	due         time.Duration // when its backoff is over
	avoidWorker string        // the worker on which it failed last
	queued      bool
}

// failedPartitions are the failed partitions of a job.
type failedPartitions struct {
	list    []failedPartition // by partition
	queued  int               // number of queued partitions in the list
	nextDue time.Duration     // until this time no queued partition can be assigned
}

// get returns a partition's entry, and adds the entry if it is missing. The pointer is
// valid until the next call.
func (p *failedPartitions) get(partition uint64) *failedPartition {
	i := p.search(partition)
	if i == len(p.list) || p.list[i].partition != partition {
		p.list = slices.Insert(p.list, i, failedPartition{partition: partition})
	}
	return &p.list[i]
}

// in returns the entries of the partitions in a span.
func (p *failedPartitions) in(span jobs.Span) []failedPartition {
	if len(p.list) == 0 || span.Empty() {
		return nil
	}
	return p.list[p.search(span.Lo):p.search(span.Hi)]
}

// isQueued reports whether a partition has an entry and is queued.
func (p *failedPartitions) isQueued(partition uint64) bool {
	found := p.in(single(partition))
	return len(found) == 1 && found[0].queued
}

func (p *failedPartitions) setQueued(f *failedPartition, queued bool) {
	if f.queued == queued {
		return
	}
	f.queued = queued
	if queued {
		p.queued++
		p.nextDue = min(p.nextDue, f.due)
	} else {
		p.queued--
	}
}

// remove removes the entries of the partitions in a span.
func (p *failedPartitions) remove(span jobs.Span) {
	found := p.in(span)
	if len(found) == 0 {
		return
	}
	for i := range found {
		p.setQueued(&found[i], false)
	}
	i := p.search(span.Lo)
	p.list = slices.Delete(p.list, i, i+len(found))
}

func (p *failedPartitions) search(partition uint64) int {
	i, _ := slices.BinarySearchFunc(p.list, partition, func(f failedPartition, p uint64) int { return cmp.Compare(f.partition, p) })
	return i
}
