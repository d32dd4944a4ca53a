package cli

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
)

func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a cluster does, on this machine or on a running one",
		Long: `Measure what a cluster does. What is compared is measured in one run: machines
differ, and so does one machine from one minute to the next. Each benchmark runs a
NATS server of its own, which syncs to disk, and worker processes of this program,
which scale only simulates; it leaves nothing behind. With --storage azure all but
scale also run an Azurite, which stands in for Azure. A running cluster is measured
by 'bench failover --attach' alone.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.benchFailoverCommand(), a.benchOverheadCommand(), a.benchThroughputCommand(), a.benchScaleCommand(),
		a.benchWorkerCommand(), a.benchLeaderCommand())
	return cmd
}

// benchmark is what every benchmark's command has.
type benchmark struct {
	cmd  *cobra.Command
	plot string
	log  logFlags
}

func (b *benchmark) register(cmd *cobra.Command) {
	b.cmd = cmd
	cmd.Flags().StringVar(&b.plot, "plot", "", "write a chart of the result to this file, which must end in .svg")
	b.log.register(cmd)
	cmd.Flags().Lookup("log-level").DefValue = "error"
	b.log.level = "error"
	completeFiles(cmd, "plot")
}

// check refuses a plot that cannot be drawn before anything is measured.
func (b *benchmark) check() error {
	if !b.cmd.Flags().Changed("plot") {
		return nil
	}
	if !strings.EqualFold(filepath.Ext(b.plot), ".svg") {
		return usagef("--plot: want a file name that ends in .svg, got %q", b.plot)
	}
	if info, err := os.Stat(filepath.Dir(b.plot)); err != nil || !info.IsDir() {
		return usagef("--plot: there is no folder %s", filepath.Dir(b.plot))
	}
	if info, err := os.Stat(b.plot); err == nil && info.IsDir() {
		return usagef("--plot: want a file, but %s is a folder", b.plot)
	}
	return nil
}

// checkAlone refuses flags that name a cluster or an account, for a benchmark that runs
// a cluster of its own. Variables that do are none of its business.
func (b *benchmark) checkAlone() (err error) {
	b.cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && !slices.Contains([]string{"output", "timeout", "storage"}, f.Name) {
			err = usagef("--%s: '%s' runs a cluster of its own on this machine: leave that flag out, or measure a running cluster with 'bench failover --attach'", f.Name, b.cmd.CommandPath())
		}
	})
	return err
}

// between refuses a flag's value beyond its bounds.
func between[T cmp.Ordered](flag string, got, least, most T) error {
	if got < least || got > most {
		return usagef("--%s must be %v to %v, got %v", flag, least, most, got)
	}
	return nil
}

// What benchmarks can be given. More is a slip, and would take days or all memory.
const (
	mostRounds        = 1000
	mostProcesses     = 256
	mostJobs          = 100_000
	mostJobPartitions = 1_000_000_000
	longest           = time.Hour
)

// report is what a benchmark measured.
type report interface {
	// Table writes it for people, with tabs between columns.
	Table(w io.Writer)
	Figure() plot.Figure
}

// tell says what is being done and, where all is above 0, how far it is.
type tell func(doing string, done, all uint64)

// measure runs a benchmark, showing progress, and prints its report. It is printed
// before it is drawn, and if one of them fails, the other is done all the same: what
// was measured took long.
func measure[R report](ctx context.Context, a *app, b *benchmark, run func(context.Context, tell) (R, error)) (R, error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	var (
		mu  sync.Mutex
		now snapshot
	)
	hide := a.follow(func() snapshot {
		mu.Lock()
		defer mu.Unlock()
		return now
	})
	r, err := run(ctx, func(doing string, done, all uint64) {
		mu.Lock()
		defer mu.Unlock()
		now = snapshot{Doing: doing, Done: done, All: all}
	})
	hide()
	if ctx.Err() != nil {
		return r, errInterrupted
	}
	if err != nil {
		return r, err
	}
	err = a.show(r, r.Table)
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
