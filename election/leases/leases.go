// Package leases opens leases on a cluster's storage: the lease for which the cluster's workers
// compete, and named leases for other purposes.
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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/bloblease"
	"github.com/bellwether-compute/bellwether/election/kvlease"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Open opens the lease for which the cluster's workers compete. The lease's Duration is
// cfg.Duration. If the kind of lease needs another CallTimeout than the default, Open sets
// cfg.CallTimeout. Open fails with election.ErrUnavailable or cluster.ErrUnavailable if storage is
// not ready yet, and with cluster.ErrConfig if the kind of lease does not allow the Duration.
func Open(ctx context.Context, s *cluster.Storage, cfg *election.Config) (election.Lease, error) {
	if s.Account() == nil {
		return openKV(ctx, s.Config(), s.Conn(), kvlease.Config{Duration: cfg.Duration})
	}
	if err := s.Check(ctx); err != nil {
		return nil, err
	}
	// CallTimeout is as long as possible, because an acquisition takes up to four requests:
	// Duration must leave time for a renewal and a retry.
	cfg.CallTimeout = cfg.Duration / 3
	return openBlob(s.Config(), s.Account(), bloblease.Config{Duration: cfg.Duration, CallTimeout: cfg.CallTimeout})
}

// OpenNamed opens a named lease, which is stored beside the cluster's lease but is independent of
// it. The name consists of 1 to 40 lower-case letters, digits and dashes. The lease has the
// Duration and CallTimeout of the configuration cfg. On JetStream the lease uses the connection nc.
// If nc is reconnecting, OpenNamed fails and may be called again; only cluster.ErrConfig means that
// a retry cannot succeed. On Azure, OpenNamed makes no call to storage.
func OpenNamed(ctx context.Context, c cluster.Config, nc *nats.Conn, name string, cfg election.Config) (election.Lease, error) {
	if c.Storage != cluster.Azure {
		return openKV(ctx, c, nc, kvlease.Config{Key: "elect." + name, Duration: cfg.Duration, CallTimeout: cfg.CallTimeout})
	}
	a, err := c.OpenAccount()
	if err != nil {
		return nil, err
	}
	return openBlob(c, a, bloblease.Config{Blob: "_elect-" + name, Duration: cfg.Duration, CallTimeout: cfg.CallTimeout})
}

// openKV opens a lease in the bucket for the cluster's leases. Cluster names do not contain
// underscores, so the bucket's name cannot equal the name of another cluster's bucket.
func openKV(ctx context.Context, c cluster.Config, nc *nats.Conn, cfg kvlease.Config) (election.Lease, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	cfg.Bucket, cfg.Replicas = "bellwether_"+c.Name+"_lease", c.Replicas
	lease, err := kvlease.Open(ctx, js, cfg)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// openBlob opens a lease on a blob in the container of the cluster's jobs. The blob's
// name begins with an underscore, so it cannot be a job's key.
func openBlob(c cluster.Config, a *account.Account, cfg bloblease.Config) (election.Lease, error) {
	cfg.Container = azure.Name(c.Name)
	lease, err := bloblease.Open(a, cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cluster.ErrConfig, err)
	}
	return lease, nil
}
