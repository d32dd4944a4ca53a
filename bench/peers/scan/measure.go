package scan

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Config is the configuration of [Run].
type Config struct {
	report.Setup
	Systems []System
	Rows    uint64 // number of rows of the CSV file, of about 17 bytes each; the Parquet file has half as many rows
}

// Result contains all measurements.
type Result struct {
	Rows    uint64 `json:"rows"`
	Cores   int    `json:"cores"`
	Rounds  int    `json:"rounds"`
	Systems []Runs `json:"systems"`
}

// Runs contains the measurements of a system in seconds, in the order of the rounds.
type Runs struct {
	System   string         `json:"system"`
	Versions string         `json:"versions"`
	CSV      report.Figures `json:"csv_seconds"`
	Parquet  report.Figures `json:"parquet_seconds"`
}

// keys is the number of different keys in the file.
const keys = 413

// Run measures all systems in several rounds. The order of the systems differs between rounds.
func Run(ctx context.Context, cfg Config) (r Result, err error) {
	p := &place{
		dir: filepath.Join(cfg.Dir, "scan"), program: cfg.Program, threads: strconv.Itoa(runtime.GOMAXPROCS(0)),
	}
	r = Result{Rows: cfg.Rows, Cores: runtime.GOMAXPROCS(0), Rounds: cfg.Rounds}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	for _, s := range cfg.Systems {
		versions, err := s.Versions(ctx, p)
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.Name, err)
		}
		r.Systems = append(r.Systems, Runs{System: s.Name, Versions: versions})
	}
	csv, parquet := filepath.Join(p.dir, "m.csv"), filepath.Join(p.dir, "m.parquet")
	cfg.Progress("writing %s rows", humanize.Comma(int64(cfg.Rows)))
	if err := writeRows(ctx, csv, cfg.Rows); err != nil {
		return r, err
	}
	if err := writeParquet(ctx, p, csv, parquet, cfg.Rows/2); err != nil {
		return r, err
	}
	for _, file := range []string{csv, parquet} {
		var want table
		err := report.InTurns(ctx, cfg.Setup, cfg.Systems, p, file, func(round, system int, s scanned) error {
			cfg.Progress("%s, round %d: %s %.2f s", filepath.Base(file), round+1, cfg.Systems[system].Name, s.seconds)
			times := &r.Systems[system].CSV
			if file == parquet {
				times = &r.Systems[system].Parquet
			}
			*times = append(*times, s.seconds)
			if want == nil {
				want = s.table
			}
			return s.table.equal(want)
		})
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

func writeRows(ctx context.Context, name string, rows uint64) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	line := []byte("station;temperature\n")
	for n := uint64(0); ; n++ {
		if _, err := w.Write(line); err != nil {
			return err
		}
		if n == rows {
			return w.Flush()
		}
		if n%(1<<20) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line = append(strconv.AppendInt(append(line[:0], "Station "...), int64(random.IntN(keys)), 10), ';')
		line = append(strconv.AppendFloat(line, float64(random.IntN(1400)-500)/10, 'f', 1, 64), '\n')
	}
}

// Tables returns a table of the times and a table that describes the systems.
func (r Result) Tables() []report.Table {
	times := report.Table{
		Title: fmt.Sprintf("minimum, mean and maximum by %d keys: %s rows of CSV, %s of Parquet", keys, humanize.Comma(int64(r.Rows)), humanize.Comma(int64(r.Rows/2))),
		Head:  []string{"system", "seconds for CSV", "seconds / Bellwether's", "seconds for Parquet", "seconds / Bellwether's"},
	}
	about := report.Table{
		Title: "systems that scan", Head: []string{"system", "versions"},
		Notes: []string{fmt.Sprintf("one process, %d threads, %d rounds; medians. A ratio is the median of the rounds' ratios.", r.Cores, r.Rounds)},
	}
	var own Runs
	for _, runs := range r.Systems {
		if runs.System == Bellwether {
			own = runs
		}
	}
	for _, runs := range r.Systems {
		times.Add(runs.System, report.Number(runs.CSV.Median()), report.Number(report.Ratios(runs.CSV, own.CSV).Median()),
			report.Number(runs.Parquet.Median()), report.Number(report.Ratios(runs.Parquet, own.Parquet).Median()))
		about.Add(runs.System, runs.Versions)
	}
	return []report.Table{times, about}
}
