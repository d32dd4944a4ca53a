package scan

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
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
type System = report.System[*place, query, scanned]

// scanned is the result of a query.
type scanned struct {
	seconds float64
	answer  answer
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
	dir, program string
	threads      int
}

func runBellwether(ctx context.Context, p *place, q query) (s scanned, err error) {
	if q.folder != "" {
		return runFleet(ctx, p, q)
	}
	var printed struct{ Result struct{ Rows [][]any } }
	args := []string{"run", "scan", "-o", "json", "--slots", strconv.Itoa(p.threads), "-p", "input=" + q.input}
	for _, parameter := range q.parameters {
		args = append(args, "-p", parameter)
	}
	began := time.Now()
	if err := processes.Ask(ctx, &printed, p.dir, p.program, args...); err != nil {
		return s, err
	}
	s.seconds = time.Since(began).Seconds()
	s.answer, err = q.answerOf(printed.Result.Rows)
	return s, err
}

// runFleet runs a query in a new cluster that has a worker for each thread.
func runFleet(ctx context.Context, p *place, q query) (s scanned, err error) {
	dir, err := os.MkdirTemp(p.dir, "fleet")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := fleet.Start(ctx, fleet.Config{Program: p.program, Dir: dir, Workers: p.threads, Slots: 1, Memory: "1GiB", Env: []string{"BELLWETHER_FILES=" + p.dir}})
	if err != nil {
		return s, err
	}
	defer f.Stop()
	if err := q.begin(); err != nil {
		return s, err
	}
	o, err := f.Run(ctx, "scan", append([]string{"input=" + q.input, "output=" + q.folder}, q.parameters...)...)
	if err != nil {
		return s, err
	}
	s.seconds = o.Finished.Sub(o.Submitted).Seconds()
	s.answer, err = q.answerOf(nil)
	return s, err
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
	_, rows, err := askDuckDB(ctx, p, "SELECT version()", "")
	if err != nil {
		return "", err
	}
	return fmt.Sprint("DuckDB ", rows[0][0]), nil
}

func runDuckDB(ctx context.Context, p *place, q query) (s scanned, err error) {
	if err := q.begin(); err != nil {
		return s, err
	}
	seconds, rows, err := askDuckDB(ctx, p, q.sql, q.view)
	if err != nil {
		return s, err
	}
	s.seconds = seconds
	s.answer, err = q.answerOf(rows)
	return s, err
}

// askDuckDB runs a statement after another one, which is not measured and may be empty.
func askDuckDB(ctx context.Context, p *place, sql, before string) (seconds float64, rows [][]any, err error) {
	script, err := installDuckDB(ctx, p)
	if err != nil {
		return 0, nil, err
	}
	var printed struct {
		Seconds float64
		Rows    [][]any
	}
	err = processes.Ask(ctx, &printed, p.dir, "node", script, strconv.Itoa(p.threads), sql, before)
	return printed.Seconds, printed.Rows, err
}

// readKeys returns the function of DuckDB that reads the keys and numbers of a CSV file.
func readKeys(csv string) string {
	return "read_csv('" + csv + "', delim=';', header=true, columns={'station': 'VARCHAR', 'temperature': 'DOUBLE'})"
}

// writeParquet writes the first rows of a CSV file as Parquet.
func writeParquet(ctx context.Context, p *place, csv, parquet string, rows uint64) error {
	_, _, err := askDuckDB(ctx, p, fmt.Sprintf("COPY (SELECT * FROM %s LIMIT %d) TO '%s' (FORMAT parquet)", readKeys(csv), rows, parquet), "")
	return err
}
