package azure_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/store/internal/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(azuritetest.StopAfter(m)) }

// hideFor is the shortest hide time that Azure allows.
const hideFor = time.Second

var clusters atomic.Int64

func newCluster() string { return fmt.Sprintf("c%d", clusters.Add(1)) }

func open(t *testing.T, a *account.Account, cfg azure.Config) *azure.Driver {
	t.Helper()
	if cfg.Cluster == "" {
		cfg.Cluster = newCluster()
	}
	if cfg.HideFor == 0 {
		cfg.HideFor = hideFor
	}
	d, err := azure.Open(a, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	a := azuritetest.Account(t, account.Config{})
	storetest.TestBlobs(t, func(t *testing.T) store.Blobs { return open(t, a, azure.Config{}) })
}

func TestQueue(t *testing.T) {
	t.Parallel()
	a := azuritetest.Account(t, account.Config{})
	storetest.TestQueue(t, func(t *testing.T) store.Queue { return open(t, a, azure.Config{}) }, hideFor)
}
