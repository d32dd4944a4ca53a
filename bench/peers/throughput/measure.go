package throughput

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

// Config is the configuration of [Run].
type Config struct {
	report.Setup
	Systems   []System
	Processes int
	Slots     int
	// For is the approximate duration of a run with empty tasks. Each system executes as many tasks
	// as it can in the time For. If For is 0, there is no run with empty tasks.
	For time.Duration
	// Same is the number of empty tasks in a run that has the same number of tasks for all systems.
	// If Same is 0, no run has the same number of tasks for all systems.
	Same uint64
	// Busy is the approximate time for which simulated tasks keep all slots busy. BusyTasks
	// contains the numbers of simulated tasks, each of which is measured.
	Busy      time.Duration
	BusyTasks []uint64
}

// tryFor is the shortest time for which a setting is tried and a system is measured. A shorter run
// is repeated.
const tryFor = 400 * time.Millisecond

// firstTasks is the number of tasks of a warm-up run.
const firstTasks = 200

type bench struct {
	Config
	right map[rightKey]work.Sum
	runs  int // number of folders that were used for runs
}

type rightKey struct {
	work  work.Work
	tasks uint64
}

// rightSum returns the expected sum of a run. The sum is computed once, before the run.
func (b *bench) rightSum(ctx context.Context, w work.Work, tasks uint64) (work.Sum, error) {
	key := rightKey{w, tasks}
	if sum, found := b.right[key]; found {
		return sum, nil
	}
	sum, err := w.Right(ctx, tasks, b.Processes*b.Slots)
	if err == nil {
		b.right[key] = sum
	}
	return sum, err
}

// with opens a system in a new folder, warms the system up, calls do and closes the system.
func (b *bench) with(ctx context.Context, s System, w work.Work, setting Setting, do func(session) error) (err error) {
	b.runs++
	dir := filepath.Join(b.Dir, fmt.Sprint("run-", b.runs))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	open, err := s.open(ctx, Place{Dir: dir, Program: b.Program, Processes: b.Processes, Slots: b.Slots}, w, setting)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	if _, err := b.run(ctx, open, w, firstTasks); err != nil {
		return err
	}
	return do(open)
}

func (b *bench) run(ctx context.Context, open session, w work.Work, tasks uint64) (time.Duration, error) {
	want, err := b.rightSum(ctx, w, tasks)
	if err != nil {
		return 0, err
	}
	took, sum, err := open.run(ctx, tasks)
	if err != nil {
		return 0, err
	}
	return took, sum.Check(want)
}

// mostRuns is the maximum number of repetitions of a short run.
const mostRuns = 10

// timed returns the duration of a run. If runs are short, timed returns the mean of several runs.
func (b *bench) timed(ctx context.Context, open session, w work.Work, tasks uint64) (time.Duration, error) {
	var total time.Duration
	for runs := time.Duration(1); ; runs++ {
		took, err := b.run(ctx, open, w, tasks)
		if err != nil {
			return 0, err
		}
		if total += took; total >= tryFor || runs == mostRuns {
			return total / runs, nil
		}
	}
}

// try returns the fastest setting of a system and its tasks per second, in runs of no more than most tasks.
func (b *bench) try(ctx context.Context, s System, w work.Work, most uint64) (best Setting, rate float64, err error) {
	for _, setting := range s.Settings {
		err := b.with(ctx, s, w, setting, func(open session) error {
			took, tasks, err := b.speed(ctx, open, w, most)
			if err != nil {
				return err
			}
			r := float64(tasks) / took.Seconds()
			b.Progress("  %s, %v: %.0f tasks/s", s.Name, setting, r)
			if r > rate {
				best, rate = setting, r
			}
			return nil
		})
		if err != nil {
			return best, 0, fmt.Errorf("try %s with %v: %w", s.Name, setting, err)
		}
	}
	return best, rate, nil
}

// speed increases the number of tasks until a run is long enough or has the most tasks.
func (b *bench) speed(ctx context.Context, open session, w work.Work, most uint64) (took time.Duration, tasks uint64, err error) {
	for tasks = min(firstTasks, most); tasks < most; tasks = min(most, tasks*growth(took)) {
		took, err = b.run(ctx, open, w, tasks)
		if err != nil || took >= tryFor {
			return took, tasks, err
		}
	}
	took, err = b.timed(ctx, open, w, most)
	return took, most, err
}

// growth returns the factor for the tasks of the next run, which should take a quarter longer than tryFor.
func growth(took time.Duration) uint64 {
	return uint64(min(16, max(2, 5*tryFor/4/max(took, time.Millisecond))))
}
