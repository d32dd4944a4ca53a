// Package azuritetest provides one Azurite for all tests of a package. If Node.js is not installed,
// tests that use Azurite are skipped with a message that says what to install. If the environment
// variable CI is set, tests without Node.js fail instead.
package azuritetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// startTimeout is long enough for a slow machine on which npm installs Azurite for the first time.
const startTimeout = 5 * time.Minute

var shared struct {
	once   sync.Once
	server *azurite.Server
	err    error
}

// Server returns the Azurite that all tests of the package share. The first call of Server starts
// Azurite. If TestMain calls [StopAfter], Azurite runs until the tests of the package have ended.
func Server(t testing.TB) *azurite.Server {
	t.Helper()
	shared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		shared.server, shared.err = azurite.Start(ctx, azurite.Config{})
	})
	must(t, shared.err)
	return shared.server
}

// must ends the test if Azurite did not start.
func must(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, azurite.ErrNoNode) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Wanted reports whether tests that use Azurite are run.
func Wanted() bool {
	_, noNode := exec.LookPath("node")
	_, noNPM := exec.LookPath("npm")
	return noNode == nil && noNPM == nil || os.Getenv("CI") != ""
}

// Start starts an Azurite for one test. The test may stop the Azurite that Start returns.
func Start(t testing.TB, cfg azurite.Config) *azurite.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	server, err := azurite.Start(ctx, cfg)
	must(t, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// Account opens the account that cfg identifies, or the account of the shared Azurite if cfg does
// not identify one.
func Account(t testing.TB, cfg account.Config) *account.Account {
	t.Helper()
	if cfg.ConnectionString == "" && cfg.URL == "" {
		cfg.ConnectionString = Server(t).ConnectionString()
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

// Faulty opens the account of the shared Azurite through a transport that injects faults and counts
// requests.
func Faulty(t testing.TB) (*account.Account, *faults.Transport) {
	t.Helper()
	transport, err := faults.New(Server(t).QueueURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.Close)
	return Account(t, account.Config{Transport: transport}), transport
}

// atOnce is the number of parallel tests of a storage driver that run at the same time. The number
// may be high, because the tests spend most of their time waiting for leases and messages to
// expire.
const atOnce = 16

// AtOnce sets how many parallel tests run at the same time, unless the command line sets this
// number. It parses the command line.
func AtOnce(n int) error {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		return f.Value.Set(strconv.Itoa(n))
	}
	return nil
}

// Stop stops the shared Azurite if it is running (see [StopAfter]).
func Stop() error {
	if shared.server == nil {
		return nil
	}
	return shared.server.Stop()
}

// StopAfter returns an m for the TestMain function of a package, for example for
// goleak.VerifyTestMain. Its Run stops the package's Azurite after the tests, and lets many tests
// run at the same time.
func StopAfter(m *testing.M) interface{ Run() int } { return stopping{m} }

type stopping struct{ *testing.M }

func (m stopping) Run() int {
	if err := AtOnce(atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.M.Run()
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
