//go:build unix

package upgrade

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

func TestMain(m *testing.M) { os.Exit(azuritetest.StopAfter(m).Run()) }

// job is a job with the parameters that decide its result.
type job []string

// TestUpgrade changes the version of a fleet and changes it back, on each storage.
func TestUpgrade(t *testing.T) {
	if os.Getenv("UPGRADE") == "" {
		t.Skip("builds an earlier version: make upgrade-check")
	}
	old, current := before(t), this(t)
	for _, storage := range []string{"jetstream", "azure"} {
		t.Run(storage, func(t *testing.T) {
			old.t, current.t = t, t
			server, err := natsserver.Start(natsserver.Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Shutdown)
			flags, lease := []string{"--nats", server.URL(), "--cluster", fmt.Sprint("upgrade-", time.Now().UnixNano()), "--storage", storage}, "4s"
			if storage == "azure" {
				file := filepath.Join(t.TempDir(), "connection")
				if err := os.WriteFile(file, []byte(azuritetest.Server(t).ConnectionString()), 0o600); err != nil {
					t.Fatal(err)
				}
				flags, lease = append(flags, "--azure-connection-file", file), "15s"
			}
			points := writePoints(t)
			f := newFleet(t, flags, lease, filepath.Dir(points), old, current)
			for range workers {
				f.add(old)
			}
			f.settle(old)
			c := change{f, points}
			c.run("upgrade", old, current, syscall.SIGTERM)
			c.run("rollback", current, old, syscall.SIGKILL)
		})
	}
}

// change replaces all workers of a fleet while jobs run.
type change struct {
	*fleet
	points string // file with the points of kmeans
}

// run replaces workers of the version from by those of the version to. The signal is that for the leader.
func (c change) run(name string, from, to program, leading syscall.Signal) {
	t := c.t
	t.Logf("%s: from %s to %s", name, from.version, to.version)
	// The limits differ in the two directions, so that each version keeps partials that the other has not kept.
	known := job{"primes", "-p", fmt.Sprint("limit=", 900_000_000+len(name))}
	c.result(from, c.submit(from, append(slices.Clone(known), "--reuse")...))

	slow, rounds := job{"probe", "-p", "partitions=1500", "-p", "partial-size=100"}, job{"kmeans", "-p", "input=" + c.points, "-p", "k=2000", "-p", "tolerance=0", "-p", "rounds=40"}
	after := job{"montecarlo", "-p", "paths=300000", "-p", "option=asian", "-p", "steps=20"}
	slowID := c.submit(from, append(slices.Clone(slow), "-p", "sleep=120ms", "--priority", "1")...)
	roundsID := c.submit(from, append(slices.Clone(rounds), "--priority", "1")...)
	afterID := c.submit(from, append(slices.Clone(after), "--after", slowID)...)
	c.wait("the jobs run", func() bool {
		return c.status(from, slowID).Done > 0 && c.status(from, roundsID).Round > 1
	})
	for i := range workers {
		leader := c.settle(from)
		next := c.next(from, leader, i == 1)
		s := syscall.SIGTERM
		if next.Process == leader {
			s = leading
		}
		c.replace(next, s, to)
		c.settle(to)
		for _, id := range []string{slowID, roundsID, afterID} {
			now := c.status(from, id)
			t.Logf("%s: %d of %d workers replaced (%v, leader: %v), job %s is %s, partitions %d, round %d", name, i+1, workers, s, next.Process == leader, id, now.State, now.Done, now.Round)
			if now.State == "completed" && (id != roundsID || i < 1) {
				t.Errorf("%s: job %s has completed before all workers were replaced: it is too short for this machine", name, id)
			}
		}
	}
	for id, j := range map[string]job{slowID: slow, roundsID: rounds, afterID: after} {
		c.same(name, id, j, to, from)
	}
	again := c.submit(to, append(slices.Clone(known), "--reuse")...)
	c.same(name, again, known, to, from)
	if c.status(to, again).Reuse.Partitions == 0 {
		t.Errorf("%s: %s has reused nothing of what %s has kept", name, to.version, from.version)
	}
}

// next returns a worker of a version, if possible the leader or one that does not lead.
func (c change) next(from program, leader *procs.Process, leads bool) (next worker) {
	for _, w := range c.running {
		if w.version == from.version && (next.Process == nil || (w.Process == leader) == leads) {
			next = w
		}
	}
	return next
}

// same compares the SHA-256 of a job's result, as both versions read it, with a run in one process.
func (c change) same(name, id string, j job, programs ...program) {
	c.t.Helper()
	var alone struct{ SHA256 string }
	programs[0].must(&alone, slices.Concat([]string{"run"}, j)...)
	for _, p := range programs {
		if got := c.result(p, id); got != alone.SHA256 {
			c.t.Errorf("%s: the result of job %s, %s, has the SHA-256 %s as %s reads it, and %s in one process", name, id, strings.Join(j, " "), got, p.version, alone.SHA256)
		}
	}
}

// writePoints writes the input of kmeans.
func writePoints(t *testing.T) string {
	random, text := rand.New(rand.NewPCG(1, 2)), new(strings.Builder)
	text.WriteString("x,y,z\n")
	for range 30_000 {
		fmt.Fprintf(text, "%d,%d,%d\n", random.IntN(1e6), random.IntN(1e6), random.IntN(1e6))
	}
	file := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
