// Package azuritetest gives the tests of a package one Azurite to share. Without
// Node.js the tests are skipped with a message that says what to install. If the
// environment variable CI is set, the tests fail instead.
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

// startTimeout allows for a slow machine on which npm installs Azurite for the first
// time.
const startTimeout = 5 * time.Minute

var shared struct {
	once   sync.Once
	server *azurite.Server
	err    error
}

// Server returns the package's Azurite and starts it if this is the first call. Azurite
// runs until the tests of the package have ended, if TestMain calls [Main].
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

// Wanted reports whether tests on Azurite are run rather than skipped.
func Wanted() bool {
	_, noNode := exec.LookPath("node")
	_, noNPM := exec.LookPath("npm")
	return noNode == nil && noNPM == nil || os.Getenv("CI") != ""
}

// Start starts an Azurite for one test. The test may stop the server.
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

// Account opens the account that cfg names, by default the account of the package's
// Azurite.
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

// Faulty opens the account of the package's Azurite through a transport that
// injects faults and counts requests.
func Faulty(t testing.TB) (*account.Account, *faults.Transport) {
	t.Helper()
	transport, err := faults.New(Server(t).QueueURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.Close)
	return Account(t, account.Config{Transport: transport}), transport
}

// atOnce is how many parallel tests of a storage driver run at once. The tests spend
// most of their time waiting for leases and messages to expire.
const atOnce = 16

// AtOnce sets how many parallel tests run at once, unless the command line sets it.
// It parses the flags.
func AtOnce(n int) error {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		return f.Value.Set(strconv.Itoa(n))
	}
	return nil
}

// Stop stops the package's Azurite if it is running: see [Main].
func Stop() error {
	if shared.server == nil {
		return nil
	}
	return shared.server.Stop()
}

// Main wraps a package's tests, for goleak.VerifyTestMain among others. It lets many
// tests run at once, and stops the package's Azurite after the tests have run.
func Main(m *testing.M) interface{ Run() int } { return main{m} }

type main struct{ *testing.M }

func (m main) Run() int {
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
