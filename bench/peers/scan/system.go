package scan

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/fleet"
	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

//go:embed programs/duckdb.mjs
var programDuckDB []byte

// duckDB is the version of the package that is installed from npm.
const duckDB = "@duckdb/node-api@1.5.6-r.1"

// System is one of the compared systems.
type System = report.System[*place, string, scanned]

// scanned is the result of a scan of a file.
type scanned struct {
	seconds float64
	table   table
}

// Bellwether is the name of the job scan in the results. The suffix distinguishes the job from
// Bellwether in other benchmarks.
const Bellwether = "Bellwether, scan"

// Systems returns all systems, Bellwether first.
func Systems() []System {
	return []System{
		{Name: Bellwether, Versions: func(ctx context.Context, p *place) (string, error) { return fleet.Version(ctx, p.program) }, Run: runBellwether},
		{Name: "DuckDB", Versions: duckDBVersion, Run: runDuckDB},
	}
}

type place struct {
	dir, program, threads string
}

// table contains the minimum, mean and maximum of each key.
type table map[string][3]float64

// equal returns an error if two tables differ. Means may differ in their last digits.
func (t table) equal(want table) error {
	if len(t) != len(want) {
		return fmt.Errorf("the result has %d keys, another one %d", len(t), len(want))
	}
	for key, a := range t {
		b, ok := want[key]
		if !ok || a[0] != b[0] || a[2] != b[2] || math.Abs(a[1]-b[1]) > 1e-9 {
			return fmt.Errorf("key %q has the values %v, in another result %v", key, a, b)
		}
	}
	return nil
}

func runBellwether(ctx context.Context, p *place, file string) (s scanned, err error) {
	var answer struct{ Result struct{ Rows [][4]any } }
	began := time.Now()
	err = processes.Ask(ctx, &answer, p.dir, p.program, "run", "scan", "-o", "json", "--slots", p.threads, "-p", "input="+file, "-p", "delimiter=;",
		"-p", "by=station", "-p", "aggregate=min(temperature),mean(temperature),max(temperature)")
	if err != nil {
		return s, err
	}
	s.seconds = time.Since(began).Seconds()
	s.table, err = tableOf(answer.Result.Rows)
	return s, err
}

// tableOf returns the table of the rows of a result. Numbers may be given as strings.
func tableOf(rows [][4]any) (table, error) {
	t := table{}
	for _, row := range rows {
		var numbers [3]float64
		for i, cell := range row[1:] {
			n, err := strconv.ParseFloat(fmt.Sprint(cell), 64)
			if err != nil {
				return nil, fmt.Errorf("read the row %v: %w", row, err)
			}
			numbers[i] = n
		}
		t[fmt.Sprint(row[0])] = numbers
	}
	if len(t) == 0 {
		return nil, errors.New("the result has no rows")
	}
	return t, nil
}

// installDuckDB installs DuckDB if it is not yet installed, and returns the path of the program.
func installDuckDB(ctx context.Context, p *place) (script string, err error) {
	script = filepath.Join(p.dir, "duckdb.mjs")
	if _, err := os.Stat(script); err == nil {
		return script, nil
	}
	if _, err := processes.Output(ctx, p.dir, "npm", "install", "--prefix", p.dir, "--no-audit", "--no-fund", duckDB); err != nil {
		return "", err
	}
	return script, os.WriteFile(script, programDuckDB, 0o600)
}

func duckDBVersion(ctx context.Context, p *place) (string, error) {
	script, err := installDuckDB(ctx, p)
	if err != nil {
		return "", err
	}
	var v struct{ Version string }
	err = processes.Ask(ctx, &v, p.dir, "node", script, "version")
	return "DuckDB " + v.Version, err
}

func runDuckDB(ctx context.Context, p *place, file string) (s scanned, err error) {
	script, err := installDuckDB(ctx, p)
	if err != nil {
		return s, err
	}
	var answer struct {
		Seconds float64
		Rows    [][4]any
	}
	if err := processes.Ask(ctx, &answer, p.dir, "node", script, filepath.Ext(file)[1:], file, p.threads); err != nil {
		return s, err
	}
	s.seconds = answer.Seconds
	s.table, err = tableOf(answer.Rows)
	return s, err
}

// writeParquet writes the first rows of a CSV file as Parquet.
func writeParquet(ctx context.Context, p *place, csv, parquet string, rows uint64) error {
	script, err := installDuckDB(ctx, p)
	if err != nil {
		return err
	}
	_, err = processes.Output(ctx, p.dir, "node", script, "write", csv, p.threads, strconv.FormatUint(rows, 10), parquet)
	return err
}
