package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"syscall"

	"github.com/bellwether-compute/bellwether/bench/peers/failover"
	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/throughput"
)

func main() {
	processes.Main(roles())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func roles() map[string]processes.Role {
	all := throughput.Roles()
	maps.Copy(all, failover.Roles())
	return all
}

// These constants are the exit statuses of the program.
const (
	statusOK     = 0
	statusFailed = 1
	statusUsage  = 2
)

// run runs a command line and returns its exit status. When run returns, all processes have ended,
// even if ctx was cancelled.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	switch {
	case errors.Is(err, errHelp):
		return statusOK
	case err != nil:
		fmt.Fprintf(errs, "peers: %v\nSee 'peers -help'.\n", err)
		return statusUsage
	}
	r, err := measure(ctx, o, errs)
	if err != nil {
		fmt.Fprintf(errs, "peers: %v\n", err)
		return statusFailed
	}
	if err := r.print(out, o.format); err != nil {
		fmt.Fprintf(errs, "peers: print results: %v\n", err)
		return statusFailed
	}
	return statusOK
}

// measure runs the benchmarks with all data in a temporary folder.
func measure(ctx context.Context, o *options, errs io.Writer) (r results, err error) {
	dir, err := os.MkdirTemp("", "bellwether-peers-")
	if err != nil {
		return r, fmt.Errorf("make a folder for data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL may run as another user, who must have access
		return r, fmt.Errorf("open the folder for data: %w", err)
	}
	progress := func(format string, args ...any) { fmt.Fprintf(errs, format+"\n", args...) }
	r = newResults()
	o.setup.Dir, o.setup.Progress = dir, progress
	for _, b := range o.run {
		m, err := b.run(ctx, o.setup, &r)
		if err != nil {
			return r, fmt.Errorf("measure %s: %w", b.name, err)
		}
		r.tables = append(r.tables, m.Tables()...)
	}
	return r, nil
}
