package kvlease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/field"
)

// Config is the configuration of a [Lease].
type Config struct {
	// Bucket is the key-value bucket's name: letters, digits, dashes, underscores. Open creates the
	// bucket if it is missing.
	Bucket string
	// Key is the record's key; the default is "leader".
	Key string
	// Duration is how long the lease lasts without a renewal; the default is 15 s. It must equal
	// the election's Duration in all processes.
	Duration time.Duration
	// CallTimeout bounds each call, unless the caller's context ends sooner; the default is 1/5 of
	// Duration.
	CallTimeout time.Duration
	// Replicas is the number of servers that keep the bucket, 1 to 5; the default is 1. It is used
	// only when the bucket is created.
	Replicas int
}

func (c Config) withDefaults() Config {
	c.Key = cmp.Or(c.Key, "leader")
	c.Duration = cmp.Or(c.Duration, 15*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, c.Duration/5)
	return c
}

func (c Config) validate() error {
	return cmp.Or(
		field.Check(c.Duration >= 0, "Duration", c.Duration, "more than 0"),
		field.Check(c.CallTimeout >= 0, "CallTimeout", c.CallTimeout, "more than 0"),
	)
}

// Open returns the lease and creates its bucket if it is missing. Several processes may call Open
// at once. Open returns election.ErrUnavailable if a retry may succeed.
func Open(ctx context.Context, js jetstream.JetStream, cfg Config) (*Lease, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure lease: %w", err)
	}
	opened, err := openBucket(ctx, js, cfg)
	if isTemporary(err) {
		err = unavailable(err)
	}
	if err != nil {
		return nil, fmt.Errorf("open lease in bucket %s: %w", cfg.Bucket, err)
	}
	lease := newLease(opened, cfg)
	lease.open = func(ctx context.Context) (bucket, error) { return openBucket(ctx, js, cfg) }
	return lease, nil
}

func openBucket(ctx context.Context, js jetstream.JetStream, cfg Config) (jetstream.KeyValue, error) {
	bucket, err := js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:      cfg.Bucket,
			Description: "Bellwether: leases",
			History:     1,
			Replicas:    cfg.Replicas,
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // another process has just created the bucket with another configuration
			bucket, err = js.KeyValue(ctx, cfg.Bucket)
		}
	}
	if err != nil {
		return nil, err
	}
	status, err := bucket.Status(ctx)
	if err != nil {
		return nil, err
	}
	if ttl := status.TTL(); ttl != 0 {
		return nil, fmt.Errorf("the bucket deletes values after %v, and the epoch with them: it must have no time to live", ttl)
	}
	return bucket, nil
}

// isTemporary reports whether a retry after err may succeed. For example, a bucket may seem missing because not
// all servers of a NATS cluster learn of a new bucket at the same time.
func isTemporary(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.As(err, &api) && api.Code >= http.StatusInternalServerError
}
