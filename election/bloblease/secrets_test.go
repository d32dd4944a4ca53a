package bloblease_test

import (
	"context"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/secrettest"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/bloblease"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// No error of any method contains a secret, whatever the endpoint answers.
func TestErrorsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	held := election.Record{Epoch: 1, Holder: "a", LeaseID: newID(), Held: true}
	secrettest.EachAccount(t, func(t *testing.T, a *account.Account) {
		lease, err := bloblease.Open(a, bloblease.Config{Container: "secrets", CallTimeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		secrettest.WantErrors(t, map[string]func(context.Context) error{
			"Read": func(ctx context.Context) error { _, err := lease.Read(ctx); return err },
			"Acquire": func(ctx context.Context) error {
				_, err := lease.Acquire(ctx, election.Claim{Holder: "b", LeaseID: newID(), Replaces: held.LeaseID})
				return err
			},
			"Renew":    func(ctx context.Context) error { return lease.Renew(ctx, held) },
			"Release":  func(ctx context.Context) error { return lease.Release(ctx, held) },
			"Transfer": func(ctx context.Context) error { return lease.Transfer(ctx, held, newID()) },
		})
	})
}
