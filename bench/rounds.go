package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/bellwether-compute/bellwether/bench/plot"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/field"
)

// RoundsConfig is the configuration of [Rounds].
type RoundsConfig struct {
	// Clusters are the clusters that are measured, one after the other. Each function starts a cluster whose workers have one
	// slot each, know the jobs [EmptyRounds] and kmeans, and may read the file.
	Clusters []RoundsCluster

	Partitions  uint64 // partitions of the job without work
	EmptyRounds uint64 // rounds of this job

	File    string // path of the file that Rounds writes, reads and removes; the file must not exist
	Rows    int
	Columns int
	K       int // number of clusters
	Moves   int // rounds of k-means with centres that are compared with the loop

	Progress func(doing string, done, all uint64) // function that is called with the current activity; may be called from several goroutines
}

// RoundsCluster starts a cluster of a number of workers.
type RoundsCluster struct {
	Workers int
	Start   func(ctx context.Context) (c *client.Client, stop func(), err error)
}

func (c RoundsConfig) validate() error {
	errs := []error{
		field.Check(len(c.Clusters) > 0, "Clusters", len(c.Clusters), "at least one"),
		field.Check(c.Partitions >= 1, "Partitions", c.Partitions, "at least 1"),
		field.Check(c.EmptyRounds >= 2, "EmptyRounds", c.EmptyRounds, "at least 2"),
		field.Check(c.Rows >= 1, "Rows", c.Rows, "at least 1"),
		field.Check(c.Columns >= 1, "Columns", c.Columns, "at least 1"),
		field.Check(c.K >= 1 && c.K <= c.Rows, "K", c.K, "1 to the number of rows"),
		field.Check(c.Moves >= 1, "Moves", c.Moves, "at least 1"),
	}
	return cmp.Or(errs...)
}

// RoundsReport is the result of Rounds. Times are in seconds unless their names say otherwise.
type RoundsReport struct {
	Partitions  uint64        `json:"partitions"`
	EmptyRounds uint64        `json:"empty_rounds"`
	Empty       []EmptyReport `json:"empty"`

	Rows       int            `json:"rows"`
	Columns    int            `json:"columns"`
	K          int            `json:"k"`
	Moves      int            `json:"moves"`
	Goroutines int            `json:"goroutines"` // of the loop
	KMeans     []KMeansReport `json:"kmeans"`
}

// EmptyReport describes rounds without work.
type EmptyReport struct {
	Workers int    `json:"workers"`
	Round   Spread `json:"round_ms"`
}

// KMeansReport compares the rounds of the job kmeans with a loop.
type KMeansReport struct {
	Workers int     `json:"workers"`
	First   float64 `json:"first_s"` // the first round, which reads the file and chooses the first centres
	Job     float64 `json:"job_s"`   // the rounds with centres
	Loop    float64 `json:"loop_s"`  // as many passes of the loop
	Ratio   float64 `json:"ratio"`   // time of the job divided by that of the loop
}

// Rounds measures jobs with rounds: the time of a round without work, and k-means beside a plain loop. The loop has
// the rows in memory, one goroutine for each core, and the job's first centres. Both find the nearest centre with the same
// code, so they differ in what rounds cost: state, partials, merges, exact sums, and rows that have moved to
// another worker. After the rounds both must have the same inertia.
func Rounds(ctx context.Context, c RoundsConfig) (r RoundsReport, err error) {
	return measure("rounds", &c.Progress, c.validate(), func() (RoundsReport, error) { return c.run(ctx) })
}

func (c RoundsConfig) run(ctx context.Context) (r RoundsReport, err error) {
	r = RoundsReport{
		Partitions: c.Partitions, EmptyRounds: c.EmptyRounds,
		Rows: c.Rows, Columns: c.Columns, K: c.K, Moves: c.Moves, Goroutines: runtime.GOMAXPROCS(0),
	}
	points, err := c.write(ctx)
	defer func() { err = cmp.Or(err, c.remove()) }()
	if err != nil {
		return r, err
	}
	for _, g := range c.Clusters {
		if err := c.measureCluster(ctx, g, points, &r); err != nil {
			return r, fmt.Errorf("%d workers: %w", g.Workers, err)
		}
	}
	return r, nil
}

func (c RoundsConfig) measureCluster(ctx context.Context, g RoundsCluster, points []float64, r *RoundsReport) error {
	c.Progress(fmt.Sprintf("starting %d workers", g.Workers), 0, 0)
	on, stop, err := g.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := awaitWorkers(ctx, on, g.Workers); err != nil {
		return err
	}
	empty, err := c.empty(ctx, on)
	if err != nil {
		return err
	}
	r.Empty = append(r.Empty, EmptyReport{g.Workers, empty})
	one, err := c.kmeans(ctx, on, points)
	one.Workers = g.Workers
	r.KMeans = append(r.KMeans, one)
	return err
}

// runRounds runs a job with rounds in a cluster, and returns its result and the times of its rounds in seconds.
func runRounds(ctx context.Context, on *client.Client, job jobs.Job, tell func(done, all uint64), pairs ...string) (result []byte, rounds []float64, err error) {
	params, err := job.Params(nil, pairs...)
	if err != nil {
		return nil, nil, err
	}
	id, err := on.Submit(ctx, job, client.SubmitOptions{Params: params})
	if err != nil {
		return nil, nil, err
	}
	last, err := finish(ctx, on, id, tell)
	if err != nil {
		return nil, nil, cmp.Or(err, cancel(context.WithoutCancel(ctx), on, id))
	}
	for _, round := range last.FinishedRounds {
		rounds = append(rounds, round.Took.Seconds())
	}
	o, err := on.Outcome(ctx, id)
	if err == nil {
		_, err = on.Remove(ctx, id)
	}
	return o.Result, rounds, err
}

// Table writes the report as tables with tabs between columns.
func (r RoundsReport) Table(w io.Writer) {
	fmt.Fprintf(w, "%s rounds without work, %s partitions, workers with one slot each\n\n", about(float64(r.EmptyRounds)), about(float64(r.Partitions)))
	fmt.Fprintln(w, "WORKERS\tMEDIAN\tP95\tWORST ROUND")
	for _, e := range r.Empty {
		fmt.Fprintf(w, "%d\t%.1f ms\t%.1f ms\t%.1f ms\n", e.Workers, e.Round.Median, e.Round.P95, e.Round.Worst)
	}
	fmt.Fprintf(w, "\nk-means: %s rows of %d columns, %d clusters, %d rounds; a loop of %d goroutines\n\n", about(float64(r.Rows)), r.Columns, r.K, r.Moves, r.Goroutines)
	fmt.Fprintln(w, "WORKERS\tREADING\tJOB\tLOOP\tJOB / LOOP\tPER ROUND")
	for _, k := range r.KMeans {
		fmt.Fprintf(w, "%d\t%.2f s\t%.2f s\t%.2f s\t%.2f\t%.3f s\n", k.Workers, k.First, k.Job, k.Loop, k.Ratio, k.Job/float64(r.Moves))
	}
}

// Figure draws the times of rounds without work, and of k-means and the loop.
func (r RoundsReport) Figure() plot.Figure {
	var empty, job, loop []plot.Point
	for _, e := range r.Empty {
		empty = append(empty, plot.Point{X: float64(e.Workers), Y: e.Round.Median})
	}
	for _, k := range r.KMeans {
		job, loop = append(job, plot.Point{X: float64(k.Workers), Y: k.Job}), append(loop, plot.Point{X: float64(k.Workers), Y: k.Loop})
	}
	return plot.Figure{
		Title: "Rounds without work, and k-means",
		Panels: []plot.Panel{
			{
				X: plot.Axis{Label: "workers"}, Y: plot.Axis{Label: "ms for a round without work"},
				Lines: []plot.Line{{Color: plot.Blue, Dots: true, Points: empty}},
			},
			{
				X: plot.Axis{Label: "workers"}, Y: plot.Axis{Label: "seconds: job blue, loop orange"},
				Lines: []plot.Line{{Color: plot.Blue, Dots: true, Points: job}, {Color: plot.Orange, Dots: true, Points: loop}},
			},
		},
	}
}
