package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/cli/flock"
)

// benchGround is a cluster that is measured, on this machine.
type benchGround struct {
	*ground
	cluster *cluster
	workers *flock.Flock
	traces  string // a folder
	remove  func()
}

// startBench starts a NATS server, storage and worker processes of some slots each,
// which may leave traces. Flags and variables that say which cluster or account is
// meant count for nothing but what kind of storage it is.
func (a *app) startBench(ctx context.Context, b *benchmark, workers, slots int, traced bool) (g *benchGround, err error) {
	at, _, err := a.at.resolve()
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
	g = &benchGround{traces: filepath.Join(dir, "traces"), remove: func() { _ = os.RemoveAll(dir) }}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if err := os.Mkdir(g.traces, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for the benchmark: %w", err)
	}
	at = place{cluster: defaultCluster, storage: at.storage}
	base, err := a.startGround(ctx, at, dir, 0, at.storage == storageAzure, log)
	if err != nil {
		return nil, err
	}
	g.ground = base
	g.remove = func() {
		base.close(log)
		_ = os.RemoveAll(dir)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	args := append([]string{"bench", "worker", "--with-parent", "--slots", fmt.Sprint(slots)}, b.log.args()...)
	if traced {
		args = append(args, "--traces", g.traces)
	}
	output := a.Err
	if b.log.level == "error" {
		output = io.Discard // processes that are killed complain
	}
	g.workers = flock.New(flock.Config{Program: program, Args: args, Env: base.env(), Output: output, Log: log})
	for range workers {
		if _, err := g.workers.Add(); err != nil {
			return nil, err
		}
	}
	a.nats, a.at = natsFlags{url: base.nats.URL(), local: true}, base.at
	g.cluster, err = a.open(ctx)
	return g, err
}

// close ends all of it and leaves nothing behind.
func (g *benchGround) close() {
	if g.cluster != nil {
		g.cluster.close()
	}
	if g.workers != nil {
		hurry := make(chan struct{})
		close(hurry) // what they work on is of no more use
		g.workers.Stop(farewell, hurry)
	}
	g.remove()
}

// measured is the cluster as the benchmarks take it.
func (c *cluster) measured() bench.Cluster {
	return bench.Cluster{Conn: c.nc, Subjects: c.subjects, Store: c.store}
}
