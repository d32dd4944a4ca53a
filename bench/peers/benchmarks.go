package main

import (
	"context"
	"slices"

	"github.com/bellwether-compute/bellwether/bench/peers/aggregate"
	"github.com/bellwether-compute/bellwether/bench/peers/failover"
	"github.com/bellwether-compute/bellwether/bench/peers/programs"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/rounds"
	"github.com/bellwether-compute/bellwether/bench/peers/scan"
	"github.com/bellwether-compute/bellwether/bench/peers/throughput"
)

// benchmark is one of the benchmarks of the program.
type benchmark struct {
	name    string
	systems []string                  // names of all of its systems
	choose  func(named []string) bool // selects systems, and reports whether it selected any
	run     func(context.Context, report.Setup, *results) (measured, error)
}

// measured is the result of a benchmark.
type measured interface{ Tables() []report.Table }

// benchmarks lists the benchmarks in the order in which they run.
func (o *options) benchmarks() []benchmark {
	return []benchmark{
		of("throughput", throughput.Systems(), func(s throughput.System) string { return s.Name }, &o.throughput.Systems,
			func(ctx context.Context, setup report.Setup, r *results) (measured, error) {
				o.throughput.Setup = setup
				return keep(&r.Throughput)(throughput.Run(ctx, o.throughput))
			}),
		of("failover", failover.Systems(), func(s failover.System) string { return s.Name }, &o.failover.Systems,
			func(ctx context.Context, setup report.Setup, r *results) (measured, error) {
				o.failover.Setup = setup
				return keep(&r.Failover)(failover.Run(ctx, o.failover))
			}),
		of("aggregate", aggregate.Systems(), func(s aggregate.System) string { return s.Name }, &o.aggregate.Systems,
			func(ctx context.Context, setup report.Setup, r *results) (measured, error) {
				o.aggregate.Setup = setup
				return keep(&r.Aggregate)(aggregate.Run(ctx, o.aggregate))
			}),
		of("rounds", rounds.Systems(), func(s rounds.System) string { return s.Name }, &o.rounds.Systems,
			func(ctx context.Context, setup report.Setup, r *results) (measured, error) {
				o.rounds.Setup = setup
				return keep(&r.Rounds)(rounds.Run(ctx, o.rounds))
			}),
		of("scan", scan.Systems(), func(s scan.System) string { return s.Name }, &o.scan.Systems,
			func(ctx context.Context, setup report.Setup, r *results) (measured, error) {
				o.scan.Setup = setup
				return keep(&r.Scan)(scan.Run(ctx, o.scan))
			}),
		{
			name: "programs", choose: func(named []string) bool { return len(named) == 0 },
			run: func(ctx context.Context, setup report.Setup, r *results) (measured, error) {
				o.programs.Setup = setup
				return keep(&r.Programs)(programs.Run(ctx, o.programs))
			},
		},
	}
}

// of returns a benchmark of the given systems, which writes the selected ones to chosen.
func of[S any](name string, systems []S, nameOf func(S) string, chosen *[]S, run func(context.Context, report.Setup, *results) (measured, error)) benchmark {
	b := benchmark{name: name, run: run}
	for _, s := range systems {
		b.systems = append(b.systems, nameOf(s))
	}
	b.choose = func(named []string) bool {
		for i, s := range systems {
			if len(named) == 0 || slices.Contains(named, b.systems[i]) {
				*chosen = append(*chosen, s)
			}
		}
		return *chosen != nil
	}
	return b
}

// keep returns a function that stores a result and returns it.
func keep[R measured](at **R) func(R, error) (measured, error) {
	return func(r R, err error) (measured, error) {
		*at = &r
		return r, err
	}
}

// names returns the names of all systems of all benchmarks.
func names() (all []string) {
	for _, b := range new(options).benchmarks() {
		all = append(all, b.systems...)
	}
	return all
}
