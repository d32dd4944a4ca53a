package cli_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
)

// testStorage is a kind of storage on which clusters are tested.
type testStorage struct {
	name string
	// shortLease is for tests in which no process is left to notice a death, or in which a leader
	// is suspended for longer than its lease.
	shortLease time.Duration
	start      func(t *testing.T) testGround
}

// testGround consists of a NATS server and the flags that select the storage.
type testGround struct {
	nats  string
	flags []string
}

var (
	onJetStream = testStorage{"jetstream", 2 * time.Second, func(t *testing.T) testGround {
		server, err := natsserver.Start(natsserver.Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Shutdown)
		return testGround{server.URL(), []string{"--storage", "jetstream"}}
	}}

	// Azure's leases last at least 15 s. The NATS server of the test has no JetStream.
	onAzure = testStorage{"azure", 15 * time.Second, func(t *testing.T) testGround {
		connection := azuritetest.Server(t).ConnectionString()
		return testGround{startServer(t, server.Options{}), azureAt(t, connection)}
	}}
)

// azureAt returns the flags for the storage account of a connection string.
func azureAt(t *testing.T, connection string) []string {
	return []string{"--storage", "azure", "--azure-connection-file", newFile(t, "connection", []byte(connection))}
}

// onEachStorage runs a test on each kind of storage, in parallel with other tests.
func onEachStorage(t *testing.T, test func(t *testing.T, on testStorage)) {
	t.Parallel()
	onEachStorageAlone(t, test)
}

// onEachStorageAlone runs a test on each kind of storage, but not in parallel with other tests,
// because the test measures the speed of workers.
func onEachStorageAlone(t *testing.T, test func(t *testing.T, on testStorage)) {
	for _, on := range []testStorage{onJetStream, onAzure} {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}
