// Command run simulates clusters, one per seed. The command prints the number of occurrences of
// each event, and the broken promises:
//
//	go run ./bench/internal/sim/run -seeds 10000
//	go run ./bench/internal/sim/run -seed 4711
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/bellwether-compute/bellwether/bench/internal/sim"
)

func main() {
	var (
		seeds = flag.Uint64("seeds", 1000, "how many seeds to run")
		first = flag.Uint64("first", 1, "the first seed")
		most  = flag.Int("failures", 10, "stop after this many failed seeds")
		one   = flag.Uint64("seed", 0, "run only this seed, and trace what happens")
	)
	flag.Parse()
	debug.SetGCPercent(1000) // a higher GC percentage saves time, because a simulation allocates much but keeps little memory
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "got %q, want flags only: see -help\n", flag.Args())
		os.Exit(2)
	}
	if *one > 0 {
		if _, err := sim.Run(*one, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "seed", *one, "breaks a promise:", err)
			os.Exit(1)
		}
		return
	}
	report := sim.RunAll(*first, *seeds, *most)
	show(report)
	if !report.OK() {
		os.Exit(1)
	}
}

func show(r sim.Report) {
	for _, what := range r.Coverage.Names() {
		fmt.Printf("%10d  %s\n", r.Coverage[what], what)
	}
	fmt.Printf("%d seeds in %.1f s, %.0f per second\n", r.Seeds, r.Took.Seconds(), float64(r.Seeds)/r.Took.Seconds())
	for _, f := range r.Failures {
		fmt.Printf("seed %d breaks a promise: %v\n  go run ./bench/internal/sim/run -seed %d\n", f.Seed, f.Err, f.Seed)
	}
	for _, what := range r.Missing() {
		fmt.Printf("never happened: %s\n", what)
	}
}
