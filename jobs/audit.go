package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// MaxAudit is the Share with which all partitions are audited, in millionths.
const MaxAudit = 1_000_000

// Audit selects the partitions that a job computes twice. If the two values of a partition differ,
// the partition fails permanently. The second computation takes place right after the first one, in
// the same process, with a time limit of its own. An audit finds results that depend on the time, on
// random numbers, on the iteration order of a map, or on earlier calls. An audit does not find
// results that depend on the machine or the build.
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

// auditor computes the audited partitions of a slot a second time.
type auditor[T any] struct {
	Audit
	codec  Codec[T]
	mapper Mapper[T]
	mapOne func(ctx context.Context, partition uint64) (T, error) // Map function for the second computation; nil until the first audited partition
}

// check returns an error if a second computation of a partition gives another value.
func (a *auditor[T]) check(ctx context.Context, partition uint64, value T) error {
	mapOne := a.mapOne
	if mapOne == nil {
		mapOne = mapFunc(a.mapper, func() (spare T) { return spare }, nil)
	}
	a.mapOne = nil // a Map function that failed or panicked is not called again
	first, err := a.codec.Encode(value)
	if err != nil {
		return Permanent(fmt.Errorf("encode partial: %w", err))
	}
	again, err := mapOne(ctx, partition)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	a.mapOne = mapOne
	second, err := a.codec.Encode(again)
	if err != nil {
		return Permanent(fmt.Errorf("audit: encode partial: %w", err))
	}
	if !bytes.Equal(first, second) {
		return Permanent(fmt.Errorf("audit: the partition was computed twice, and the partials have the SHA-256 %x and %x: %s", sha256.Sum256(first), sha256.Sum256(second), causeMap))
	}
	return nil
}
