// Package bench is the command bench: benchmarks of a cluster.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/bench/plot"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/cmd/internal/progress"
)

// Command returns the command bench.
func Command(a *console.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a cluster on this machine, or a running one",
		Long: `Measure a cluster. Values that are compared are measured in one run: machines
differ, and one machine differs from one minute to the next. Each benchmark starts
a NATS server that syncs to disk, and worker processes of this program (scale
simulates them), and removes everything at the end. With --storage azure, all but
scale also start Azurite, the emulator of Azure Storage. Only
'bench failover --attach' measures a running cluster.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(failoverCommand(a), overheadCommand(a), throughputCommand(a), aggregateCommand(a), scanCommand(a), reuseCommand(a), roundsCommand(a), scaleCommand(a),
		workerCommand(a), leaderCommand(a))
	return cmd
}

// benchmark contains the flags that all subcommands of the command bench have.
type benchmark struct {
	cmd  *cobra.Command
	plot string
	log  console.LogFlags
}

func (b *benchmark) register(cmd *cobra.Command) {
	b.cmd = cmd
	cmd.Flags().StringVar(&b.plot, "plot", "", "write a chart of the result to this file, which must end in .svg")
	b.log.Register(cmd, "error")
	console.CompleteFiles(cmd, "plot")
}

// check validates --plot before anything is measured.
func (b *benchmark) check() error {
	if !b.cmd.Flags().Changed("plot") {
		return nil
	}
	if !strings.EqualFold(filepath.Ext(b.plot), ".svg") {
		return console.Usagef("--plot: want a file name that ends in .svg, got %q", b.plot)
	}
	if info, err := os.Stat(filepath.Dir(b.plot)); err != nil || !info.IsDir() {
		return console.Usagef("--plot: there is no folder %s", filepath.Dir(b.plot))
	}
	if info, err := os.Stat(b.plot); err == nil && info.IsDir() {
		return console.Usagef("--plot: want a file, but %s is a folder", b.plot)
	}
	return nil
}

// checkAlone returns an error if a flag names a cluster or an account; benchmarks that start their
// own cluster call it. checkAlone ignores environment variables.
func (b *benchmark) checkAlone() (err error) {
	b.cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains([]string{"output", "reply-timeout", "storage"}, f.Name) {
			err = console.Usagef("--%s: '%s' starts its own cluster on this machine: omit the flag, or measure a running cluster with 'bench failover --attach'", f.Name, b.cmd.CommandPath())
		}
	})
	return err
}

// between returns an error if a flag's value is below the minimum or above the maximum.
func between[T cmp.Ordered](flag string, got, least, most T) error {
	if got < least || got > most {
		return console.Usagef("--%s must be %v to %v, got %v", flag, least, most, got)
	}
	return nil
}

// The limits below apply to flags of benchmarks. With a larger value a benchmark would take days or
// use all memory.
const (
	mostRounds        = 1000
	mostProcesses     = 256
	mostJobs          = 100_000
	mostJobPartitions = 1_000_000_000
	longest           = time.Hour
)

// report is the result of a benchmark.
type report interface {
	// Table writes the report as tables with tabs between columns.
	Table(w io.Writer)
	Figure() plot.Figure
}

// tell shows the current activity, and how much of it is done if all is above 0.
type tell func(doing string, done, all uint64)

// measure runs a benchmark with a progress line, prints the report and draws the chart. The chart
// is drawn even if the report cannot be printed, because the measurement takes long.
func measure[R report](ctx context.Context, a *console.App, b *benchmark, run func(context.Context, tell) (R, error)) (R, error) {
	ctx, stop := console.Interruptible(ctx)
	defer stop()
	var (
		mu  sync.Mutex
		now progress.Snapshot
	)
	hide := progress.Follow(a.Err, func() progress.Snapshot {
		mu.Lock()
		defer mu.Unlock()
		return now
	})
	r, err := run(ctx, func(doing string, done, all uint64) {
		mu.Lock()
		defer mu.Unlock()
		now = progress.Snapshot{Doing: doing, Done: done, All: all}
	})
	hide()
	if ctx.Err() != nil {
		return r, machine.ErrInterrupted
	}
	if err != nil {
		return r, err
	}
	err = a.Show(r, r.Table)
	if b.plot != "" {
		err = errors.Join(err, b.draw(r.Figure()))
	}
	return r, err
}

func (b *benchmark) draw(f plot.Figure) (err error) {
	file, err := os.Create(b.plot)
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	return plot.WriteSVG(file, f)
}
