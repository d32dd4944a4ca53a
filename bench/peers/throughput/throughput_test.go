package throughput

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/fleet/fleettest"
	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

func TestMain(m *testing.M) {
	processes.Main(Roles())
	goleak.VerifyTestMain(m)
}

// place returns a folder whose subfolders PostgreSQL's user can access.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "peers-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// small returns the configuration of a run that takes a few seconds.
func small(t *testing.T, systems ...System) Config {
	t.Helper()
	for i := range systems {
		if s := systems[i].Settings; len(s) > 3 {
			systems[i].Settings = []Setting{s[0], s[len(s)-1]} // only the first and the last setting are tried
		}
	}
	return Config{
		Setup: report.Setup{Dir: place(t), Rounds: 1, Progress: t.Logf}, Systems: systems, Processes: 2, Slots: 2,
		Same: 300, Busy: 20 * time.Millisecond, BusyTasks: []uint64{40},
	}
}

func named(t *testing.T, names ...string) (found []System) {
	t.Helper()
	for _, s := range Systems() {
		for _, name := range names {
			if s.Name == name {
				found = append(found, s)
			}
		}
	}
	if len(found) != len(names) {
		t.Fatalf("not all of %q are systems", names)
	}
	return found
}

// check runs a measurement, which checks that all tasks were done, and checks that the result is
// complete.
func check(t *testing.T, cfg Config) Result {
	t.Helper()
	result, err := Run(t.Context(), cfg)
	if errors.Is(err, servers.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range result.Loads {
		for i, runs := range l.Runs {
			if runs.System != cfg.Systems[i].Name || runs.Tasks == 0 || len(runs.Seconds) != cfg.Rounds || runs.Seconds.Least() <= 0 {
				t.Errorf("%s: got %+v", l.Name, runs)
			}
		}
	}
	left, err := os.ReadDir(cfg.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder for data: %v, %v", left, err)
	}
	return result
}

func TestBellwetherBesideOthers(t *testing.T) {
	cfg := small(t, named(t, Bellwether, "goroutine pool", "NATS queue group")...)
	cfg.Program = fleettest.Program(t)
	cfg.For, cfg.Same = 200*time.Millisecond, 0
	result := check(t, cfg)
	tables := result.Tables()
	if len(tables) != 3 { // a table for each of two loads, and a table of the systems
		t.Fatalf("got %d tables", len(tables))
	}
	for _, table := range tables {
		if len(table.Rows) != 3 || table.Rows[0][0] != Bellwether {
			t.Errorf("%s: got %v", table.Title, table.Rows)
		}
	}
	if got := tables[0].Rows[0][5]; got != "1" {
		t.Errorf("Bellwether is %s times as fast as itself", got)
	}
}

func TestJetStream(t *testing.T) {
	check(t, small(t, named(t, "JetStream, memory", "JetStream, file", "JetStream, file, synced")...))
}

func TestAsynq(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs Redis")
	}
	check(t, small(t, named(t, "asynq", "asynq, synced")...))
}

func TestRiver(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	check(t, small(t, named(t, "River", "River, synced")...))
}

// fake returns a system whose runs return the result of the function run.
func fake(run func(n uint64) (work.Sum, error)) System {
	return System{
		Name:     "fake",
		Versions: func(context.Context, Place) (string, error) { return "", nil },
		Settings: []Setting{{}},
		open: func(context.Context, Place, work.Work, Setting) (session, error) {
			return fakeSession{run}, nil
		},
	}
}

type fakeSession struct {
	do func(n uint64) (work.Sum, error)
}

func (s fakeSession) run(_ context.Context, n uint64) (time.Duration, work.Sum, error) {
	sum, err := s.do(n)
	return time.Second, sum, err
}

func (fakeSession) close() error { return nil }

func TestWrongSumIsAnError(t *testing.T) {
	_, err := Run(t.Context(), small(t, fake(func(n uint64) (work.Sum, error) { return work.Sum{Tasks: n}, nil })))
	if err == nil || !strings.Contains(err.Error(), "not done once each") {
		t.Errorf("got %v", err)
	}
}

func TestFailureNamesTheSystem(t *testing.T) {
	alas := errors.New("alas")
	_, err := Run(t.Context(), small(t, fake(func(uint64) (work.Sum, error) { return work.Sum{}, alas })))
	if !errors.Is(err, alas) || !strings.Contains(err.Error(), "fake") {
		t.Errorf("got %v", err)
	}
}

// TestFastestSettingIsChosen checks that the rounds use the fastest setting.
func TestFastestSettingIsChosen(t *testing.T) {
	s := fake(nil)
	s.Settings = []Setting{{Hand: 1}, {Hand: 2}, {Hand: 3}}
	s.open = func(_ context.Context, _ Place, w work.Work, setting Setting) (session, error) {
		return pacedSession{w, time.Second / time.Duration(1+setting.Hand%3)}, nil
	}
	result, err := Run(t.Context(), small(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Loads[0].Runs[0].Setting.Hand; got != 2 {
		t.Errorf("setting %d was chosen, want 2", got)
	}
}

// pacedSession is a session whose runs take a given time.
type pacedSession struct {
	work work.Work
	took time.Duration
}

func (s pacedSession) run(ctx context.Context, n uint64) (time.Duration, work.Sum, error) {
	sum, err := s.work.Right(ctx, n, 1)
	return s.took, sum, err
}

func (pacedSession) close() error { return nil }

// lostBroker is the broker of a queue that loses its last task.
type lostBroker struct{ *natsBroker }

func (b lostBroker) insert(ctx context.Context, lo, hi uint64) error {
	if err := b.natsBroker.insert(ctx, lo, hi-1); err != nil {
		return err
	}
	return errors.New("the last one is lost")
}

func TestInsertionThatFailsIsAnError(t *testing.T) {
	s := queue(System{
		Name: "lossy", Settings: settings(0),
		Versions: func(context.Context, Place) (string, error) { return "", nil },
	}, natsKind, func(_ context.Context, p Place, _ Setting) (broker, error) {
		b, err := startNATS(p, false)
		return lostBroker{b}, err
	})
	_, err := Run(t.Context(), small(t, s))
	if err == nil || !strings.Contains(err.Error(), "the last one is lost") {
		t.Errorf("got %v", err)
	}
}

func TestConsumerThatFailsIsAnError(t *testing.T) {
	s := queue(System{
		Name: "unheard of", Settings: settings(0),
		Versions: func(context.Context, Place) (string, error) { return "", nil },
	}, "no such kind", func(_ context.Context, p Place, _ Setting) (broker, error) {
		b, err := startNATS(p, false)
		return b, err
	})
	_, err := Run(t.Context(), small(t, s))
	if err == nil || !strings.Contains(err.Error(), `there is no queue "no such kind"`) {
		t.Errorf("got %v", err)
	}
}

// TestCancelledRunStops checks that all servers and processes end when the context is cancelled at
// any time of a run.
func TestCancelledRunStops(t *testing.T) {
	for _, after := range []int{1, 2, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		cfg := small(t, named(t, "NATS queue group", "JetStream, file")...)
		lines := 0
		cfg.Progress = func(string, ...any) {
			if lines++; lines == after {
				cancel()
			}
		}
		if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d: got %v", after, err)
		}
		left, err := os.ReadDir(cfg.Dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the folder for data: %v, %v", left, err)
		}
		cancel()
	}
}

func TestRoundTo2(t *testing.T) {
	for x, want := range map[float64]uint64{1: 1, 99.7: 100, 12345: 12_000, 12_600_000: 13_000_000} {
		if got := roundTo2(x); got != want {
			t.Errorf("%v: got %d, want %d", x, got, want)
		}
	}
}

func TestSettingIsTold(t *testing.T) {
	for want, s := range map[string]Setting{"default": {}, "GOMAXPROCS=1": {Procs: 1}, "GOMAXPROCS=1, 8 in hand": {Procs: 1, Hand: 8}, "100 inserted at a time": {Batch: 100}} {
		if got := fmt.Sprint(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
