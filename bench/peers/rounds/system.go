package rounds

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/bellwether-compute/bellwether/bench/peers/fleet"
	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
)

//go:embed programs/rounds.c
var programC []byte

//go:embed programs/rounds.py
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

// timed contains the durations, in seconds, of a system and of the loop in the system's language. Both run the same
// number of rounds.
type timed struct {
	System float64 `json:"system"`
	Loop   float64 `json:"loop"`
	Rounds uint64  `json:"passes"`

	loss float64 // the loss of both in the last round, up to rounding errors; 0 for Bellwether, whose benchmark compares the losses
}

type place struct {
	dir, program string
	workers      int
	cores        int
}

// answer is what a program prints: the time, the number of rounds, and the sum of the squared distances or the deviance in the
// last round.
type answer struct {
	Seconds, Loss float64
	Rounds        uint64
}

// pair runs the loop and the system, and compares their rounds and losses.
func pair(ctx context.Context, loop, system []string) (t timed, err error) {
	var one, other answer
	if err := processes.Ask(ctx, &one, "", loop[0], loop[1:]...); err != nil {
		return t, err
	}
	if err := processes.Ask(ctx, &other, "", system[0], system[1:]...); err != nil {
		return t, err
	}
	if other.Rounds != one.Rounds {
		return t, fmt.Errorf("it ended after %d rounds, the loop after %d", other.Rounds, one.Rounds)
	}
	if !(math.Abs(one.Loss-other.Loss) <= 1e-9*one.Loss) {
		return t, fmt.Errorf("the loss is %v, that of the loop is %v", other.Loss, one.Loss)
	}
	return timed{System: other.Seconds, Loop: one.Seconds, Rounds: one.Rounds, loss: one.Loss}, nil
}

// arguments returns the arguments of a program of another system.
func (s Shape) arguments(mode string) []string {
	return []string{mode, s.Job, fmt.Sprint(s.Rows), fmt.Sprint(s.Columns), fmt.Sprint(s.Clusters), fmt.Sprint(s.Rounds)}
}

// flags returns the flags of "bellwether bench rounds".
func (s Shape) flags() []string {
	if s.Job == GLM {
		return []string{"--jobs", GLM, "--glm-rows", fmt.Sprint(s.Rows), "--glm-columns", fmt.Sprint(s.Columns)}
	}
	return []string{"--jobs", KMeans, "--rows", fmt.Sprint(s.Rows), "--columns", fmt.Sprint(s.Columns), "--k", fmt.Sprint(s.Clusters), "--rounds", fmt.Sprint(s.Rounds)}
}

// runBellwether measures the rounds with centres or coefficients, as those of the loop, and neither the first round, which reads
// the file, nor the submission. Its program compares the results of job and loop.
func runBellwether(ctx context.Context, p *place, s Shape) (t timed, err error) {
	type comparison struct {
		Job    float64 `json:"job_s"`
		Loop   float64 `json:"loop_s"`
		Rounds uint64
	}
	var report struct{ KMeans, GLM []comparison }
	args := []string{"bench", "rounds", "-o", "json", "--dir", p.dir, "--workers", fmt.Sprint(p.workers)}
	err = processes.Ask(ctx, &report, "", p.program, append(args, s.flags()...)...)
	list := slices.Concat(report.KMeans, report.GLM)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("bench rounds printed %d measurements of %s, want 1", len(list), s.Job)
	}
	if err != nil {
		return t, err
	}
	return timed{System: list[0].Job, Loop: list[0].Loop, Rounds: list[0].Rounds}, nil
}

func bellwetherVersion(ctx context.Context, p *place) (string, error) {
	version, err := fleet.Version(ctx, p.program)
	return version + ", " + servers.NATSVersion, err
}

func runMPI(ctx context.Context, p *place, s Shape) (t timed, err error) {
	program, err := processes.CompileMPI(ctx, filepath.Join(p.dir, "rounds"), programC)
	if err != nil {
		return t, err
	}
	launch := []string{"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", fmt.Sprint(p.workers), program}
	return pair(ctx, append(append([]string{program}, s.arguments("loop")...), fmt.Sprint(p.cores)), append(launch, s.arguments("mpi")...))
}

func (p *place) script() (string, error) {
	file := filepath.Join(p.dir, "rounds.py")
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
