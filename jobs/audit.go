package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// MaxAudit is the share of all partitions, in millionths.
const MaxAudit = 1_000_000

// Audit says which partitions are computed twice. If the results differ, the partition fails
// permanently. The second computation takes place right after the first one, in the same process.
// So an audit finds results that depend on the time, on random numbers, on the iteration order of a
// map, or on the calls before. It does not find results that depend on the machine or the build.
type Audit struct {
	Share uint32 // in millionths; 0: no partition, otherwise at least one
	Seed  string // chooses the partitions, together with their number
}

// chooses reports whether a partition is computed twice.
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

// auditor computes partitions of a slot again.
type auditor[T any] struct {
	Audit
	codec  Codec[T]
	mapper Mapper[T]
	mapOne func(ctx context.Context, partition uint64) (T, error) // nil until needed
}

// check returns an error if a second computation of a partition gives another value.
func (a *auditor[T]) check(ctx context.Context, partition uint64, value T) error {
	mapOne := a.mapOne
	if mapOne == nil {
		mapOne = mapFunc(a.mapper, func() (spare T) { return spare })
	}
	a.mapOne = nil // a function that fails or panics is not called again
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
