package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/aggregate"
	"github.com/bellwether-compute/bellwether/bench/peers/failover"
	"github.com/bellwether-compute/bellwether/bench/peers/programs"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/rounds"
	"github.com/bellwether-compute/bellwether/bench/peers/scan"
	"github.com/bellwether-compute/bellwether/bench/peers/throughput"
)

// options contains the parsed flags.
type options struct {
	format     string
	setup      report.Setup // setup of all benchmarks
	run        []benchmark  // selected benchmarks
	throughput throughput.Config
	failover   failover.Config
	aggregate  aggregate.Config
	rounds     rounds.Config
	scan       scan.Config
	programs   programs.Config
}

// errHelp is the result of parsing flags that request help.
var errHelp = errors.New("help requested")

const usage = `usage: peers [flags] throughput|failover|aggregate|rounds|scan|programs|all

Compares other systems with Bellwether on this machine. It needs Redis and
PostgreSQL, Node.js for Azurite and DuckDB, Open MPI and Dask for aggregate and rounds, and
GNU parallel, Python, g++ and clang for programs, unless -system selects systems without them.

`

func parse(args []string, errs io.Writer) (o *options, err error) {
	o = new(options)
	var (
		flags   = flag.NewFlagSet("peers", flag.ContinueOnError)
		program string
		systems []string
	)
	flags.SetOutput(io.Discard)
	flags.StringVar(&program, "bellwether", "bellwether", "the bellwether program")
	flags.StringVar(&o.format, "o", "table", "output format: table, markdown or json")
	flags.Func("system", "measure this `system`; may be repeated (default: all; names: "+strings.Join(names(), "; ")+")", func(s string) error {
		if !slices.Contains(names(), s) {
			return errors.New("there is no such system")
		}
		systems = append(systems, s)
		return nil
	})
	flags.IntVar(&o.setup.Rounds, "rounds", 5, "number of measurements of each system")
	o.register(flags)
	err = flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(errs, usage)
		flags.SetOutput(errs)
		flags.PrintDefaults()
		return o, errHelp
	}
	if err != nil {
		return o, err
	}
	if flags.NArg() != 1 {
		return o, fmt.Errorf("want one of throughput, failover, aggregate, rounds, scan, programs and all, got %q", flags.Args())
	}
	if err := o.check(); err != nil {
		return o, err
	}
	if err := o.choose(flags.Arg(0), systems); err != nil {
		return o, err
	}
	o.setup.Program, err = find(program)
	return o, err
}

// register defines the flags of the benchmarks.
func (o *options) register(flags *flag.FlagSet) {
	t, f, a := &o.throughput, &o.failover, &o.aggregate
	flags.IntVar(&t.Processes, "processes", 2, "throughput: worker processes")
	flags.IntVar(&t.Slots, "slots", 1, "throughput: slots per worker process")
	flags.DurationVar(&t.For, "for", 3*time.Second, "throughput: measure as many empty tasks as each system does in about this time; 0: do not")
	flags.Uint64Var(&t.Same, "same", 10_000, "throughput: measure this number of empty tasks; 0: do not")
	flags.DurationVar(&t.Busy, "busy", 4*time.Second, "throughput: simulated tasks keep all slots busy for about this time")
	t.BusyTasks = []uint64{1_000, 10_000}
	numbers(flags, "busy-tasks", "throughput: `numbers` of tasks into which that is cut, separated by commas (default 1000,10000); 0: do not measure it",
		"whole numbers", &t.BusyTasks, func(n uint64) bool { return n < 1<<32 })
	flags.IntVar(&f.Kills, "kills", 4, "failover: kills per system and round")
	flags.IntVar(&a.Workers, "workers", 4, "aggregate: worker processes")
	a.Sizes = []uint64{8_000, 80_000, 800_000, 8_000_000, 80_000_000, 160_000_000}
	numbers(flags, "sizes", "aggregate: sizes of a vector in `bytes`, separated by commas (default 8000,80000,800000,8000000,80000000,160000000)",
		"multiples of 8", &a.Sizes, func(n uint64) bool { return n > 0 && n%8 == 0 && n < 1<<31 })
	flags.Uint64Var(&a.Total, "total", 8_000_000_000, "aggregate: bytes of all vectors of one size")
	flags.Uint64Var(&a.Least, "least", 64, "aggregate: the least number of vectors of one size")
	r := &o.rounds
	flags.IntVar(&r.Workers, "keepers", 2, "rounds: worker processes")
	r.Shapes = []rounds.Shape{{Job: rounds.KMeans}, {Job: rounds.GLM, Rounds: mostPasses}}
	points, cases := &r.Shapes[0], &r.Shapes[1]
	flags.Uint64Var(&points.Rows, "points", 1_000_000, "rounds: points of k-means; 0: do not measure it")
	flags.Uint64Var(&points.Columns, "dimensions", 16, "rounds: dimensions of a point")
	flags.Uint64Var(&points.Clusters, "clusters", 64, "rounds: clusters")
	flags.Uint64Var(&points.Rounds, "passes", 20, "rounds: passes over the points")
	flags.Uint64Var(&cases.Rows, "cases", 1_000_000, "rounds: rows of the regression; 0: do not measure it")
	flags.Uint64Var(&cases.Columns, "predictors", 20, "rounds: columns of the regression beside the target")
	flags.Uint64Var(&o.scan.Rows, "rows", 100_000_000, "scan: rows of the file, about 17 bytes each")
	flags.Uint64Var(&o.scan.Hits, "hits", 2_000_000, "scan: rows of the file for the queries of ClickBench, about 680 bytes each; 0: do not run them")
	flags.Uint64Var(&o.scan.Groups, "groups", 50_000_000, "scan: keys of the query whose result is written to files; 0: do not run it")
	flags.Int64Var(&o.programs.Text, "text", 1_000_000_000, "programs: bytes of the text whose words are counted")
}

// numbers defines a flag that takes numbers separated by commas, and drops zeros.
func numbers(flags *flag.FlagSet, name, help, want string, into *[]uint64, ok func(uint64) bool) {
	flags.Func(name, help, func(s string) error {
		*into = nil
		for word := range strings.SplitSeq(s, ",") {
			n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
			if err != nil || !ok(n) {
				return fmt.Errorf("want %s separated by commas", want)
			}
			if n > 0 {
				*into = append(*into, n)
			}
		}
		return nil
	})
}

func (o *options) check() error {
	for _, n := range []struct {
		name        string
		value, most int
	}{
		{"rounds", o.setup.Rounds, 1000},
		{"processes", o.throughput.Processes, 64},
		{"slots", o.throughput.Slots, 64},
		{"kills", o.failover.Kills, 1000},
		{"workers", o.aggregate.Workers, 64},
		{"keepers", o.rounds.Workers, 64},
	} {
		if n.value < 1 || n.value > n.most {
			return fmt.Errorf("-%s must be 1 to %d, got %d", n.name, n.most, n.value)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{{"for", o.throughput.For, 0}, {"busy", o.throughput.Busy, time.Millisecond}} {
		if d.value < d.least || d.value > time.Hour {
			return fmt.Errorf("-%s must be %v to 1h, got %v", d.name, d.least, d.value)
		}
	}
	if o.scan.Rows < 2 {
		return fmt.Errorf("-rows must be at least 2, got %d", o.scan.Rows)
	}
	if o.programs.Text < 1 {
		return fmt.Errorf("-text must be at least 1, got %d", o.programs.Text)
	}
	if o.aggregate.Least < 1 {
		return errors.New("-least must be at least 1, got 0")
	}
	if err := checkRounds(o.rounds.Shapes[0], o.rounds.Shapes[1]); err != nil {
		return err
	}
	if !slices.Contains([]string{"table", "markdown", "json"}, o.format) {
		return fmt.Errorf("-o must be table, markdown or json, got %q", o.format)
	}
	return nil
}

// mostPasses is the maximum number of passes over the same rows. The status of a job of Bellwether lists one more.
const mostPasses = 99

func checkRounds(points, cases rounds.Shape) error {
	if points.Rounds > mostPasses {
		return fmt.Errorf("-passes must be 1 to %d, got %d", mostPasses, points.Rounds)
	}
	if s := points; s.Rows > 0 && (s.Clusters < 1 || s.Rows < s.Clusters || s.Columns < 1 || s.Rounds < 1) {
		return fmt.Errorf("-points must be at least -clusters, and -clusters, -dimensions and -passes at least 1, got %d, %d, %d and %d", s.Rows, s.Clusters, s.Columns, s.Rounds)
	}
	if s := cases; s.Rows > 0 && (s.Columns < 1 || s.Columns > 200 || s.Rows < 100*s.Columns) { // the limits of "bellwether bench rounds"
		return fmt.Errorf("-predictors must be 1 to 200, and -cases at least 100 times -predictors, got %d and %d", s.Columns, s.Rows)
	}
	return nil
}

// choose selects the benchmarks and the systems with the given names, or all systems if named is empty.
func (o *options) choose(what string, named []string) error {
	known := what == "all"
	for _, b := range o.benchmarks() {
		if what == b.name || what == "all" {
			known = true
			if b.choose(named) {
				o.run = append(o.run, b)
			}
		}
	}
	switch {
	case !known:
		return fmt.Errorf("want throughput, failover, aggregate, rounds, scan, programs or all, got %q", what)
	case o.run == nil:
		return fmt.Errorf("%s does not measure any of the selected systems", what)
	}
	return nil
}

// find returns the absolute path of the program, because worker processes run in other folders.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("-bellwether: %w: build it with 'make build'", err)
	}
	return filepath.Abs(path)
}
