package engine

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

const (
	// DurationBuckets is the number of buckets of [Durations]. The last one has no upper end.
	DurationBuckets = 32
	// MaxSlowest is the largest number of partitions in Durations.Slowest.
	MaxSlowest = 5

	bucketBase = 10 * time.Microsecond
)

// Durations describes for people how long partitions of a job took. Partitions whose results a slot has delivered
// together count with their mean, which is the exact duration of partitions that take seconds.
type Durations struct {
	// Counts are numbers of partitions by duration. Bucket 0 is below 10 µs, and each further bucket below twice the
	// duration of the one before. Empty buckets at the end are omitted.
	Counts  []uint64        `cbor:"1,keyasint,omitempty" json:"counts"`
	Slowest []SlowPartition `cbor:"2,keyasint,omitempty" json:"slowest"` // the slowest first
}

// SlowPartition is a partition that took long, or the partitions that were delivered together with their mean.
type SlowPartition struct {
	Lo     uint64        `cbor:"1,keyasint" json:"lo"`
	Hi     uint64        `cbor:"4,keyasint" json:"hi"`
	Took   time.Duration `cbor:"2,keyasint" json:"took_ns"` // time of one partition
	Worker string        `cbor:"3,keyasint" json:"worker"`
}

// Add adds the partitions of a span, which have occupied a slot of a worker for some time.
func (d *Durations) Add(span Span, took time.Duration, worker string) {
	if span.Empty() || took <= 0 {
		return
	}
	one := took / time.Duration(min(span.Len(), uint64(took)))
	i := min(bits.Len64(uint64(one/bucketBase)), DurationBuckets-1)
	for len(d.Counts) <= i {
		d.Counts = append(d.Counts, 0)
	}
	d.Counts[i] += span.Len()
	if len(d.Slowest) == MaxSlowest && one <= d.Slowest[MaxSlowest-1].Took {
		return
	}
	d.Slowest = append(d.Slowest, SlowPartition{span.Lo, span.Hi, one, worker})
	slices.SortStableFunc(d.Slowest, func(a, b SlowPartition) int { return cmp.Compare(b.Took, a.Took) })
	d.Slowest = d.Slowest[:min(len(d.Slowest), MaxSlowest)]
}

// Clone returns a copy that later calls of Add do not change.
func (d *Durations) Clone() Durations {
	return Durations{slices.Clone(d.Counts), slices.Clone(d.Slowest)}
}
