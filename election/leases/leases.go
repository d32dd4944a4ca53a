// Package leases opens the lease that the workers of a cluster race for, on the
// kind of storage that the cluster uses:
//
//	         leases
//	        /      \
//	 kvlease        bloblease
//	    |               |
//	JetStream      Azure storage account
package leases

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/bloblease"
	"github.com/bellwether-compute/bellwether/election/kvlease"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
)

// Open opens the lease of the storage's cluster. cfg has the lease's Duration; Open
// sets its CallTimeout if the kind of lease needs another one than the default. It
// fails with an error that is election.ErrUnavailable or cluster.ErrUnavailable if
// storage is not ready yet, and with cluster.ErrConfig if the kind of lease does not
// take the Duration.
func Open(ctx context.Context, s *cluster.Storage, cfg *election.Config) (election.Lease, error) {
	if s.Account() == nil {
		return openKV(ctx, s, cfg)
	}
	return openBlob(ctx, s, cfg)
}

// openKV opens the lease in a bucket that holds nothing else. Cluster names have no
// underscore, so no other cluster's bucket has its name.
func openKV(ctx context.Context, s *cluster.Storage, cfg *election.Config) (election.Lease, error) {
	js, err := jetstream.New(s.Conn())
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	lease, err := kvlease.Open(ctx, js, kvlease.Config{
		Bucket: "bellwether_" + s.Config().Name + "_lease", Duration: cfg.Duration, Replicas: s.Config().Replicas,
	})
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// openBlob opens the lease on a blob in the container of the cluster's jobs. The
// blob's name cannot be a job's key. An acquisition takes up to four requests, so
// calls get as much of the lease's duration as still allows two renewals in time.
func openBlob(ctx context.Context, s *cluster.Storage, cfg *election.Config) (election.Lease, error) {
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	cfg.CallTimeout = cfg.Duration / 3
	lease, err := bloblease.Open(s.Account(), bloblease.Config{
		Container: azure.Name(s.Config().Name), Duration: cfg.Duration, CallTimeout: cfg.CallTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cluster.ErrConfig, err)
	}
	return lease, nil
}
