package rounds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Config is the configuration of [Run].
type Config struct {
	report.Setup
	Systems []System
	Workers int     // number of worker processes
	Shapes  []Shape // what is measured; shapes without rows are not
}

// These constants are the jobs that are compared, named as in Bellwether's catalog.
const (
	KMeans = "kmeans"
	GLM    = "glm" // a logistic regression
)

// Shape describes a job, its rows, and how often all of them are visited.
type Shape struct {
	Job      string `json:"job"`
	Rows     uint64 `json:"rows"`
	Columns  uint64 `json:"columns"`
	Clusters uint64 `json:"clusters,omitempty"` // of k-means
	Rounds   uint64 `json:"passes"`             // of a regression the most, because it ends when it has converged
}

func (s Shape) String() string {
	rows := humanize.Comma(int64(s.Rows))
	if s.Job == GLM {
		return fmt.Sprintf("logistic regression of %s rows × %d", rows, s.Columns)
	}
	return fmt.Sprintf("k-means of %s points × %d, k = %d, %d rounds", rows, s.Columns, s.Clusters, s.Rounds)
}

// Result contains all measurements.
type Result struct {
	Workers int        `json:"workers"`
	Cores   int        `json:"cores"`
	Rounds  int        `json:"rounds"`
	Jobs    []Measured `json:"jobs"`
}

// Measured contains the measurements of a shape.
type Measured struct {
	Shape
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
	r = Result{Workers: cfg.Workers, Cores: p.cores, Rounds: cfg.Rounds}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	var systems []Runs
	for _, s := range cfg.Systems {
		versions, err := s.Versions(ctx, p)
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.Name, err)
		}
		systems = append(systems, Runs{System: s.Name, Language: s.Language, Versions: versions})
	}
	for _, shape := range cfg.Shapes {
		if shape.Rows == 0 {
			continue
		}
		m := Measured{shape, slices.Clone(systems)}
		err := report.InTurns(ctx, cfg.Setup, cfg.Systems, p, shape, func(round, system int, t timed) error {
			cfg.Progress("%v, round %d: %s %.2f s, its loop %.2f s", shape, round+1, cfg.Systems[system].Name, t.System, t.Loop)
			m.Systems[system].Times = append(m.Systems[system].Times, t)
			return nil
		})
		if err != nil {
			return r, err
		}
		r.Jobs = append(r.Jobs, m)
	}
	return r, nil
}

// Tables returns a table of the times of each job.
func (r Result) Tables() (tables []report.Table) {
	for _, m := range r.Jobs {
		t := report.Table{Title: m.String(), Head: []string{"system", "rounds", "seconds", "loop", "seconds of the loop", "ratio", "versions"}}
		for _, runs := range m.Systems {
			var rounds, system, loop report.Figures
			for _, at := range runs.Times {
				rounds, system, loop = append(rounds, float64(at.Rounds)), append(system, at.System), append(loop, at.Loop)
			}
			t.Add(runs.System, report.Number(rounds.Median()), report.Number(system.Median()), runs.Language, report.Number(loop.Median()),
				report.Number(report.Ratios(system, loop).Median()), runs.Versions)
		}
		t.Notes = []string{fmt.Sprintf("%d worker processes, %d cores, %d rounds of measurements; medians. A ratio is the median of the ratios to the loop.", r.Workers, r.Cores, r.Rounds)}
		tables = append(tables, t)
	}
	return tables
}
