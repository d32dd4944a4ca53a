package aggregate

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Config is the configuration of [Run].
type Config struct {
	report.Setup
	Systems []System
	Workers int      // number of worker processes
	Sizes   []uint64 // sizes of a vector in bytes
	Total   uint64   // total number of bytes of all vectors of one size
	Least   uint64   // minimum number of vectors of each size
}

// Shape is a number of vectors, and the size of each vector in bytes.
type Shape struct {
	Bytes      uint64 `json:"bytes"`
	Partitions uint64 `json:"partitions"`
}

func (s Shape) length() uint64 { return s.Bytes / 8 }

func (s Shape) String() string {
	return humanize.Comma(int64(s.Partitions)) + " × " + humanize.Bytes(s.Bytes)
}

// Result contains all measurements.
type Result struct {
	Workers int          `json:"workers"`
	Cores   int          `json:"cores"`
	Rounds  int          `json:"rounds"`
	Systems []SystemInfo `json:"systems"`
	Shapes  []Measured   `json:"shapes"`
}

// SystemInfo describes a system.
type SystemInfo struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Versions string `json:"versions"`
}

// Measured contains the measurements of a shape.
type Measured struct {
	Shape
	Runs []Runs `json:"runs"`
}

// Runs contains the measurements of a system, in the order of the rounds.
type Runs struct {
	System string  `json:"system"`
	Times  []timed `json:"seconds"`
}

// Run measures all systems in several rounds. The order of the systems differs between rounds.
func Run(ctx context.Context, cfg Config) (Result, error) {
	p := &place{dir: cfg.Dir, program: cfg.Program, workers: cfg.Workers, cores: runtime.GOMAXPROCS(0)}
	r := Result{Workers: cfg.Workers, Cores: p.cores, Rounds: cfg.Rounds}
	for _, s := range cfg.Systems {
		versions, err := s.Versions(ctx, p)
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.Name, err)
		}
		r.Systems = append(r.Systems, SystemInfo{s.Name, s.Language, versions})
	}
	for _, size := range cfg.Sizes {
		m := Measured{Shape: Shape{size, max(cfg.Least, cfg.Total/size)}}
		for _, s := range cfg.Systems {
			m.Runs = append(m.Runs, Runs{System: s.Name})
		}
		err := report.InTurns(ctx, cfg.Setup, cfg.Systems, p, m.Shape, func(round, system int, t timed) error {
			cfg.Progress("%v, round %d: %s %.2f s, its loop %.2f s", m.Shape, round+1, cfg.Systems[system].Name, t.System, t.Loop)
			m.Runs[system].Times = append(m.Runs[system].Times, t)
			return nil
		})
		if err != nil {
			return r, err
		}
		r.Shapes = append(r.Shapes, m)
	}
	return r, os.RemoveAll(p.dir + "/vectors") // removes the C program that was compiled for this run
}

// Tables returns a table for each shape, and a table that describes the systems.
func (r Result) Tables() []report.Table {
	var tables []report.Table
	for _, m := range r.Shapes {
		t := report.Table{Title: "sum of " + m.String(), Head: []string{"system", "seconds", "loop", "seconds of the loop", "ratio", "seconds / Bellwether's"}}
		var own report.Figures
		for _, runs := range m.Runs {
			if runs.System == Bellwether {
				own = runs.figures(timed.system)
			}
		}
		for i, runs := range m.Runs {
			language := r.Systems[i].Language
			row := func(name string, seconds report.Figures) {
				loop := runs.figures(timed.loop)
				t.Add(name, report.Number(seconds.Median()), language, report.Number(loop.Median()),
					report.Number(report.Ratios(seconds, loop).Median()), report.Number(report.Ratios(seconds, own).Median()))
			}
			row(runs.System, runs.figures(timed.system))
			if runs.System == Bellwether {
				row("its run, one process", runs.figures(timed.local))
			}
		}
		tables = append(tables, t)
	}
	about := report.Table{Title: "systems that add up vectors", Head: []string{"system", "versions"}}
	for _, s := range r.Systems {
		about.Add(s.Name, s.Versions)
	}
	about.Notes = []string{fmt.Sprintf("%d worker processes, %d cores, %d rounds; medians. A ratio is the median of the rounds' ratios.", r.Workers, r.Cores, r.Rounds)}
	return append(tables, about)
}

func (t timed) system() float64 { return t.System }
func (t timed) loop() float64   { return t.Loop }
func (t timed) local() float64  { return t.Local }

func (r Runs) figures(value func(timed) float64) (list report.Figures) {
	for _, t := range r.Times {
		list = append(list, value(t))
	}
	return list
}
