package failover

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/fleet/fleettest"
	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
)

func TestMain(m *testing.M) {
	processes.Main(Roles())
	goleak.VerifyTestMain(m)
}

// check kills leaders of one system and checks that the measured times are plausible.
func check(t *testing.T, s System, kills int) Result {
	t.Helper()
	cfg := Config{Setup: report.Setup{Dir: t.TempDir(), Rounds: 1, Progress: t.Logf}, Systems: []System{s}, Kills: kills}
	if strings.HasPrefix(s.Name, "Bellwether") {
		cfg.Program = fleettest.Program(t)
	}
	result, err := Run(t.Context(), cfg)
	if errors.Is(err, azurite.ErrNoNode) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Systems) != 1 || len(result.Systems[0].Millis) != kills {
		t.Fatalf("got %+v", result)
	}
	if ms := result.Systems[0].Millis; ms.Least() <= 0 || ms.Most() > 60_000 {
		t.Errorf("got %v ms", ms)
	}
	left, err := os.ReadDir(cfg.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder for data: %v, %v", left, err)
	}
	return result
}

func named(t *testing.T, name string) System {
	t.Helper()
	all := Systems()
	i := slices.IndexFunc(all, func(s System) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("there is no system %q", name)
	}
	return all[i]
}

func TestBellwether(t *testing.T) {
	t.Parallel()
	result := check(t, named(t, "Bellwether, JetStream"), 2)
	row := result.Tables()[0].Rows[0]
	if row[0] != "Bellwether, JetStream" || row[1] != "2" || row[5] != "1" {
		t.Errorf("got %v", row)
	}
}

func TestRaft(t *testing.T) {
	t.Parallel()
	check(t, named(t, "hashicorp/raft"), 2)
}

func TestEtcd(t *testing.T) {
	t.Parallel()
	check(t, named(t, "etcd, session of 5 s"), 1) // a session of 1 s may expire on a busy machine
}

func TestOnAzurite(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs Azurite, and waits for leases to expire")
	}
	for _, name := range []string{"Bellwether, Azurite", "blob lease, polled"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, named(t, name), 1)
		})
	}
}

// TestEtcdGrantsTheSession checks that the benchmark fails if etcd grants a longer session than
// requested.
func TestEtcdGrantsTheSession(t *testing.T) {
	t.Parallel()
	server, endpoint, err := startEtcd(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	_, err = startParty(t.Context(), etcdRole, []any{etcdCandidate{endpoint, 0}}, nil)
	if err == nil {
		t.Error("a session of no time was granted")
	}
}

func TestCandidateThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	closed := false
	_, err := startParty(t.Context(), "no such role", []any{1}, func() error { closed = true; return nil })
	if err == nil || !strings.Contains(err.Error(), "no such role") || !closed {
		t.Errorf("got %v; what is below was closed: %v", err, closed)
	}
}

func TestCancelledRunStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cfg := Config{Setup: report.Setup{Dir: t.TempDir(), Rounds: 5}, Systems: []System{named(t, "hashicorp/raft")}, Kills: 1}
	cfg.Progress = func(string, ...any) { cancel() }
	result, err := Run(ctx, cfg)
	if !errors.Is(err, context.Canceled) || len(result.Systems[0].Millis) != 1 {
		t.Errorf("got %+v, %v", result, err)
	}
	left, err := os.ReadDir(cfg.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder for data: %v, %v", left, err)
	}
}
