package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/bench/plot"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

// ThroughputConfig is the configuration of [Throughput].
type ThroughputConfig struct {
	Cluster *client.Client
	Workers int // number of workers in the cluster

	Partitions uint64 // number of partitions of the job with empty partitions
	Rounds     int    // number of runs of the job with empty partitions

	AtOnce []int // numbers of small jobs to run at the same time; each number is measured
	Jobs   int   // number of small jobs in each measurement
	Small  int   // number of partitions of a small job

	Progress func(doing string, done, all uint64) // function that is called with the current activity; may be called from several goroutines
}

func (c ThroughputConfig) validate() error {
	return cmp.Or(
		field.Check(c.Workers >= 1, "Workers", c.Workers, "at least 1"),
		field.Check(c.Partitions >= 1, "Partitions", c.Partitions, "at least 1"),
		field.Check(c.Rounds >= 1, "Rounds", c.Rounds, "at least 1"),
		field.Check(c.Jobs >= 1, "Jobs", c.Jobs, "at least 1"),
		field.Check(c.Small >= 1, "Small", c.Small, "at least 1"),
		field.Check(!slices.ContainsFunc(c.AtOnce, func(n int) bool { return n < 1 }), "AtOnce", c.AtOnce, "at least 1 each"),
	)
}

// ThroughputReport is the result of Throughput.
type ThroughputReport struct {
	Workers    int       `json:"workers"`
	Slots      int       `json:"slots"` // sum of the slots of all workers
	Partitions uint64    `json:"partitions"`
	Rates      []float64 `json:"rates"`                 // partitions per second in each round
	Median     float64   `json:"partitions_per_second"` // median of Rates

	Jobs  int         `json:"jobs"`           // number of small jobs in each measurement
	Small int         `json:"job_partitions"` // number of partitions of each small job
	Many  []ManyPoint `json:"many"`
}

// ManyPoint is the result for one number of small jobs that run at the same time.
type ManyPoint struct {
	AtOnce int     `json:"at_once"`
	Rate   float64 `json:"jobs_per_second"` // number of jobs per second whose results became durable
	Took   Spread  `json:"took_ms"`         // times from the submission to the durable result
}

// Throughput measures how many empty partitions and how many small jobs a cluster completes
// per second, from submission to the durable result.
func Throughput(ctx context.Context, cfg ThroughputConfig) (ThroughputReport, error) {
	return measure("throughput", &cfg.Progress, cfg.validate(), func() (ThroughputReport, error) {
		return cfg.measure(ctx)
	})
}

func (c ThroughputConfig) measure(ctx context.Context) (ThroughputReport, error) {
	c.Progress("waiting for the workers", 0, 0)
	workers, err := awaitWorkers(ctx, c.Cluster, c.Workers)
	if err != nil {
		return ThroughputReport{}, err
	}
	report := ThroughputReport{Workers: c.Workers, Slots: slots(workers), Partitions: c.Partitions, Jobs: c.Jobs, Small: c.Small, Many: []ManyPoint{}}
	for i := range c.Rounds {
		rate, err := c.emptyPartitions(ctx, func(done, all uint64) {
			c.Progress(fmt.Sprintf("empty partitions, round %d of %d", i+1, c.Rounds), done, all)
		})
		if err != nil {
			return report, err
		}
		report.Rates = append(report.Rates, rate)
	}
	report.Median = Median(report.Rates)
	for _, n := range c.AtOnce {
		point, err := c.manyJobs(ctx, n)
		if err != nil {
			return report, fmt.Errorf("%d jobs at once: %w", n, err)
		}
		report.Many = append(report.Many, point)
	}
	return report, nil
}

func (c ThroughputConfig) emptyPartitions(ctx context.Context, tell func(done, all uint64)) (float64, error) {
	job := jobs.MustNew(probe.Definition)
	params, err := job.Params(nil, fmt.Sprint("partitions=", c.Partitions))
	if err != nil {
		return 0, err
	}
	id, err := c.Cluster.Submit(ctx, job, client.SubmitOptions{Params: params})
	if err != nil {
		return 0, err
	}
	m, err := finish(ctx, c.Cluster, id, tell)
	if err != nil {
		return 0, errors.Join(err, cancel(context.WithoutCancel(ctx), c.Cluster, id))
	}
	return float64(c.Partitions) / lasted(m).Seconds(), nil
}

func lasted(s client.Status) time.Duration { return s.Finished.Sub(s.Submitted) }

func (c ThroughputConfig) manyJobs(ctx context.Context, atOnce int) (ManyPoint, error) {
	job := jobs.MustNew(probe.Definition)
	params, err := job.Params(nil, fmt.Sprint("partitions=", c.Small))
	if err != nil {
		return ManyPoint{}, err
	}
	ended := make([]client.Status, c.Jobs)
	began := time.Now()
	underWay, ctx := errgroup.WithContext(ctx)
	underWay.SetLimit(atOnce)
	for i := range ended {
		c.Progress(fmt.Sprintf("small jobs, %d at once", atOnce), uint64(i), uint64(c.Jobs))
		underWay.Go(func() error {
			id, err := c.Cluster.Submit(ctx, job, client.SubmitOptions{Params: params})
			if err != nil {
				return err
			}
			ended[i], err = c.Cluster.Wait(ctx, id)
			return err
		})
	}
	if err := underWay.Wait(); err != nil {
		return ManyPoint{}, err
	}
	return countJobs(atOnce, ended, began)
}

func countJobs(atOnce int, ended []client.Status, began time.Time) (ManyPoint, error) {
	var (
		all  []float64
		last time.Time
	)
	for _, s := range ended {
		if err := s.Err(); err != nil {
			return ManyPoint{}, err
		}
		all = append(all, millis(lasted(s)))
		if s.Finished.After(last) {
			last = s.Finished
		}
	}
	return ManyPoint{AtOnce: atOnce, Rate: float64(len(ended)) / last.Sub(began).Seconds(), Took: spreadOf(all)}, nil
}

// Table writes the report as tables with tabs between columns.
func (r ThroughputReport) Table(w io.Writer) {
	fmt.Fprintf(w, "%d workers with %d slots\n\n", r.Workers, r.Slots)
	fmt.Fprintf(w, "empty partitions, %s in a job\t%s/s\n", about(float64(r.Partitions)), about(r.Median))
	fmt.Fprintf(w, "\nJOBS AT ONCE\tJOBS/S\tMEDIAN\tP95\tWORST\n")
	for _, p := range r.Many {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f ms\t%.1f ms\t%.1f ms\n", p.AtOnce, p.Rate, p.Took.Median, p.Took.P95, p.Took.Worst)
	}
}

// Figure draws the rate and the duration of small jobs over the number of jobs that run at the
// same time.
func (r ThroughputReport) Figure() plot.Figure {
	rate := plot.Line{Color: plot.Blue, Dots: true}
	took := plot.Line{Name: "median", Color: plot.Green, Dots: true}
	p95 := plot.Line{Name: "p95", Color: plot.Orange, Dots: true}
	for _, p := range r.Many {
		x := float64(p.AtOnce)
		rate.Points = append(rate.Points, plot.Point{X: x, Y: p.Rate})
		took.Points = append(took.Points, plot.Point{X: x, Y: p.Took.Median})
		p95.Points = append(p95.Points, plot.Point{X: x, Y: p.Took.P95})
	}
	at := plot.Axis{Label: "jobs at once", Log: true}
	return plot.Figure{
		Title: fmt.Sprintf("Small jobs, %d workers", r.Workers),
		Panels: []plot.Panel{
			{X: at, Y: plot.Axis{Label: "jobs per second, from submission to the durable result"}, Lines: []plot.Line{rate}},
			{X: at, Y: plot.Axis{Label: "milliseconds from submission to the durable result", Log: true}, Lines: []plot.Line{took, p95}},
		},
	}
}

// about formats a number with three significant digits: 126 million, 4.61 billion, 52,300.
func about(v float64) string {
	switch value, prefix := humanize.ComputeSI(v); prefix {
	case "T":
		return fmt.Sprintf("%.3g trillion", value)
	case "G":
		return fmt.Sprintf("%.3g billion", value)
	case "M":
		return fmt.Sprintf("%.3g million", value)
	}
	return humanize.Comma(int64(v))
}
