package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// MaxAudit is the Share with which all partitions are audited, in millionths.
const MaxAudit = 1_000_000

// Audit selects the partitions that a job computes twice. If the two values of a partition differ,
// the partition fails permanently. The second computation has a time limit of its own. An audit finds
// results that depend on the time, on random numbers, on the iteration order of a map, or on earlier
// calls.
//
// In a cluster, another worker computes an audited partition a second time, so an audit also finds
// results that depend on the machine. The value of an audited partition counts only after both
// values are known to be equal. If no other worker can run the job, the second computation takes
// place in the same process.
type Audit struct {
	Share uint32 // share of the partitions that are audited, in millionths; if not 0, at least one partition
	Seed  string // seed of the random choice of partitions
}

// chooses reports whether a partition is audited.
func (a Audit) chooses(partition, partitions uint64) bool {
	if a.Share == 0 {
		return false
	}
	draw := func(text string) uint64 {
		sum := sha256.Sum256([]byte(text))
		return binary.BigEndian.Uint64(sum[:])
	}
	return draw(fmt.Sprintf("%s %d", a.Seed, partition))%MaxAudit < uint64(a.Share) || draw(a.Seed)%partitions == partition
}

// auditor audits the partitions of a slot.
type auditor[T any] struct {
	Audit
	deferred  bool // true if the auditor only records the values
	recompute recomputer[T]
	audited   []engine.Audited // records that were not taken; empty unless deferred is true
}

// check audits the value of a partition.
func (a *auditor[T]) check(ctx context.Context, partition uint64, value T) error {
	data, err := a.recompute.codec.Encode(value)
	if err != nil {
		return Permanent(fmt.Errorf("encode partial: %w", err))
	}
	first := engine.Audited{Partition: partition, Sum: sha256.Sum256(data)}
	if a.deferred {
		a.audited = append(a.audited, first)
		return nil
	}
	second, err := a.recompute.sum(ctx, partition)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return Permanent(first.Compare(second, ""))
}

func (s *stack[T]) Audited() (list []engine.Audited) {
	if s.audit != nil {
		list, s.audit.audited = s.audit.audited, nil
	}
	return list
}

// recomputer computes partitions for audits.
type recomputer[T any] struct {
	codec  Codec[T]
	mapper Mapper[T]
	mapOne func(ctx context.Context, partition uint64) (T, error) // nil until the first partition
}

// sum computes a partition and returns the SHA-256 of its encoded value.
func (r *recomputer[T]) sum(ctx context.Context, partition uint64) (sum engine.SHA256, err error) {
	mapOne := r.mapOne
	if mapOne == nil {
		mapOne = mapFunc(r.mapper, func() (spare T) { return spare }, nil)
	}
	r.mapOne = nil // a Map function that failed or panicked is not called again
	value, err := mapOne(ctx, partition)
	if err != nil {
		return sum, err
	}
	r.mapOne = mapOne
	data, err := r.codec.Encode(value)
	if err != nil {
		return sum, Permanent(fmt.Errorf("encode partial: %w", err))
	}
	return sha256.Sum256(data), nil
}

// sums computes partitions and returns the SHA-256 of their encoded values.
func (r *recomputer[T]) sums(ctx context.Context, partitions []uint64, progress *engine.Progress) (list []engine.SHA256, err error) {
	at := uint64(0)
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
		if err != nil {
			err = &PartitionError{at, err}
		}
	}()
	for _, at = range partitions {
		progress.Set(at, engine.MapAgain)
		sum, err := r.sum(ctx, at)
		if err != nil {
			return nil, err
		}
		list = append(list, sum)
	}
	return list, nil
}
