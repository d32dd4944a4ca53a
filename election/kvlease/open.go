package kvlease

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Config says where the lease is and how long it lasts.
type Config struct {
	// Bucket is the key-value bucket's name: letters, digits, dashes, underscores.
	// It is created where it is missing.
	Bucket string
	// Key is the record's key. Default "leader".
	Key string
	// Duration is how long the lease lasts without renewal; the same as the
	// election's, for all workers. Default 15 s.
	Duration time.Duration
	// CallTimeout bounds each call, if the caller's context does not do so sooner.
	// Default 1/5 of Duration.
	CallTimeout time.Duration
	// Replicas is how many servers keep the bucket, 1 to 5, if it is to be created.
	// Default 1.
	Replicas int
}

// Open returns the lease, and creates its bucket where it is missing. Several
// processes may do so at once. It fails with election.ErrUnavailable where it is
// worth trying again.
func Open(ctx context.Context, js jetstream.JetStream, cfg Config) (*Lease, error) {
	if cfg.Key == "" {
		cfg.Key = "leader"
	}
	if cfg.Duration == 0 {
		cfg.Duration = 15 * time.Second
	}
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = cfg.Duration / 5
	}
	if cfg.Duration < 0 || cfg.CallTimeout < 0 {
		return nil, fmt.Errorf("open lease: Duration %v and CallTimeout %v: want more than 0", cfg.Duration, cfg.CallTimeout)
	}
	bucket, err := openBucket(ctx, js, cfg)
	if isPassing(err) {
		err = unavailable(err)
	}
	if err != nil {
		return nil, fmt.Errorf("open lease in bucket %s: %w", cfg.Bucket, err)
	}
	return newLease(bucket, cfg), nil
}

func openBucket(ctx context.Context, js jetstream.JetStream, cfg Config) (jetstream.KeyValue, error) {
	bucket, err := js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket:      cfg.Bucket,
			Description: "Bellwether: who leads",
			History:     1,
			Replicas:    cfg.Replicas,
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // made by another process meanwhile, in its own way
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
		return nil, fmt.Errorf("it forgets values after %v, and with them the epoch: it must keep them for ever", ttl)
	}
	return bucket, nil
}

// isPassing reports whether an error may soon be over. Of several servers, not all
// know at once of a bucket that was just created.
func isPassing(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.As(err, &api) && api.Code >= http.StatusInternalServerError
}
