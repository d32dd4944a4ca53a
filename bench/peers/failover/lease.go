package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/bloblease"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// leasePattern is the Leader Election pattern in Azure's documentation: the candidate that has a
// lease on a blob leads and renews the lease, and the other candidates retry to acquire the lease.
// The sample in the documentation uses a lease of 60 s, renews it every 10 s and retries every 20
// s. leasePattern uses the shortest lease that Azure grants and retries every second, which is the
// best case for the pattern.
// https://learn.microsoft.com/en-us/azure/architecture/patterns/leader-election
// https://github.com/mspnp/cloud-design-patterns/tree/main/leader-election
func leasePattern() System {
	return System{
		Name:     "blob lease, polled",
		Versions: moduleVersions("github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"),
		Settings: fmt.Sprintf("lease of %v, renewed every %v, tried every %v; on Azurite", leaseFor, leaseRenew, leaseTry),
		Period:   leaseRenew,
		azurite:  true,
		start: func(ctx context.Context, p Place) (cluster, error) {
			configs := make([]any, candidates)
			container := containerName()
			for i := range configs {
				configs[i] = leaseCandidate{p.Azure, container, fmt.Sprint("candidate-", i)}
			}
			return startParty(ctx, leaseRole, configs, nil)
		},
	}
}

const (
	leaseRole  = "lease"
	leaseFor   = 15 * time.Second
	leaseRenew = 10 * time.Second
	leaseTry   = time.Second
)

type leaseCandidate struct {
	Connection string `json:"connection"`
	Container  string `json:"container"`
	Name       string `json:"name"`
}

func beLeaseCandidate(ctx context.Context, c leaseCandidate, tell func(any)) error {
	a, err := account.Open(account.Config{ConnectionString: c.Connection})
	if err != nil {
		return err
	}
	lease, err := bloblease.Open(a, bloblease.Config{Container: c.Container, Duration: leaseFor})
	if err != nil {
		return err
	}
	if _, err := lease.Read(ctx); err != nil { // Read creates the blob
		return err
	}
	tell(told{Stands: true})
	for tick := time.Tick(leaseTry); ; {
		// Acquire also writes the record, which only the holder of the lease can do.
		held, err := lease.Acquire(ctx, election.Claim{Holder: c.Name, LeaseID: uuid.NewString()})
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			tell(told{Leads: true})
			return renew(ctx, lease, held)
		case !errors.Is(err, election.ErrHeld):
			return err
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return nil
		}
	}
}

func renew(ctx context.Context, lease election.Lease, held election.Record) error {
	for tick := time.Tick(leaseRenew); ; {
		select {
		case <-tick:
		case <-ctx.Done():
			return nil
		}
		if err := lease.Renew(ctx, held); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func containerName() string { return "peers-" + fmt.Sprint(time.Now().UnixNano()) }
