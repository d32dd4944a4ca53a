package bloblease_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/bloblease"
	"github.com/bellwether-compute/bellwether/election/internal/leasetest"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(azuritetest.StopAfter(m)) }

// duration is the shortest duration that Azure allows.
const duration = 15 * time.Second

var containers atomic.Int64

// newContainer returns the name of a container that no other test uses.
func newContainer() string { return fmt.Sprintf("lease-%d", containers.Add(1)) }

func open(t *testing.T, a *account.Account, cfg bloblease.Config) *bloblease.Lease {
	t.Helper()
	lease, err := bloblease.Open(a, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestConformance(t *testing.T) {
	t.Parallel()
	a := azuritetest.Account(t, account.Config{})
	leasetest.Run(t, leasetest.Driver{
		Duration: duration,
		Long:     time.Minute,
		New: func(t *testing.T, duration time.Duration) func() election.Lease {
			cfg := bloblease.Config{Container: newContainer(), Duration: duration}
			return func() election.Lease { return open(t, a, cfg) }
		},
	})
}

func TestConfigIsChecked(t *testing.T) {
	a := azuritetest.Account(t, account.Config{})
	for _, cfg := range []bloblease.Config{
		{},
		{Container: "c", Duration: 14 * time.Second},
		{Container: "c", Duration: 61 * time.Second},
		{Container: "c", Duration: 15500 * time.Millisecond},
		{Container: "c", CallTimeout: 6 * time.Second},
		{Container: "c", CallTimeout: -1},
	} {
		if _, err := bloblease.Open(a, cfg); err == nil {
			t.Errorf("Open accepts %+v", cfg)
		}
	}
}

func TestCreatedAtOnce(t *testing.T) {
	a, cfg := azuritetest.Account(t, account.Config{}), bloblease.Config{Container: newContainer()}
	var wait sync.WaitGroup
	for range 8 {
		lease := open(t, a, cfg)
		wait.Go(func() {
			if record, err := lease.Read(t.Context()); err != nil || record != (election.Record{}) {
				t.Errorf("got %+v, %v", record, err)
			}
		})
	}
	wait.Wait()
}
