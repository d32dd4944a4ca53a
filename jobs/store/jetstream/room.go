package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// The reserved part of the account's storage limit is the limit divided by reservedPart, but at
	// most maxReserved bytes. New large values and new submissions may not use the reserved space.
	// The reserved space is for renewing the lease, for ending and cancelling jobs, and for
	// deleting values.
	reservedPart = 8
	maxReserved  = 1 << 30
	// smallValue is the largest size in bytes of a new value that may use the reserved space, such
	// as the manifest of a cancelled job. Few small values are written when storage is full,
	// because no jobs can then be submitted.
	smallValue = 4 << 10
)

// room returns store.ErrFull if size more bytes would use the reserved space of the account, and
// store.ErrTooLarge if size bytes exceed the unreserved space of an empty account.
func (d *Driver) room(ctx context.Context, size int) error {
	if !d.limited {
		return nil
	}
	tier, err := d.tier(ctx)
	if err != nil {
		return err
	}
	limit := int64(tier.Limits.MaxStore)
	if limit <= 0 {
		return nil
	}
	limit -= min(limit/reservedPart, maxReserved)
	switch {
	case int64(size) > limit:
		return fmt.Errorf("%w: %d bytes, but the account has room for at most %d", store.ErrTooLarge, size, limit)
	case tier.Store+uint64(size) > uint64(limit):
		return fmt.Errorf("%w: %d of %d bytes are used", store.ErrFull, tier.Store, limit)
	}
	return nil
}

// Fits implements [store.Sizer].
func (d *Driver) Fits(ctx context.Context, size int64) error {
	if err := d.room(ctx, int(size)); err != nil {
		return translate(ctx, err)
	}
	return d.tooLarge(ctx, int(size), nil)
}

func (d *Driver) tier(ctx context.Context) (jetstream.Tier, error) {
	info, err := d.js.AccountInfo(ctx)
	if err != nil {
		return jetstream.Tier{}, fmt.Errorf("read the account's limits: %w", err)
	}
	if tier, ok := info.Tiers[fmt.Sprintf("R%d", d.bucket.CachedInfo().Config.Replicas)]; ok {
		return tier, nil
	}
	return info.Tier, nil
}
