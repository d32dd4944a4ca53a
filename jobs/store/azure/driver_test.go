package azure_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(azuritetest.Main(m)) }

// hideFor is the shortest that Azure has.
const hideFor = time.Second

var clusters atomic.Int64

func newCluster() string { return fmt.Sprintf("c%d", clusters.Add(1)) }

func signIn(t *testing.T, cfg account.Config) *account.Account {
	t.Helper()
	if cfg.ConnectionString == "" && cfg.URL == "" {
		cfg.ConnectionString = azuritetest.Server(t).ConnectionString()
	}
	if cfg.Transport == nil {
		transport := &http.Transport{MaxIdleConnsPerHost: 32}
		t.Cleanup(transport.CloseIdleConnections)
		cfg.Transport = &http.Client{Transport: transport}
	}
	a, err := account.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

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
	a := signIn(t, account.Config{})
	storetest.TestBlobs(t, func(t *testing.T) store.Blobs { return open(t, a, azure.Config{}) })
}

func TestQueue(t *testing.T) {
	t.Parallel()
	a := signIn(t, account.Config{})
	storetest.TestQueue(t, func(t *testing.T) store.Queue { return open(t, a, azure.Config{}) }, hideFor)
}
