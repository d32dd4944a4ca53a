package throughput

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

// Result contains all measurements.
type Result struct {
	Processes int      `json:"processes"`
	Slots     int      `json:"slots"` // number of slots per process
	Rounds    int      `json:"rounds"`
	Systems   []About  `json:"systems"`
	Loads     []Loaded `json:"loads"`
}

// About describes a system.
type About struct {
	Name       string `json:"name"`
	Versions   string `json:"versions"`
	Durability string `json:"durability"`
	Tuning     string `json:"tuning,omitempty"`
}

// Loaded contains the measurements of one load.
type Loaded struct {
	Name string    `json:"name"`
	Work work.Work `json:"work"`
	Runs []Runs    `json:"systems"`
}

// Runs contains the runs of one system with one load, in the order of the rounds.
type Runs struct {
	System  string         `json:"system"`
	Setting Setting        `json:"setting"`
	Tasks   uint64         `json:"tasks"`
	Seconds report.Figures `json:"seconds"`
}

// Rates returns the tasks per second of each round.
func (r Runs) Rates() report.Figures {
	rates := make(report.Figures, len(r.Seconds))
	for i, s := range r.Seconds {
		rates[i] = float64(r.Tasks) / s
	}
	return rates
}

// load is the number and the kind of tasks in a run.
type load struct {
	name  string
	work  work.Work
	tasks uint64 // number of tasks; 0 means the number that the system executes in the time Config.For
}

// Run measures all loads on all systems in each round. The order of the systems differs between
// rounds.
func Run(ctx context.Context, cfg Config) (Result, error) {
	b := &bench{Config: cfg, right: map[rightKey]work.Sum{}}
	result := Result{Processes: cfg.Processes, Slots: cfg.Slots, Rounds: cfg.Rounds}
	for _, s := range cfg.Systems {
		versions, err := s.Versions(ctx, Place{Program: cfg.Program})
		if err != nil {
			return result, err
		}
		result.Systems = append(result.Systems, About{s.Name, versions, s.Durability, s.Tuning})
	}
	loads, err := b.loads(ctx)
	if err != nil {
		return result, err
	}
	for _, l := range loads {
		loaded := Loaded{Name: l.name, Work: l.work}
		cfg.Progress("%s: settings", l.name)
		for _, s := range cfg.Systems {
			runs, err := b.choose(ctx, s, l)
			if err != nil {
				return result, err
			}
			loaded.Runs = append(loaded.Runs, runs)
		}
		result.Loads = append(result.Loads, loaded)
	}
	for round := range cfg.Rounds {
		for at, l := range loads {
			for i := range cfg.Systems {
				i = (i + round) % len(cfg.Systems)
				if err := b.measure(ctx, cfg.Systems[i], l, &result.Loads[at].Runs[i]); err != nil {
					return result, fmt.Errorf("%s, %s, round %d: %w", l.name, cfg.Systems[i].Name, round+1, err)
				}
				runs := result.Loads[at].Runs[i]
				cfg.Progress("round %d of %d, %s, %s: %s tasks in %.3f s", round+1, cfg.Rounds, l.name, runs.System,
					humanize.Comma(int64(runs.Tasks)), runs.Seconds[round])
			}
		}
	}
	return result, nil
}

func (b *bench) loads(ctx context.Context) ([]load, error) {
	var all []load
	if b.For > 0 {
		all = append(all, load{name: fmt.Sprintf("empty tasks, as many as take about %v", b.For)})
	}
	if b.Same > 0 {
		all = append(all, load{name: fmt.Sprintf("%s empty tasks", humanize.Comma(int64(b.Same))), tasks: b.Same})
	}
	if len(b.BusyTasks) == 0 {
		return all, nil
	}
	speed, err := b.pathsPerSecond(ctx)
	if err != nil {
		return nil, err
	}
	for _, tasks := range b.BusyTasks {
		paths := max(1, uint64(speed*b.Busy.Seconds()/float64(tasks)))
		all = append(all, load{
			name: fmt.Sprintf("%s tasks of %s simulated paths", humanize.Comma(int64(tasks)), humanize.Comma(int64(paths))),
			work: work.Work{Paths: paths}, tasks: tasks,
		})
	}
	return all, nil
}

// pathsPerSecond returns the paths per second that all slots simulate in a plain loop.
func (b *bench) pathsPerSecond(ctx context.Context) (float64, error) {
	w := work.Work{Paths: 10_000}
	for tasks := uint64(8); ; tasks *= 2 {
		began := time.Now()
		if _, err := w.Right(ctx, tasks, b.Processes*b.Slots); err != nil {
			return 0, err
		}
		if took := time.Since(began); took >= tryFor {
			return float64(tasks*w.Paths) / took.Seconds(), nil
		}
	}
}

// partTried limits a trial of a setting: the trial executes at most the load's tasks divided by
// partTried.
const partTried = 4

func (b *bench) choose(ctx context.Context, s System, l load) (Runs, error) {
	most := uint64(math.MaxInt64)
	if l.tasks > 0 {
		most = max(1, l.tasks/partTried)
	}
	setting, rate, err := b.try(ctx, s, l.work, most)
	if err != nil {
		return Runs{}, err
	}
	tasks := l.tasks
	if tasks == 0 {
		tasks = max(firstTasks, roundTo2(rate*b.For.Seconds()))
	}
	return Runs{System: s.Name, Setting: setting, Tasks: tasks}, nil
}

func roundTo2(x float64) uint64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(x))-1))
	return uint64(math.Round(x/unit) * unit)
}

func (b *bench) measure(ctx context.Context, s System, l load, runs *Runs) error {
	return b.with(ctx, s, l.work, runs.Setting, func(open session) error {
		took, err := b.timed(ctx, open, l.work, runs.Tasks)
		runs.Seconds = append(runs.Seconds, took.Seconds())
		return err
	})
}
