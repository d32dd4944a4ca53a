package rounds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Config is the configuration of [Run].
type Config struct {
	report.Setup
	Systems []System
	Workers int // number of worker processes
	Shape   Shape
}

// Shape describes the points and how often all of them are visited.
type Shape struct {
	Points     uint64 `json:"points"`
	Dimensions uint64 `json:"dimensions"`
	Clusters   uint64 `json:"clusters"`
	Rounds     uint64 `json:"passes"`
}

func (s Shape) String() string {
	return fmt.Sprintf("k-means of %s points × %d, k = %d, %d rounds", humanize.Comma(int64(s.Points)), s.Dimensions, s.Clusters, s.Rounds)
}

// Result contains all measurements.
type Result struct {
	Shape
	Workers int    `json:"workers"`
	Cores   int    `json:"cores"`
	Rounds  int    `json:"rounds"`
	Systems []Runs `json:"systems"`
}

// Runs contains the measurements of a system, in the order of the rounds of measurements.
type Runs struct {
	System   string  `json:"system"`
	Language string  `json:"language"`
	Versions string  `json:"versions"`
	Times    []timed `json:"seconds"`
}

// Run measures all systems in several rounds. The order of the systems differs between rounds.
func Run(ctx context.Context, cfg Config) (r Result, err error) {
	p := &place{dir: filepath.Join(cfg.Dir, "rounds"), program: cfg.Program, workers: cfg.Workers, cores: runtime.GOMAXPROCS(0)}
	r = Result{Shape: cfg.Shape, Workers: cfg.Workers, Cores: p.cores, Rounds: cfg.Rounds}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	for _, s := range cfg.Systems {
		versions, err := s.Versions(ctx, p)
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.Name, err)
		}
		r.Systems = append(r.Systems, Runs{System: s.Name, Language: s.Language, Versions: versions})
	}
	return r, report.InTurns(ctx, cfg.Setup, cfg.Systems, p, cfg.Shape, func(round, system int, t timed) error {
		cfg.Progress("round %d: %s %.2f s, its loop %.2f s", round+1, cfg.Systems[system].Name, t.System, t.Loop)
		r.Systems[system].Times = append(r.Systems[system].Times, t)
		return nil
	})
}

// Tables returns a table of the times.
func (r Result) Tables() []report.Table {
	t := report.Table{Title: r.Shape.String(), Head: []string{"system", "seconds", "loop", "seconds of the loop", "ratio", "versions"}}
	for _, runs := range r.Systems {
		var system, loop report.Figures
		for _, at := range runs.Times {
			system, loop = append(system, at.System), append(loop, at.Loop)
		}
		t.Add(runs.System, report.Number(system.Median()), runs.Language, report.Number(loop.Median()),
			report.Number(report.Ratios(system, loop).Median()), runs.Versions)
	}
	t.Notes = []string{fmt.Sprintf("%d worker processes, %d cores, %d rounds of measurements; medians. A ratio is the median of the ratios to the loop.", r.Workers, r.Cores, r.Rounds)}
	return []report.Table{t}
}
