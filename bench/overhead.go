package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/plot"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

// OverheadConfig says what a flock is compared on with a plain loop.
type OverheadConfig struct {
	// Cluster is of the Flock's processes alone, and its NATS server is in this
	// process.
	Cluster *client.Client
	Flock   *procs.Supervisor
	Workers int

	// Storage is the ID of the storage's own process; 0 where storage is NATS.
	Storage int

	Partitions []uint64      // what the same work is cut into
	Work       time.Duration // about how long the loop takes
	Rounds     int           // of all of them, loop and flock taking turns

	Progress func(doing string, done, all uint64) // as in FailoverConfig
}

func (c OverheadConfig) validate() error {
	switch {
	case c.Workers < 1 || c.Flock == nil:
		return errors.New("a flock of at least 1 worker is needed")
	case c.Rounds < 1:
		return fmt.Errorf("want at least 1 round, got %d", c.Rounds)
	case c.Work < 100*time.Millisecond:
		return fmt.Errorf("want work for at least 100ms, got %v", c.Work)
	case len(c.Partitions) == 0:
		return errors.New("no numbers of partitions")
	}
	return nil
}

// OverheadReport is what Overhead measured.
type OverheadReport struct {
	Workers int             `json:"workers"`
	Slots   int             `json:"slots"` // of all of them, and goroutines of the loop
	Limit   uint64          `json:"limit"` // the work: the primes below it
	Points  []OverheadPoint `json:"points"`
}

// OverheadPoint is one number of partitions. Seconds are medians of all rounds.
type OverheadPoint struct {
	Partitions uint64    `json:"partitions"`
	Efficiency float64   `json:"efficiency"` // median of the rounds
	Rounds     []float64 `json:"rounds"`     // the loop's time over the flock's, in each
	Loop       float64   `json:"loop_seconds"`
	Flock      float64   `json:"flock_seconds"` // from submission to the durable result
	CPU        CPU       `json:"cpu_seconds"`
}

// CPU is the processor time that each part used. What the leader's own process
// worked is in Leader. NATS is the embedded server, and this process beside it,
// which only waits; with it is storage, unless that has a process of its own.
type CPU struct {
	Loop    float64 `json:"loop"`
	Leader  float64 `json:"leader"`
	Workers float64 `json:"workers"` // the others together
	NATS    float64 `json:"nats"`
	Storage float64 `json:"storage,omitempty"` // left out where it is within NATS
}

// Overhead compares a flock with a plain loop in this process that does the same
// work on as many cores.
func Overhead(ctx context.Context, cfg OverheadConfig) (OverheadReport, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string, uint64, uint64) {}
	}
	if err := cfg.validate(); err != nil {
		return OverheadReport{}, fmt.Errorf("configure overhead benchmark: %w", err)
	}
	r, err := (&overhead{OverheadConfig: cfg}).run(ctx)
	if err != nil {
		return OverheadReport{}, fmt.Errorf("measure overhead: %w", err)
	}
	return r, nil
}

type overhead struct {
	OverheadConfig
	slots int
	limit uint64
}

func (o *overhead) run(ctx context.Context) (OverheadReport, error) {
	o.Progress("waiting for the workers", 0, 0)
	workers, err := awaitWorkers(ctx, o.Cluster, o.Workers)
	if err != nil {
		return OverheadReport{}, err
	}
	o.slots = slots(workers)
	o.Progress("sizing the work", 0, 0)
	p, err := primesFor(ctx, o.slots, o.Work)
	if err != nil {
		return OverheadReport{}, err
	}
	o.limit = p.Limit
	rounds := make([][]round, len(o.Partitions))
	all := uint64(o.Rounds * len(o.Partitions))
	for n := range all {
		i := n % uint64(len(o.Partitions))
		o.Progress(fmt.Sprintf("%d partitions", o.Partitions[i]), n, all)
		r, err := o.round(ctx, o.Partitions[i])
		if err != nil {
			return OverheadReport{}, fmt.Errorf("%d partitions: %w", o.Partitions[i], err)
		}
		rounds[i] = append(rounds[i], r)
	}
	report := OverheadReport{Workers: o.Workers, Slots: o.slots, Limit: o.limit}
	for i, list := range rounds {
		report.Points = append(report.Points, newOverheadPoint(o.Partitions[i], list))
	}
	return report, nil
}

// round is one turn of loop and flock.
type round struct {
	loop, flock float64 // seconds
	cpu         CPU
}

func (o *overhead) round(ctx context.Context, partitions uint64) (r round, err error) {
	params := primes.Definition.Defaults
	params.Limit, params.Partitions = o.limit, partitions
	before, err := cpuOf(os.Getpid())
	if err != nil {
		return r, err
	}
	began := time.Now()
	want, err := plainLoop(ctx, primes.Definition, params, o.slots)
	if err != nil {
		return r, err
	}
	r.loop = time.Since(began).Seconds()
	after, err := cpuOf(os.Getpid())
	if err != nil {
		return r, err
	}
	r.cpu.Loop = (after - before).Seconds()
	return r, o.runFlock(ctx, params, want, &r)
}

// runFlock has the flock do what the loop did.
func (o *overhead) runFlock(ctx context.Context, p primes.Params, want []byte, r *round) error {
	leader, err := leader(ctx, o.Cluster)
	if err != nil {
		return err
	}
	before, err := o.usage(leader.PID)
	if err != nil {
		return err
	}
	job := jobs.MustNew(primes.Definition)
	params, err := job.Params(nil, fmt.Sprint("limit=", p.Limit), fmt.Sprint("partitions=", p.Partitions))
	if err != nil {
		return err
	}
	began := time.Now().UTC()
	id, err := o.Cluster.Submit(ctx, job, client.SubmitOptions{Params: params})
	if err != nil {
		return err
	}
	m, err := finish(ctx, o.Cluster, id, func(uint64, uint64) {})
	if err != nil {
		return errors.Join(err, cancel(context.WithoutCancel(ctx), o.Cluster, id))
	}
	after, err := o.usage(leader.PID)
	if err != nil {
		return err
	}
	r.flock = m.Finished.Sub(began).Seconds()
	r.cpu.Leader, r.cpu.Workers = after.Leader-before.Leader, after.Workers-before.Workers
	r.cpu.NATS, r.cpu.Storage = after.NATS-before.NATS, after.Storage-before.Storage
	return sameResult(ctx, o.Cluster, id, want)
}

// usage is the processor time that the flock's parts have used so far.
func (o *overhead) usage(leader int) (CPU, error) {
	var sum CPU
	add := func(to *float64, pid int) error {
		used, err := cpuOf(pid)
		*to += used.Seconds()
		return err
	}
	errs := []error{add(&sum.NATS, os.Getpid())}
	for _, p := range o.Flock.Running() {
		to := &sum.Workers
		if p.PID() == leader {
			to = &sum.Leader
		}
		errs = append(errs, add(to, p.PID()))
	}
	if o.Storage != 0 {
		errs = append(errs, add(&sum.Storage, o.Storage))
	}
	return sum, errors.Join(errs...)
}

// sameResult checks a job's result.
func sameResult(ctx context.Context, c *client.Client, id string, want []byte) error {
	got, err := c.Outcome(ctx, id)
	if err == nil && string(got.Result) != string(want) {
		err = fmt.Errorf("the flock's result is %s, the loop's %s", got.Result, want)
	}
	return err
}

func newOverheadPoint(partitions uint64, rounds []round) OverheadPoint {
	each := func(of func(round) float64) []float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, of(r))
		}
		return values
	}
	middle := func(of func(round) float64) float64 { return median(each(of)) }
	ratios := each(func(r round) float64 { return r.loop / r.flock })
	return OverheadPoint{
		Partitions: partitions, Efficiency: median(ratios), Rounds: ratios,
		Loop:  middle(func(r round) float64 { return r.loop }),
		Flock: middle(func(r round) float64 { return r.flock }),
		CPU: CPU{
			Loop:    middle(func(r round) float64 { return r.cpu.Loop }),
			Leader:  middle(func(r round) float64 { return r.cpu.Leader }),
			Workers: middle(func(r round) float64 { return r.cpu.Workers }),
			NATS:    middle(func(r round) float64 { return r.cpu.NATS }),
			Storage: middle(func(r round) float64 { return r.cpu.Storage }),
		},
	}
}

// Table writes the report for people, with tabs between columns.
func (r OverheadReport) Table(w io.Writer) {
	fmt.Fprintf(w, "primes below %s, %d workers with %d slots against a loop of as many goroutines\n\n", humanize.Comma(int64(r.Limit)), r.Workers, r.Slots)
	fmt.Fprintf(w, "PARTITIONS\tEFFICIENCY\tLOOP\tFLOCK\tCPU: LOOP\tLEADER\tOTHERS\tNATS\tSTORAGE\n")
	for _, p := range r.Points {
		storage := "in NATS"
		if p.CPU.Storage > 0 {
			storage = fmt.Sprintf("%.2f s", p.CPU.Storage)
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%s\n",
			humanize.Comma(int64(p.Partitions)), p.Efficiency, p.Loop, p.Flock, p.CPU.Loop, p.CPU.Leader, p.CPU.Workers, p.CPU.NATS, storage)
	}
}

// Figure draws the efficiency over the number of partitions.
func (r OverheadReport) Figure() plot.Figure {
	line := plot.Line{Name: "median", Color: plot.Blue, Dots: true}
	single := plot.Line{Name: "each round", Color: plot.Sky, Dots: true, Faint: true}
	var panel plot.Panel
	for _, p := range r.Points {
		line.Points = append(line.Points, plot.Point{X: float64(p.Partitions), Y: p.Efficiency})
		for i, e := range p.Rounds {
			if i == len(panel.Lines) {
				panel.Lines = append(panel.Lines, single)
			}
			panel.Lines[i].Points = append(panel.Lines[i].Points, plot.Point{X: float64(p.Partitions), Y: e})
		}
	}
	panel.Lines = append(panel.Lines, line)
	panel.X = plot.Axis{Label: "partitions of the same work", Log: true}
	panel.Y = plot.Axis{Label: "speed, as a share of a plain loop's on as many cores (1: as fast)"}
	panel.Y.Min, panel.Y.Max = r.bounds()
	return plot.Figure{Title: fmt.Sprintf("A flock of %d workers against a plain loop", r.Workers), Panels: []plot.Panel{panel}}
}

// bounds are the tenths around the efficiencies and 1. From 0 on, all of them would
// be one line.
func (r OverheadReport) bounds() (least, most float64) {
	least, most = 1, 1
	for _, p := range r.Points {
		for _, e := range p.Rounds { // the median is among them
			least, most = min(least, e), max(most, e)
		}
	}
	return min(0.9, math.Floor(least*10)/10), max(1.1, math.Ceil(most*10)/10)
}
