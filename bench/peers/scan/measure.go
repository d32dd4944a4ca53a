package scan

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/internal/manykeys"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Config is the configuration of [Run].
type Config struct {
	report.Setup
	Systems []System
	Rows    uint64 // number of rows of the CSV file, of about 17 bytes each; the Parquet file has half as many rows
	Hits    uint64 // number of rows of the file for the queries of ClickBench, of about 680 bytes each; 0: do not run them
	Groups  uint64 // number of keys of the query whose result is written to files, each in one row of about 13 bytes; 0: do not run it
}

// Result contains all measurements.
type Result struct {
	Rows    uint64 `json:"rows"`
	Hits    uint64 `json:"hits"`
	Groups  uint64 `json:"groups"`
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

	Queries []report.Figures `json:"clickbench_seconds"` // of each query of ClickBench
	Groups  report.Figures   `json:"groups_seconds"`
}

// keys is the number of different keys in the file.
const keys = 413

// Run measures all systems in several rounds. The order of the systems differs between rounds.
func Run(ctx context.Context, cfg Config) (r Result, err error) {
	p := &place{
		dir: filepath.Join(cfg.Dir, "scan"), program: cfg.Program, threads: runtime.GOMAXPROCS(0),
	}
	r = Result{Rows: cfg.Rows, Hits: cfg.Hits, Groups: cfg.Groups, Cores: runtime.GOMAXPROCS(0), Rounds: cfg.Rounds}
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
	if err := r.measureKeys(ctx, cfg, p); err != nil {
		return r, err
	}
	if err := r.measureHits(ctx, cfg, p); err != nil {
		return r, err
	}
	return r, r.measureGroups(ctx, cfg, p)
}

// measureKeys measures the minimum, mean and maximum by keys of a CSV file and of a Parquet file.
func (r *Result) measureKeys(ctx context.Context, cfg Config, p *place) error {
	csv, parquet := filepath.Join(p.dir, "m.csv"), filepath.Join(p.dir, "m.parquet")
	cfg.Progress("writing %s rows", humanize.Comma(int64(cfg.Rows)))
	if err := create(csv, func(w io.Writer) error { return writeRows(ctx, w, cfg.Rows) }); err != nil {
		return err
	}
	if err := writeParquet(ctx, p, csv, parquet, cfg.Rows/2); err != nil {
		return err
	}
	err := measure(ctx, cfg, p, keyQuery("m.csv", csv, readKeys(csv)), func(system int, seconds float64) {
		r.Systems[system].CSV = append(r.Systems[system].CSV, seconds)
	})
	if err != nil {
		return err
	}
	return measure(ctx, cfg, p, keyQuery("m.parquet", parquet, "read_parquet('"+parquet+"')"), func(system int, seconds float64) {
		r.Systems[system].Parquet = append(r.Systems[system].Parquet, seconds)
	})
}

// measureHits measures the queries of ClickBench.
func (r *Result) measureHits(ctx context.Context, cfg Config, p *place) error {
	if cfg.Hits == 0 {
		return nil
	}
	file := filepath.Join(p.dir, "hits.csv")
	queries, err := hitsQueries(file)
	if err != nil {
		return err
	}
	cfg.Progress("writing %s rows of hits", humanize.Comma(int64(cfg.Hits)))
	if err := create(file, func(w io.Writer) error { return writeHits(ctx, w, cfg.Hits) }); err != nil {
		return err
	}
	for i := range r.Systems {
		r.Systems[i].Queries = make([]report.Figures, len(queries))
	}
	for i, q := range queries {
		err := measure(ctx, cfg, p, q, func(system int, seconds float64) {
			times := &r.Systems[system].Queries[i]
			*times = append(*times, seconds)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureGroups measures the count and the sum by many keys.
func (r *Result) measureGroups(ctx context.Context, cfg Config, p *place) error {
	if cfg.Groups == 0 {
		return nil
	}
	file := filepath.Join(p.dir, "keys.csv")
	cfg.Progress("writing %s keys", humanize.Comma(int64(cfg.Groups)))
	if _, err := manykeys.Write(file, cfg.Groups); err != nil {
		return err
	}
	return measure(ctx, cfg, p, groupQuery(file, filepath.Join(p.dir, "groups")), func(system int, seconds float64) {
		r.Systems[system].Groups = append(r.Systems[system].Groups, seconds)
	})
}

// measure measures a query in all systems, and compares their results.
func measure(ctx context.Context, cfg Config, p *place, q query, add func(system int, seconds float64)) error {
	var want answer
	return report.InTurns(ctx, cfg.Setup, cfg.Systems, p, q, func(round, system int, s scanned) error {
		cfg.Progress("%v, round %d: %s %.2f s", q, round+1, cfg.Systems[system].Name, s.seconds)
		add(system, s.seconds)
		if want == nil {
			want = s.answer
		}
		return s.answer.equal(want)
	})
}

// create writes a file.
func create(name string, write func(w io.Writer) error) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	return cmp.Or(write(w), w.Flush())
}

func writeRows(ctx context.Context, w io.Writer, rows uint64) error {
	random := rand.New(rand.NewPCG(1, 2))
	line := []byte("station;temperature\n")
	for n := uint64(0); ; n++ {
		if _, err := w.Write(line); err != nil || n == rows {
			return err
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
		Notes: []string{fmt.Sprintf("%d threads, %d rounds; medians. A ratio is the median of the rounds' ratios.", r.Cores, r.Rounds)},
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
	tables := []report.Table{times}
	if r.Hits > 0 {
		tables = append(tables, r.queries(own))
	}
	if r.Groups > 0 {
		tables = append(tables, r.groups(own))
	}
	return append(tables, about)
}

// groups returns a table of the times of the query by many keys.
func (r Result) groups(own Runs) report.Table {
	t := report.Table{
		Title: fmt.Sprintf("count and sum by %s keys, each in one row, to CSV files", humanize.Comma(int64(r.Groups))),
		Head:  []string{"system", "seconds", "seconds / Bellwether's"},
		Notes: []string{fmt.Sprintf("Target: Bellwether takes at most 1.2 × DuckDB's time. A cluster with %d workers of one slot and 1 GiB each; DuckDB has %d threads and 2 GB.", r.Cores, r.Cores)},
	}
	for _, runs := range r.Systems {
		t.Add(runs.System, report.Number(runs.Groups.Median()), report.Number(report.Ratios(runs.Groups, own.Groups).Median()))
	}
	return t
}

// queries returns a table of the times of the queries of ClickBench.
func (r Result) queries(own Runs) report.Table {
	t := report.Table{Title: fmt.Sprintf("ClickBench's %d queries: %s rows of %d columns, CSV", len(own.Queries), humanize.Comma(int64(r.Hits)), len(strings.Fields(hitsColumns))), Head: []string{"query"}}
	for _, runs := range r.Systems {
		if t.Head = append(t.Head, runs.System+": seconds"); runs.System != Bellwether {
			t.Head = append(t.Head, "seconds / Bellwether's")
		}
	}
	for i := range own.Queries {
		line := []string{strconv.Itoa(i)}
		for _, runs := range r.Systems {
			if line = append(line, report.Number(runs.Queries[i].Median())); runs.System != Bellwether {
				line = append(line, report.Number(report.Ratios(runs.Queries[i], own.Queries[i]).Median()))
			}
		}
		t.Add(line...)
	}
	return t
}
