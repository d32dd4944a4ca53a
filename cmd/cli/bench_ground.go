package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// benchGround is the environment of a benchmark on this machine: a NATS server, storage, and
// processes of this program.
type benchGround struct {
	*localServers
	dir     string
	traces  string // folder for recorded execution traces
	client  *client.Client
	workers *procs.Supervisor
	log     *slog.Logger
	args    []string  // arguments of every process
	output  io.Writer // output of all processes
}

// startBench starts a NATS server and storage. The flag --storage selects the kind of storage;
// startBench rejects other flags that name a cluster or an account. startBench ignores environment
// variables.
func (a *app) startBench(ctx context.Context, b *benchmark) (g *benchGround, err error) {
	if err := b.checkAlone(); err != nil {
		return nil, err
	}
	cfg, err := targetFlags{storage: a.target.storage, cluster: cluster.DefaultName, replicas: 1}.config()
	if err != nil {
		return nil, err
	}
	log, err := b.log.logger(a)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bellwether-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the benchmark: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for traces: %w", err)
	}
	base, err := a.startLocal(ctx, cfg, dir, 0, cfg.Storage == cluster.Azure, log)
	if err != nil {
		return nil, err
	}
	g = &benchGround{localServers: base, dir: dir, traces: traces, log: log, args: b.log.args(), output: a.Err}
	if b.log.level == "error" {
		g.output = io.Discard // errors in the logs of killed processes would confuse the user
	}
	if g.client, err = a.connectTo(ctx, base.cfg, time.Minute); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// startBenchFlock starts a NATS server, storage, and n workers with the given number of
// slots each.
func (a *app) startBenchFlock(ctx context.Context, b *benchmark, n, slots int, flags ...string) (*benchGround, error) {
	g, err := a.startBench(ctx, b)
	if err != nil {
		return nil, err
	}
	if err := g.startWorkers(n, slots, flags...); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// flock returns a supervisor for processes that run a subcommand of the command bench.
func (g *benchGround) flock(command ...string) (*procs.Supervisor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return procs.New(procs.Config{
		Program: program, Args: slices.Concat([]string{"bench"}, command, g.args), Env: g.env(), Output: g.output, Logger: g.log,
	}), nil
}

// startWorkers starts n workers with additional flags and the given number of slots each.
func (g *benchGround) startWorkers(n, slots int, flags ...string) (err error) {
	if g.workers, err = g.flock(append([]string{"worker", "--with-parent", "--slots", fmt.Sprint(slots)}, flags...)...); err != nil {
		return err
	}
	for range n {
		if _, err := g.workers.Start(); err != nil {
			return err
		}
	}
	return nil
}

// startLeader starts a process that leads a cluster and executes nothing.
func (g *benchGround) startLeader(cluster string) (stop func(), err error) {
	leader, err := g.flock("leader", cluster)
	if err != nil {
		return nil, err
	}
	if _, err := leader.Start(); err != nil {
		return nil, err
	}
	return func() { leader.Stop(stopTimeout, nil) }, nil
}

// close stops all processes and removes all files of the benchmark.
func (g *benchGround) close() {
	if g.workers != nil {
		kill := make(chan struct{})
		close(kill) // kill the processes at once, because the results of running partitions are not needed
		g.workers.Stop(stopTimeout, kill)
	}
	if g.client != nil {
		g.client.Close()
	}
	g.localServers.close(g.log)
	_ = os.RemoveAll(g.dir) // errors do not matter, because the folder is a temporary folder
}
