//go:build unix

package hostile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	jobscluster "github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

const (
	workers = 3
	slots   = 4
	// drainTimeout is the drain timeout of the workers. stopWithin is the time within which a
	// worker must end. stopWithin allows for the drain, the handover and the return of user code on
	// a loaded machine.
	drainTimeout = 3 * time.Second
	stopWithin   = drainTimeout + 12*time.Second
	// restartPause is the time between the end of a worker and its restart by the supervisor.
	restartPause = 200 * time.Millisecond
	// patience is the maximum duration of each wait in a test.
	patience = 90 * time.Second
)

// cluster contains a NATS server, storage and worker processes. A supervisor restarts each worker
// process that ends.
type cluster struct {
	t      *testing.T
	client *client.Client
	dir    string
	log    *logtest.Log
	procs  *procs.Supervisor

	mu       sync.Mutex
	deaths   []string // descriptions of the unexpected ends of processes
	stopping bool
	ended    chan struct{} // closed by stop, so that no process is restarted
	watchers sync.WaitGroup

	steady  string // ID of the job that runs beside the hostile jobs
	release string // file whose creation releases the steady job
}

// newCluster starts a cluster and its steady job. The cluster is stopped when the test ends.
func newCluster(t *testing.T, on jobscluster.StorageKind, name string) *cluster {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	nats := natstest.Start(t, natsserver.Config{})
	cfg := jobscluster.Config{Name: name, NATS: jobscluster.NATS{URL: nats.URL()}, Storage: on}
	lease := "4s"
	env := []string{
		"BELLWETHER_NATS_URL=" + nats.URL(), "BELLWETHER_CLUSTER=" + name, "BELLWETHER_STORAGE=" + string(on),
		"GOTRACEBACK=single",
	}
	if on == jobscluster.Azure {
		lease = "15s"
		connection := azuritetest.Server(t).ConnectionString()
		cfg.Azure.Config = account.Config{ConnectionString: connection}
		env = append(env, "AZURE_STORAGE_CONNECTION_STRING="+connection)
	}
	c := &cluster{t: t, dir: t.TempDir(), log: &logtest.Log{}, ended: make(chan struct{})}
	c.procs = procs.New(procs.Config{
		Program: program, Env: env, Output: c.log,
		Args: []string{
			"worker", "--with-parent", "--slots", fmt.Sprint(slots), "--lease", lease,
			"--drain-timeout", drainTimeout.String(), "--log-format", "text",
		},
	})
	t.Cleanup(func() {
		c.stop()
		if t.Failed() {
			t.Logf("logs of the workers:\n%s", c.log)
		}
	})
	for range workers {
		c.start()
	}
	if c.client, err = client.Connect(t.Context(), client.Config{Cluster: cfg, Timeout: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	c.awaitWorkers()
	c.release = filepath.Join(c.dir, "release")
	c.steady = c.submit(steady, c.steadyParams(), 0)
	c.until("the steady job advances", func() bool { return c.done() > 0 })
	return c
}

// start starts a worker. The supervisor restarts the worker whenever it ends.
func (c *cluster) start() {
	p, err := c.procs.Start()
	if err != nil {
		c.t.Error(err)
		return
	}
	c.watchers.Go(func() {
		for {
			err := p.Wait()
			c.mu.Lock()
			if !c.stopping {
				c.deaths = append(c.deaths, fmt.Sprintf("%s: %v", p.Name(), err))
			}
			c.mu.Unlock()
			select {
			case <-c.ended:
				return
			case <-time.After(restartPause):
			}
			if p, err = c.procs.Start(); err != nil {
				return // the supervisor was stopped
			}
		}
	})
}

// stop ends all processes and the supervisor.
func (c *cluster) stop() {
	c.mu.Lock()
	was := c.stopping
	c.stopping = true
	c.mu.Unlock()
	if !was {
		close(c.ended)
	}
	c.procs.Stop(stopWithin, nil)
	c.watchers.Wait()
}

// died returns the descriptions of all deaths after the first n deaths.
func (c *cluster) died(n int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.deaths[n:])
}

// terminate sends SIGTERM to all workers and checks that each worker ends in time with status 0 or
// with one of the statuses in others. The supervisor restarts the workers.
func (c *cluster) terminate(t *testing.T, others ...int) {
	t.Helper()
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	running := c.procs.Running()
	began := time.Now()
	for _, p := range running {
		p.Signal(syscall.SIGTERM)
	}
	for _, p := range running {
		select {
		case <-p.Done():
			if status := exitStatus(p.Wait()); status != 0 && !slices.Contains(others, status) {
				t.Errorf("%s ended on SIGTERM with: %v", p.Name(), p.Wait())
			}
		case <-time.After(time.Until(began.Add(stopWithin))):
			t.Errorf("%s has not ended %v after SIGTERM, its drain timeout is %v", p.Name(), stopWithin, drainTimeout)
			p.Kill()
		}
	}
	t.Logf("%d workers ended %v after SIGTERM", len(running), time.Since(began).Round(time.Millisecond))
	c.mu.Lock()
	c.stopping = false
	c.mu.Unlock()
}

func exitStatus(err error) int {
	var status interface{ ExitCode() int }
	if err == nil {
		return 0
	}
	if e, ok := err.(interface{ ExitCode() int }); ok {
		status = e
		return status.ExitCode()
	}
	return -1
}

// until waits until the function holds returns true, and fails the test after patience.
func (c *cluster) until(what string, holds func() bool) {
	c.t.Helper()
	if !c.within(patience, holds) {
		c.t.Fatalf("waited %v until %s", patience, what)
	}
}

// within waits for at most d until the function holds returns true, and reports whether holds
// returned true.
func (c *cluster) within(d time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(d); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// awaitWorkers waits until the leader knows all workers.
func (c *cluster) awaitWorkers() {
	c.t.Helper()
	c.until("all workers are ready", func() bool {
		answer, err := c.client.Workers(c.t.Context())
		ready := 0
		for _, w := range answer.Workers {
			if w.State == "idle" || w.State == "busy" {
				ready++
			}
		}
		return err == nil && ready == workers && len(answer.Workers) == workers
	})
}

func (c *cluster) submit(job jobs.Job, params any, priority int) (id string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	id, err := c.client.Submit(ctx, job, client.SubmitOptions{Params: params, Priority: priority})
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// done returns the number of finished partitions of the steady job, or 0 if no leader answers.
func (c *cluster) done() uint64 {
	p, err := c.client.Progress(c.t.Context(), c.steady)
	if err != nil {
		return 0
	}
	return p.Done
}

// steadyParams returns the parameters of the steady job.
func (c *cluster) steadyParams() steadyParams {
	p := steadyParams{c.release, steadyPartitions}
	if *all {
		p.Partitions = allSteadyPartitions
	}
	return p
}

// firstLine returns the first line of an error's text, which omits stack traces.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
