//go:build unix

package chaos

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/jobs/probe"
	"github.com/bellwether-compute/bellwether/jobs/scan"
)

var (
	minutes = flag.Float64("chaos.minutes", 0.15, "time during which faults are injected, in minutes")
	seed    = flag.Uint64("chaos.seed", 0, "seed of the faults; 0: random")
)

// TestMain lets the test binary run as the program of worker and NATS processes.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "worker":
		cli.Main(known()...)
	case len(os.Args) == 4 && os.Args[1] == "nats":
		if err := ServeNATS(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func known() []jobs.Job {
	return []jobs.Job{
		jobs.MustNew(primes.Definition), jobs.MustNew(montecarlo.Definition), jobs.MustNew(probe.Definition), jobs.MustNew(scan.Definition),
		jobs.MustNew(bench.Vectors), jobs.MustNewRounds(walk),
	}
}

// runCommand runs a command line in this process.
func runCommand(ctx context.Context, args []string, out, errs io.Writer) (status int) {
	return cli.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: out, Err: errs}, known()...)
}

// TestChaos runs a cluster with faults for a short time by default. The command make chaos sets the
// time.
func TestChaos(t *testing.T) {
	for _, on := range []Storage{JetStream, Azure, Damaged} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			if on == Damaged && *minutes < damagedFrom {
				t.Skip("only with make chaos STORAGE=damaged")
			}
			if on == Azure && !azuritetest.Wanted() {
				t.Skip("Azurite needs Node.js: https://nodejs.org")
			}
			seed := *seed
			if seed == 0 {
				seed = rand.Uint64() >> 32
			}
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			replay := fmt.Sprintf("make chaos MINUTES=%v SEED=%d STORAGE=%s", *minutes, seed, on)
			fmt.Fprintln(t.Output(), "replay:", replay)
			err = Run(ctx, Config{
				Seed: seed, For: time.Duration(*minutes * float64(time.Minute)), Storage: on,
				Program: program, Command: runCommand, Out: t.Output(), Parent: os.TempDir(),
			})
			if err != nil {
				t.Errorf("%v\nreplay: %s", err, replay)
			}
		})
	}
}
