package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// ground is the environment of a benchmark on this machine: a NATS server, storage, and
// processes of this program.
type ground struct {
	*machine.Servers
	dir     string
	traces  string // folder for recorded execution traces
	client  *client.Client
	workers *procs.Supervisor
	log     *slog.Logger
	args    []string  // arguments of every process
	output  io.Writer // output of all processes
}

// startGround starts a NATS server and storage. The flag --storage selects the kind of storage;
// startGround rejects other flags that name a cluster or an account. startGround ignores environment
// variables.
func startGround(ctx context.Context, a *console.App, b *benchmark) (g *ground, err error) {
	if err := b.checkAlone(); err != nil {
		return nil, err
	}
	cfg, err := console.TargetFlags{Storage: a.Target.Storage, Cluster: cluster.DefaultName, Replicas: 1}.Config()
	if err != nil {
		return nil, err
	}
	log, err := b.log.Logger(a)
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
	base, err := machine.Start(ctx, a, cfg, dir, 0, cfg.Storage == cluster.Azure, log)
	if err != nil {
		return nil, err
	}
	g = &ground{Servers: base, dir: dir, traces: traces, log: log, args: b.log.Args(), output: a.Err}
	if b.log.Level == "error" {
		g.output = io.Discard // errors in the logs of killed processes would confuse the user
	}
	if g.client, err = a.ConnectTo(ctx, base.Config, time.Minute); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// startFlock starts a NATS server, storage, and n workers with the given number of
// slots each.
func startFlock(ctx context.Context, a *console.App, b *benchmark, n, slots int, flags ...string) (*ground, error) {
	g, err := startGround(ctx, a, b)
	if err != nil {
		return nil, err
	}
	if err := g.startWorkers("", n, slots, flags...); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// flock returns a supervisor for processes that run a subcommand of the command bench.
func (g *ground) flock(command ...string) (*procs.Supervisor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return procs.New(procs.Config{
		Program: program, Args: slices.Concat([]string{"bench"}, command, g.args), Env: g.Environ(), Output: g.output, Logger: g.log,
	}), nil
}

// startWorkers starts n workers with additional flags and the given number of slots each. They
// record their executions in the folder traces unless it is "".
func (g *ground) startWorkers(traces string, n, slots int, flags ...string) (err error) {
	command := []string{"worker", "--traces", traces, "--with-parent", "--slots", fmt.Sprint(slots)}
	if g.workers, err = g.flock(append(command, flags...)...); err != nil {
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
func (g *ground) startLeader(cluster string) (stop func(), err error) {
	leader, err := g.flock("leader", cluster)
	if err != nil {
		return nil, err
	}
	if _, err := leader.Start(); err != nil {
		return nil, err
	}
	return func() { leader.Stop(machine.StopTimeout, nil) }, nil
}

// close stops all processes and removes all files of the benchmark.
func (g *ground) close() {
	if g.workers != nil {
		kill := make(chan struct{})
		close(kill) // kill the processes at once, because the results of running partitions are not needed
		g.workers.Stop(machine.StopTimeout, kill)
	}
	if g.client != nil {
		g.client.Close()
	}
	g.Servers.Close(g.log)
	_ = os.RemoveAll(g.dir) // errors do not matter, because the folder is a temporary folder
}
