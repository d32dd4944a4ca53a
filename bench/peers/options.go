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

	"github.com/bellwether-compute/bellwether/bench/peers/failover"
	"github.com/bellwether-compute/bellwether/bench/peers/throughput"
)

// options are a command line. What is not to be measured has no systems.
type options struct {
	format     string
	throughput throughput.Config
	failover   failover.Config
}

// errHelp: help was asked for, and printed.
var errHelp = errors.New("help was asked for")

const usage = `usage: peers [flags] throughput|failover|all

Measures other systems beside Bellwether on this machine. Redis and PostgreSQL must
be installed, and Node.js for Azurite, unless the systems that need them are left
out by naming others:

`

func parse(args []string, errs io.Writer) (o options, err error) {
	var (
		flags   = flag.NewFlagSet("peers", flag.ContinueOnError)
		program string
		systems []string
		rounds  int
		t, f    = &o.throughput, &o.failover
	)
	flags.SetOutput(io.Discard)
	flags.StringVar(&program, "bellwether", "bellwether", "the bellwether program")
	flags.StringVar(&o.format, "o", "table", "what results look like: table, markdown or json")
	flags.Func("system", "measure this `system`, and others so named; none: all (names: "+strings.Join(names(), "; ")+")", func(s string) error {
		if !slices.Contains(names(), s) {
			return errors.New("there is no such system")
		}
		systems = append(systems, s)
		return nil
	})
	flags.IntVar(&rounds, "rounds", 5, "how often each system takes its turn")
	flags.IntVar(&t.Processes, "processes", 2, "throughput: worker processes")
	flags.IntVar(&t.Slots, "slots", 1, "throughput: slots per worker process")
	flags.DurationVar(&t.For, "for", 3*time.Second, "throughput: each system gets as many empty tasks as it does in about this time; 0: leave that out")
	flags.Uint64Var(&t.Same, "same", 10_000, "throughput: all systems get this many empty tasks; 0: leave that out")
	flags.DurationVar(&t.Busy, "busy", 4*time.Second, "throughput: tasks that simulate keep all slots busy for about this time")
	t.BusyTasks = []uint64{1_000, 10_000}
	flags.Func("busy-tasks", "throughput: `numbers` of tasks into which that is cut, with commas between (default 1000,10000); 0: leave that out", func(s string) error {
		t.BusyTasks = nil
		for word := range strings.SplitSeq(s, ",") {
			n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 32)
			if err != nil {
				return errors.New("want whole numbers with commas between")
			}
			if n > 0 {
				t.BusyTasks = append(t.BusyTasks, n)
			}
		}
		return nil
	})
	flags.IntVar(&f.Kills, "kills", 4, "failover: kills per system and round")
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
		return o, fmt.Errorf("want one of throughput, failover and all, got %q", flags.Args())
	}
	t.Rounds, f.Rounds = rounds, rounds
	if err := o.check(); err != nil {
		return o, err
	}
	if err := o.choose(flags.Arg(0), systems); err != nil {
		return o, err
	}
	if program, err = find(program); err != nil {
		return o, err
	}
	t.Program, f.Program = program, program
	return o, nil
}

// names are those of all systems.
func names() (all []string) {
	for _, s := range throughput.Systems() {
		all = append(all, s.Name)
	}
	for _, s := range failover.Systems() {
		all = append(all, s.Name)
	}
	return all
}

// check refuses what cannot be measured.
func (o options) check() error {
	for _, n := range []struct {
		name        string
		value, most int
	}{
		{"rounds", o.throughput.Rounds, 1000},
		{"processes", o.throughput.Processes, 64},
		{"slots", o.throughput.Slots, 64},
		{"kills", o.failover.Kills, 1000},
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
	if !slices.Contains([]string{"table", "markdown", "json"}, o.format) {
		return fmt.Errorf("-o must be table, markdown or json, got %q", o.format)
	}
	return nil
}

// choose fills in the systems: those named, or all.
func (o *options) choose(what string, named []string) error {
	chosen := func(name string) bool { return len(named) == 0 || slices.Contains(named, name) }
	switch what {
	case "throughput", "failover", "all":
	default:
		return fmt.Errorf("want throughput, failover or all, got %q", what)
	}
	if what != "failover" {
		for _, s := range throughput.Systems() {
			if chosen(s.Name) {
				o.throughput.Systems = append(o.throughput.Systems, s)
			}
		}
	}
	if what != "throughput" {
		for _, s := range failover.Systems() {
			if chosen(s.Name) {
				o.failover.Systems = append(o.failover.Systems, s)
			}
		}
	}
	if o.throughput.Systems == nil && o.failover.Systems == nil {
		return fmt.Errorf("none of the systems named is measured for %s", what)
	}
	return nil
}

// find is the program's whole path: worker processes are started from elsewhere.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("-bellwether: %w: build it with 'make build'", err)
	}
	return filepath.Abs(path)
}
