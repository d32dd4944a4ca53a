package bench

import (
	"cmp"
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
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

// OverheadConfig configures Overhead.
type OverheadConfig struct {
	// Cluster is a client of a cluster whose workers are the processes of Flock and whose NATS
	// server runs in this process.
	Cluster *client.Client
	Flock   *procs.Supervisor
	Workers int

	// Storage is the process ID of the storage server, or 0 if storage is JetStream.
	Storage int

	Partitions []uint64      // numbers of partitions into which the work is divided; each number is measured
	Work       time.Duration // approximate duration of the plain loop
	Rounds     int           // number of rounds; each round measures the loop, and the cluster for every number of partitions

	Progress func(doing string, done, all uint64) // function that is called with the current activity; may be called from several goroutines
}

func (c OverheadConfig) validate() error {
	return cmp.Or(
		field.Check(c.Flock != nil, "Flock", nil, "the processes of the workers"),
		field.Check(c.Workers >= 1, "Workers", c.Workers, "at least 1"),
		field.Check(c.Rounds >= 1, "Rounds", c.Rounds, "at least 1"),
		field.Check(c.Work >= 100*time.Millisecond, "Work", c.Work, "at least 100ms"),
		field.Check(len(c.Partitions) > 0, "Partitions", nil, "at least one number"),
	)
}

// OverheadReport is the result of Overhead.
type OverheadReport struct {
	Workers int             `json:"workers"`
	Slots   int             `json:"slots"` // number of slots of all workers, and of goroutines of the loop
	Limit   uint64          `json:"limit"` // limit of the search: the work is to count the primes below the limit
	Points  []OverheadPoint `json:"points"`
}

// OverheadPoint is the result for one number of partitions. Values are medians of the rounds.
type OverheadPoint struct {
	Partitions uint64    `json:"partitions"`
	Efficiency float64   `json:"efficiency"` // median efficiency of the rounds
	Rounds     []float64 `json:"rounds"`     // efficiency of each round: the loop's time divided by the cluster's time
	Loop       float64   `json:"loop_seconds"`
	Flock      float64   `json:"flock_seconds"` // time from the submission to the durable result
	CPU        CPU       `json:"cpu_seconds"`
}

// CPU contains the processor times of the parts of a cluster in seconds. Leader includes the
// partitions that the leader's process executes. NATS is the processor time of the process that
// measures, which also runs the NATS server. If the storage is JetStream, NATS includes the
// storage.
type CPU struct {
	Loop    float64 `json:"loop"`
	Leader  float64 `json:"leader"`
	Workers float64 `json:"workers"` // processor time of the workers that do not lead
	NATS    float64 `json:"nats"`
	Storage float64 `json:"storage,omitempty"` // processor time of storage; omitted if NATS includes storage
}

// Overhead compares a cluster with a plain loop in this process that does the same work on the same
// number of cores.
func Overhead(ctx context.Context, cfg OverheadConfig) (OverheadReport, error) {
	return measure("overhead", &cfg.Progress, cfg.validate(), func() (OverheadReport, error) {
		return (&overhead{OverheadConfig: cfg}).run(ctx)
	})
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

type round struct {
	loop, flock float64 // durations in seconds of the plain loop and of the job in the cluster
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
	return r, o.runCluster(ctx, params, want, &r)
}

// runCluster counts the primes with the cluster, and compares the result with the result of the loop.
func (o *overhead) runCluster(ctx context.Context, p primes.Params, want []byte, r *round) error {
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

// usage returns the processor time that each part of the cluster has used so far.
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

func sameResult(ctx context.Context, c *client.Client, id string, want []byte) error {
	got, err := c.Outcome(ctx, id)
	if err == nil && string(got.Result) != string(want) {
		err = fmt.Errorf("the cluster's result is %s, want %s", got.Result, want)
	}
	return err
}

func newOverheadPoint(partitions uint64, rounds []round) OverheadPoint {
	var ratios, loop, cluster, cpuLoop, leader, workers, nats, storage []float64
	for _, r := range rounds {
		ratios = append(ratios, r.loop/r.flock)
		loop, cluster = append(loop, r.loop), append(cluster, r.flock)
		cpuLoop, leader, workers = append(cpuLoop, r.cpu.Loop), append(leader, r.cpu.Leader), append(workers, r.cpu.Workers)
		nats, storage = append(nats, r.cpu.NATS), append(storage, r.cpu.Storage)
	}
	return OverheadPoint{
		Partitions: partitions, Efficiency: Median(ratios), Rounds: ratios, Loop: Median(loop), Flock: Median(cluster),
		CPU: CPU{Loop: Median(cpuLoop), Leader: Median(leader), Workers: Median(workers), NATS: Median(nats), Storage: Median(storage)},
	}
}

// Table writes the report as a table with tabs between columns.
func (r OverheadReport) Table(w io.Writer) {
	fmt.Fprintf(w, "primes below %s, %d workers with %d slots against a loop of as many goroutines\n\n", humanize.Comma(int64(r.Limit)), r.Workers, r.Slots)
	fmt.Fprintf(w, "PARTITIONS\tEFFICIENCY\tLOOP\tCLUSTER\tCPU: LOOP\tLEADER\tOTHERS\tNATS\tSTORAGE\n")
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
	panel.Y = plot.Axis{Label: "speed relative to a plain loop on equally many cores"}
	panel.Y.Min, panel.Y.Max = r.bounds()
	return plot.Figure{Title: fmt.Sprintf("A cluster of %d workers against a plain loop", r.Workers), Panels: []plot.Panel{panel}}
}

// bounds returns the bounds of the efficiency axis. The bounds are multiples of 0.1 and enclose 1
// and all efficiencies. An axis from 0 would hide the differences between the efficiencies.
func (r OverheadReport) bounds() (least, most float64) {
	least, most = 1, 1
	for _, p := range r.Points {
		for _, e := range p.Rounds { // the median lies between the smallest and the largest round
			least, most = min(least, e), max(most, e)
		}
	}
	return min(0.9, math.Floor(least*10)/10), max(1.1, math.Ceil(most*10)/10)
}
