package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/cmd/cli/execguard"
	"github.com/bellwether-compute/bellwether/cmd/cli/outputs"
	"github.com/bellwether-compute/bellwether/cmd/cli/wasmhost"
	"github.com/bellwether-compute/bellwether/cmd/internal/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/demo"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/exec"
	"github.com/bellwether-compute/bellwether/jobs/glm"
	"github.com/bellwether-compute/bellwether/jobs/kmeans"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/jobs/probe"
	"github.com/bellwether-compute/bellwether/jobs/scan"
	"github.com/bellwether-compute/bellwether/jobs/wasm"
)

// TestMain makes the test binary also the program under test: a program with the jobs squares
// and centre and the built-in jobs.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"bellwether": func() {
			guard := execguard.Guard()
			cli.Program{
				Jobs: []jobs.Job{
					jobs.MustNew(squares), jobs.MustNew(primes.Definition), jobs.MustNew(probe.Definition), jobs.MustNew(scan.Definition),
					jobs.MustNewRounds(centre), jobs.MustNewRounds(glm.Definition), jobs.MustNewRounds(kmeans.Definition), jobs.MustNew(exec.Define(guard)), jobs.MustNew(wasm.Define(guard, wasmhost.CommandLine()...)),
				},
				Commands: []cli.Command{bench.Command, demo.Command, outputs.Command, execguard.Command, wasmhost.Command},
			}.Main()
		},
		"hold-exclusively":  holdExclusively,
		"bellwether-next":   func() { cli.Main(jobs.MustNew(squares), nextSquares) },
		"bellwether-uneven": func() { cli.Main(jobs.MustNew(uneven)) },
	})
}

// tests runs the tests, stops the Azurite that they share, and looks for leaked goroutines.
type tests struct{ *testing.M }

func (m tests) Run() int {
	err := azuritetest.AtOnce(6) // the tests wait more than they compute
	if os.Getenv("GORACE") == "" {
		// By default a program with the race detector sleeps for a second before it exits. The
		// sleep is disabled because the tests run hundreds of commands.
		err = errors.Join(err, os.Setenv("GORACE", "atexit_sleep_ms=0"))
	}
	contexts, tempErr := os.MkdirTemp("", "contexts-*") // the contexts of whoever runs the tests do not count
	err = errors.Join(err, tempErr, os.Setenv("XDG_CONFIG_HOME", contexts))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.M.Run()
	if err := errors.Join(azuritetest.Stop(), goleak.Find(), os.RemoveAll(contexts)); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// squares is the job of the tests. The job squares computes the sum of the squares below n, and can
// be slow or fail.
var squares = jobs.Definition[squaresParams, uint64, squaresResult]{
	Name: "squares", Version: "1", Summary: "the sum of squares",
	Defaults: squaresParams{N: 1000, Width: 10},
	Plan: func(_ context.Context, p squaresParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: (p.N + p.Width - 1) / p.Width}, nil
	},
	Open:  openSquares,
	Merge: func(left, right uint64) (uint64, error) { return left + right, nil },
	Finish: func(_ context.Context, p squaresParams, root uint64) (r squaresResult, err error) {
		r.Sum = root
		if p.Attach > 0 {
			r.Digits = jobs.NewAttachment("digits.txt", []byte(strings.Repeat("0123456789", p.Attach)))
		}
		return r, nil
	},
	Estimate:    func(_ context.Context, _ squaresParams, prefix, _ uint64) (any, error) { return prefix, nil },
	Stop:        stopSquares,
	NoEstimates: func(p squaresParams) bool { return p.Stop == 0 },
}

// stopSquares stops at the first rung with enough partitions. If a job with a stop is held, the rung before the
// stop is judged only when the file exists.
func stopSquares(ctx context.Context, p squaresParams, _, n uint64) (bool, error) {
	if p.Hold != "" && n < p.Stop && engine.NextRung(n) >= p.Stop {
		if err := (squaresMapper{squaresParams: p}).hold(ctx, p.Hold); err != nil {
			return false, err
		}
	}
	return n >= p.Stop, nil
}

type squaresParams struct {
	N      uint64        `json:"n" min:"1" max:"1000000000" help:"squares of the numbers below it"`
	Width  uint64        `json:"width" min:"1" max:"1000000" help:"numbers per partition"`
	Sleep  time.Duration `json:"sleep" min:"0s" max:"1m" help:"duration of each partition"`
	Fail   string        `json:"fail" help:"fail with this error"`
	Trace  string        `json:"trace" help:"folder in which each process notes what it executes"`
	Attach int           `json:"attach" min:"0" help:"tens of digits in the attachment"`
	Hold   string        `json:"hold" help:"file without which the last tenth of the partitions does not end, unless their process is told to stop; with stop, file without which the rung before the stop is not judged"`
	Stop   uint64        `json:"stop" help:"number of partitions that suffice; 0: the job has no estimates"`
	First  string        `json:"first" help:"file without which the first partition does not end"`
}

type squaresResult struct {
	Sum    uint64          `json:"sum"`
	Digits jobs.Attachment `json:"digits,omitzero"`
}

type squaresMapper struct {
	squaresParams
	trace   *os.File        // file for the trace; nil if there is none
	stopped <-chan struct{} // closed when this process is told to stop
	ignore  func()          // stops listening for signals
}

func openSquares(_ context.Context, p squaresParams, _ jobs.Plan) (jobs.Mapper[uint64], error) {
	m := squaresMapper{squaresParams: p, ignore: func() {}}
	if p.Hold != "" {
		ctx, ignore := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		m.stopped, m.ignore = ctx.Done(), ignore
	}
	if p.Trace != "" {
		var err error
		name := filepath.Join(p.Trace, strconv.Itoa(os.Getpid()))
		if m.trace, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m squaresMapper) Map(ctx context.Context, partition uint64) (uint64, error) {
	if m.Sleep > 0 {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("sleep: %w", ctx.Err())
		case <-time.After(m.Sleep):
		}
	}
	file := ""
	switch {
	case partition == 0:
		file = m.First
	case m.Stop == 0 && partition*m.Width >= m.N-m.N/10: // more partitions than the processes that a test stops can end
		file = m.Hold
	}
	if file != "" {
		if err := m.hold(ctx, file); err != nil {
			return 0, err
		}
	}
	if m.Fail != "" {
		return 0, errors.New(m.Fail)
	}
	var sum uint64
	for n := partition * m.Width; n < min((partition+1)*m.Width, m.N); n++ {
		sum += n * n
	}
	if m.trace != nil {
		if _, err := fmt.Fprintln(m.trace, partition, time.Now().UnixNano()); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// hold waits until a file exists or this process is told to stop.
func (m squaresMapper) hold(ctx context.Context, file string) error {
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-m.stopped:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("hold: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond): // pause between two checks
		}
	}
}

func (m squaresMapper) Close() error {
	m.ignore()
	if m.trace == nil {
		return nil
	}
	return m.trace.Close()
}
