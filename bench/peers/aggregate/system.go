package aggregate

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bellwether-compute/bellwether/bench/peers/fleet"
	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
)

//go:embed programs/vectors.c
var programC []byte

//go:embed programs/vectors.py
var programPython []byte

// System is one of the compared systems.
type System = report.System[*place, Shape, timed]

// These constants are the names of the compared systems.
const (
	Bellwether = "Bellwether, vectors" // the suffix distinguishes this system from Bellwether in the other benchmarks
	openMPI    = "Open MPI"
)

// Systems returns all systems, Bellwether first.
func Systems() []System {
	return []System{
		{Name: Bellwether, Language: "Go", Versions: bellwetherVersion, Run: runBellwether()},
		{Name: "Bellwether, vectors in shards", Language: "Go", Versions: bellwetherVersion, Run: runBellwether("--shard", "256KiB")},
		{Name: openMPI, Language: "C", Versions: func(ctx context.Context, _ *place) (string, error) { return processes.VersionMPI(ctx) }, Run: runMPI},
		{Name: "Dask", Language: "NumPy", Versions: pythonVersion("dask"), Run: runPython("dask")},
		{Name: "Redis", Language: "NumPy", Versions: pythonVersion("redis"), Run: runRedis},
	}
}

// timed contains the durations, in seconds, of a system and of the loop in the system's language.
type timed struct {
	System float64 `json:"system"`
	Loop   float64 `json:"loop"`
	Local  float64 `json:"run,omitempty"` // seconds of the job in one process; measured only for Bellwether
}

type place struct {
	dir, program string
	workers      int
	cores        int
}

type answer struct {
	Seconds     float64
	First, Last float64
}

func (a answer) check(s Shape) error {
	var first, last uint64
	for p := range s.Partitions {
		first += p * 31 & 0xffff
		last += (p*31 + s.length() - 1) & 0xffff
	}
	if a.First != float64(first) || a.Last != float64(last) {
		return fmt.Errorf("the sum begins with %.0f and ends with %.0f, want %d and %d", a.First, a.Last, first, last)
	}
	return nil
}

func sum(ctx context.Context, s Shape, name string, args ...string) (seconds float64, err error) {
	var a answer
	if err := processes.Ask(ctx, &a, "", name, args...); err != nil {
		return 0, err
	}
	return a.Seconds, a.check(s)
}

// runBellwether returns a function that runs the benchmark with further flags.
func runBellwether(flags ...string) func(context.Context, *place, Shape) (timed, error) {
	return func(ctx context.Context, p *place, s Shape) (t timed, err error) {
		var report struct {
			Points []struct {
				Loop    float64 `json:"loop_seconds"`
				Local   float64 `json:"run_seconds"`
				Cluster float64 `json:"cluster_seconds"`
			}
		}
		args := append([]string{
			"bench", "aggregate", "-o", "json", "--rounds", "1", "--workers", strconv.Itoa(p.workers),
			"--sizes", fmt.Sprint(s.Bytes), "--total", fmt.Sprint(s.Bytes), "--least", fmt.Sprint(s.Partitions),
		}, flags...)
		err = processes.Ask(ctx, &report, "", p.program, args...)
		if err == nil && len(report.Points) != 1 {
			err = fmt.Errorf("bench aggregate printed %d points, want 1", len(report.Points))
		}
		if err != nil {
			return t, err
		}
		point := report.Points[0]
		return timed{point.Cluster, point.Loop, point.Local}, nil
	}
}

func bellwetherVersion(ctx context.Context, p *place) (string, error) {
	version, err := fleet.Version(ctx, p.program)
	return version + ", " + servers.NATSVersion, err
}

func runMPI(ctx context.Context, p *place, s Shape) (t timed, err error) {
	program, err := processes.CompileMPI(ctx, filepath.Join(p.dir, "vectors"), programC)
	if err != nil {
		return t, err
	}
	partitions, length := fmt.Sprint(s.Partitions), fmt.Sprint(s.length())
	if t.Loop, err = sum(ctx, s, program, "loop", partitions, length, fmt.Sprint(p.cores)); err != nil {
		return t, err
	}
	t.System, err = sum(ctx, s, "mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", fmt.Sprint(p.workers), program, "mpi", partitions, length)
	return t, err
}

func (p *place) script() (string, error) {
	file := filepath.Join(p.dir, "vectors.py")
	return file, os.WriteFile(file, programPython, 0o600)
}

// runPython returns a function that measures one mode of the Python program.
func runPython(mode string, more ...string) func(context.Context, *place, Shape) (timed, error) {
	return func(ctx context.Context, p *place, s Shape) (t timed, err error) {
		script, err := p.script()
		if err != nil {
			return t, err
		}
		partitions, length := fmt.Sprint(s.Partitions), fmt.Sprint(s.length())
		if t.Loop, err = sum(ctx, s, processes.Python, script, "loop", partitions, length, fmt.Sprint(p.cores)); err != nil {
			return t, err
		}
		t.System, err = sum(ctx, s, processes.Python, append([]string{script, mode, partitions, length, fmt.Sprint(p.workers)}, more...)...)
		return t, err
	}
}

// runRedis runs a new server, so that its memory contains no data of other runs.
func runRedis(ctx context.Context, p *place, s Shape) (t timed, err error) {
	dir, err := os.MkdirTemp(p.dir, "redis-")
	if err != nil {
		return t, err
	}
	server, err := servers.StartRedis(ctx, dir, "everysec")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, server.Stop(), os.RemoveAll(dir)) }()
	return runPython("redis", server.Address)(ctx, p, s)
}

func pythonVersion(of string) func(context.Context, *place) (string, error) {
	return func(ctx context.Context, p *place) (string, error) {
		script, err := p.script()
		if err != nil {
			return "", err
		}
		var v struct{ Python, NumPy, Dask, Redis string }
		if err := processes.Ask(ctx, &v, "", processes.Python, script, "versions"); err != nil {
			return "", err
		}
		base := fmt.Sprintf("Python %s, NumPy %s", v.Python, v.NumPy)
		if of == "dask" {
			return "Dask " + v.Dask + ", " + base, nil
		}
		server, err := servers.RedisVersion(ctx)
		return fmt.Sprintf("%s, redis-py %s, %s", server, v.Redis, base), err
	}
}
