// Package fleet runs a Bellwether cluster with worker processes of the bellwether program and a
// NATS server in this process. The NATS server syncs messages to disk before it acknowledges them.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

// Config is the configuration of [Start].
type Config struct {
	Program string // path of the bellwether program
	Dir     string // folder for data
	Workers int
	Slots   int      // number of slots per worker
	Memory  string   // memory of each worker, as its flag; empty: the worker's default
	Env     []string // environment of the workers, as name=value
	// Azure is the connection string of a storage account. If Azure is empty, storage is JetStream.
	Azure string
}

// Cluster is the name of the fleet's cluster.
const Cluster = "peers"

// Fleet is a running cluster.
type Fleet struct {
	cfg     Config
	server  *natsserver.Server
	workers *procs.Supervisor
	flags   []string // command-line flags that select the cluster and its storage
	log     processes.Tail
}

// Start starts a cluster and waits until all workers have joined. The folder must exist.
func Start(ctx context.Context, cfg Config) (f *Fleet, err error) {
	f = &Fleet{cfg: cfg, flags: []string{"--cluster", Cluster, "--storage", "jetstream"}}
	if cfg.Azure != "" {
		file := filepath.Join(cfg.Dir, "connection")
		if err := os.WriteFile(file, []byte(cfg.Azure), 0o600); err != nil {
			return nil, err
		}
		f.flags = []string{"--cluster", Cluster, "--storage", "azure", "--azure-connection-file", file}
	}
	if f.server, err = natsserver.Start(natsserver.Config{Dir: filepath.Join(cfg.Dir, "nats")}); err != nil {
		return nil, err
	}
	args := append([]string{"worker", "--with-parent", "--slots", fmt.Sprint(cfg.Slots), "--allow", "probe"}, f.flags...)
	if cfg.Memory != "" {
		args = append(args, "--memory", cfg.Memory)
	}
	f.workers = procs.New(procs.Config{
		Program: cfg.Program,
		Args:    args,
		Env:     append([]string{"BELLWETHER_NATS_URL=" + f.server.URL()}, cfg.Env...),
		Output:  &f.log,
	})
	for range cfg.Workers {
		if _, err := f.workers.Start(); err != nil {
			f.Stop()
			return nil, err
		}
	}
	if err := f.AwaitWorkers(ctx); err != nil {
		f.Stop()
		return nil, err
	}
	return f, nil
}

// stopTimeout is the time within which workers must drain.
const stopTimeout = 10 * time.Second

// Stop ends all workers and the server.
func (f *Fleet) Stop() {
	f.workers.Stop(stopTimeout, nil)
	f.server.Shutdown()
}

// NATS returns the URL of the NATS server.
func (f *Fleet) NATS() string { return f.server.URL() }

// Ask runs a command of the bellwether program and decodes its output into answer.
func (f *Fleet) Ask(ctx context.Context, answer any, args ...string) error {
	args = slices.Concat(args, []string{"-o", "json", "--nats", f.server.URL(), "--reply-timeout", "20s"}, f.flags)
	if err := processes.Ask(ctx, answer, "", f.cfg.Program, args...); err != nil {
		return fmt.Errorf("bellwether %s: %w", args[0], err)
	}
	return nil
}

const (
	patience     = time.Minute
	pollInterval = 20 * time.Millisecond
)

// Until calls holds repeatedly until holds returns nil.
func (f *Fleet) Until(ctx context.Context, what string, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w\n%s", what, err, f.log.String())
		case <-time.After(pollInterval):
		}
	}
}

// AwaitWorkers waits until all workers are ready.
func (f *Fleet) AwaitWorkers(ctx context.Context) error {
	return f.Until(ctx, "all workers are there", func(ctx context.Context) error {
		var workers []struct{ State string }
		if err := f.Ask(ctx, &workers, "workers"); err != nil {
			return err
		}
		ready := 0
		for _, w := range workers {
			if w.State == "idle" || w.State == "busy" {
				ready++
			}
		}
		if ready != f.cfg.Workers {
			return fmt.Errorf("%d of %d are", ready, f.cfg.Workers)
		}
		return nil
	})
}

// Leader describes the leader of the cluster.
type Leader struct {
	Epoch uint64
	PID   int
}

// KillLeader kills the leader's process, and returns the leader and the time of the kill.
func (f *Fleet) KillLeader(ctx context.Context) (leader Leader, killed time.Time, err error) {
	if err := f.Ask(ctx, &leader, "leader"); err != nil {
		return leader, killed, err
	}
	process := f.workers.Find(leader.PID)
	if process == nil {
		return leader, killed, fmt.Errorf("the leader, process %d, is none of the fleet's", leader.PID)
	}
	killed = time.Now()
	process.Kill()
	return leader, killed, nil
}

// Replace starts a worker that replaces a killed worker, and waits until all workers are ready.
func (f *Fleet) Replace(ctx context.Context) error {
	if _, err := f.workers.Start(); err != nil {
		return err
	}
	return f.AwaitWorkers(ctx)
}

// Outcome describes a job that has ended.
type Outcome struct {
	State     string
	Error     string
	Repeated  uint64
	Result    json.RawMessage
	Submitted time.Time
	Finished  time.Time // time at which the result became durable
}

// ErrFailed is the error for a job that did not complete.
var ErrFailed = errors.New("the job has not completed")

// Run submits a job and waits for its end.
func (f *Fleet) Run(ctx context.Context, job string, params ...string) (Outcome, error) {
	var o Outcome
	if err := f.Ask(ctx, &o, submit(job, params, "--wait")...); err != nil {
		return o, err
	}
	if o.State != "completed" {
		return o, fmt.Errorf("%w: it is %s: %s", ErrFailed, o.State, o.Error)
	}
	return o, nil
}

// Submit submits a job and returns its ID.
func (f *Fleet) Submit(ctx context.Context, job string, params ...string) (string, error) {
	var answer struct{ ID string }
	err := f.Ask(ctx, &answer, submit(job, params)...)
	return answer.ID, err
}

func submit(job string, params []string, more ...string) []string {
	args := append([]string{"submit", job}, more...)
	for _, p := range params {
		args = append(args, "-p", p)
	}
	return args
}

// Version returns the version of the program.
func Version(ctx context.Context, program string) (string, error) {
	var answer struct{ Version string }
	err := processes.Ask(ctx, &answer, "", program, "version", "-o", "json")
	return "Bellwether " + answer.Version, err
}
