package rounds

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/bellwether-compute/bellwether/bench/peers/fleet"
	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
)

//go:embed programs/kmeans.c
var programC []byte

//go:embed programs/kmeans.py
var programPython []byte

// System is one of the compared systems.
type System = report.System[*place, Shape, timed]

// These constants are the names of the compared systems. The suffixes distinguish them from the same systems in the
// other benchmarks.
const (
	Bellwether = "Bellwether, rounds"
	openMPI    = "Open MPI, rounds"
	dask       = "Dask, rounds"
)

// Systems returns all systems, Bellwether first.
func Systems() []System {
	return []System{
		{Name: Bellwether, Language: "Go", Versions: bellwetherVersion, Run: runBellwether},
		{Name: openMPI, Language: "C", Versions: func(ctx context.Context, _ *place) (string, error) { return processes.VersionMPI(ctx) }, Run: runMPI},
		{Name: dask, Language: "NumPy", Versions: daskVersion, Run: runDask},
	}
}

// timed contains the durations, in seconds, of a system and of the loop in the system's language.
type timed struct {
	System float64 `json:"system"`
	Loop   float64 `json:"loop"`
}

type place struct {
	dir, program string
	workers      int
	cores        int
}

// answer is what a program prints: the time, and the sum of the squared distances in the last round.
type answer struct{ Seconds, Loss float64 }

// pair runs the loop and the system, and compares their losses.
func pair(ctx context.Context, loop, system []string) (t timed, err error) {
	var one, other answer
	if err := processes.Ask(ctx, &one, "", loop[0], loop[1:]...); err != nil {
		return t, err
	}
	if err := processes.Ask(ctx, &other, "", system[0], system[1:]...); err != nil {
		return t, err
	}
	if !(math.Abs(one.Loss-other.Loss) <= 1e-9*one.Loss) {
		return t, fmt.Errorf("the loss is %v, that of the loop is %v", other.Loss, one.Loss)
	}
	return timed{System: other.Seconds, Loop: one.Seconds}, nil
}

// arguments returns the arguments of a program of another system.
func (s Shape) arguments(mode string) []string {
	return []string{mode, fmt.Sprint(s.Points), fmt.Sprint(s.Dimensions), fmt.Sprint(s.Clusters), fmt.Sprint(s.Rounds)}
}

// runBellwether measures the rounds with centres, as those of the loop, and neither the first round, which reads the file,
// nor the submission.
func runBellwether(ctx context.Context, p *place, s Shape) (t timed, err error) {
	var report struct {
		KMeans []struct {
			Job  float64 `json:"job_s"`
			Loop float64 `json:"loop_s"`
		}
	}
	err = processes.Ask(ctx, &report, "", p.program, "bench", "rounds", "-o", "json", "--jobs", "kmeans", "--dir", p.dir, "--workers", fmt.Sprint(p.workers),
		"--rows", fmt.Sprint(s.Points), "--columns", fmt.Sprint(s.Dimensions), "--k", fmt.Sprint(s.Clusters), "--rounds", fmt.Sprint(s.Rounds))
	if err == nil && len(report.KMeans) != 1 {
		err = fmt.Errorf("bench rounds printed %d measurements of k-means, want 1", len(report.KMeans))
	}
	if err != nil {
		return t, err
	}
	return timed{report.KMeans[0].Job, report.KMeans[0].Loop}, nil
}

func bellwetherVersion(ctx context.Context, p *place) (string, error) {
	version, err := fleet.Version(ctx, p.program)
	return version + ", " + servers.NATSVersion, err
}

func runMPI(ctx context.Context, p *place, s Shape) (t timed, err error) {
	program, err := processes.CompileMPI(ctx, filepath.Join(p.dir, "kmeans"), programC)
	if err != nil {
		return t, err
	}
	launch := []string{"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", fmt.Sprint(p.workers), program}
	return pair(ctx, append(append([]string{program}, s.arguments("loop")...), fmt.Sprint(p.cores)), append(launch, s.arguments("mpi")...))
}

func (p *place) script() (string, error) {
	file := filepath.Join(p.dir, "kmeans.py")
	return file, os.WriteFile(file, programPython, 0o600)
}

func runDask(ctx context.Context, p *place, s Shape) (t timed, err error) {
	script, err := p.script()
	if err != nil {
		return t, err
	}
	command := func(mode string, count int) []string {
		return append(append([]string{processes.Python, script}, s.arguments(mode)...), fmt.Sprint(count))
	}
	return pair(ctx, command("loop", p.cores), command("dask", p.workers))
}

func daskVersion(ctx context.Context, p *place) (string, error) {
	script, err := p.script()
	if err != nil {
		return "", err
	}
	var v struct{ Python, NumPy, Dask string }
	if err := processes.Ask(ctx, &v, "", processes.Python, script, "versions"); err != nil {
		return "", err
	}
	return fmt.Sprintf("Dask %s, Python %s, NumPy %s", v.Dask, v.Python, v.NumPy), nil
}
