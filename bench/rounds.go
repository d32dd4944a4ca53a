package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/bench/plot"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/field"
)

// RoundsConfig is the configuration of [Rounds].
type RoundsConfig struct {
	// Clusters are the clusters that are measured, one after the other. Each function starts a cluster whose workers have one
	// slot each, know the jobs [EmptyRounds], [LargeRounds], kmeans and glm, and may read the files.
	Clusters []RoundsCluster

	Jobs []string // which jobs are measured, of [RoundsJobs]

	Partitions  uint64 // partitions of the job without work
	EmptyRounds uint64 // rounds of this job

	Dir     string // folder of the files that Rounds writes, reads and removes
	Rows    int
	Columns int
	K       int // number of clusters
	Moves   int // rounds of k-means with centres that are compared with the loop

	ModelRows    int // rows of the regression; the job reads them from a second file
	ModelColumns int

	StateBytes  int // size of the state of the job [LargeRounds], and of its partials
	LargeRounds int // rounds of this job

	Progress func(doing string, done, all uint64) // function that is called with the current activity; may be called from several goroutines
}

// RoundsJobs are the jobs that [Rounds] can measure: without work, kmeans, glm, and with a large state.
var RoundsJobs = []string{"empty", "kmeans", "glm", "large"}

// RoundsCluster starts a cluster of a number of workers.
type RoundsCluster struct {
	Workers int
	Start   func(ctx context.Context) (c *client.Client, stop func(), err error)
}

func (c RoundsConfig) validate() error {
	errs := []error{
		field.Check(len(c.Clusters) > 0, "Clusters", len(c.Clusters), "at least one"),
		field.Check(len(c.Jobs) > 0, "Jobs", len(c.Jobs), "at least one"),
		field.Check(c.Partitions >= 1, "Partitions", c.Partitions, "at least 1"),
		field.Check(c.EmptyRounds >= 2, "EmptyRounds", c.EmptyRounds, "at least 2"),
		field.Check(c.Rows >= 1, "Rows", c.Rows, "at least 1"),
		field.Check(c.Columns >= 1, "Columns", c.Columns, "at least 1"),
		field.Check(c.K >= 1 && c.K <= c.Rows, "K", c.K, "1 to the number of rows"),
		field.Check(c.Moves >= 1, "Moves", c.Moves, "at least 1"),
		field.Check(c.ModelColumns >= 1, "ModelColumns", c.ModelColumns, "at least 1"),
		field.Check(c.ModelRows >= 100*c.ModelColumns, "ModelRows", c.ModelRows, "at least 100 for each column"),
		field.Check(c.StateBytes >= 8, "StateBytes", c.StateBytes, "at least 8"),
		field.Check(c.LargeRounds >= 2, "LargeRounds", c.LargeRounds, "at least 2"),
	}
	return cmp.Or(errs...)
}

// RoundsReport is the result of Rounds. Times are in seconds unless their names say otherwise.
type RoundsReport struct {
	Partitions  uint64        `json:"partitions"`
	EmptyRounds uint64        `json:"empty_rounds"`
	Empty       []EmptyReport `json:"empty"`

	Rows       int          `json:"rows"`
	Columns    int          `json:"columns"`
	K          int          `json:"k"`
	Moves      int          `json:"moves"`
	Goroutines int          `json:"goroutines"` // of the loops
	KMeans     []LoopReport `json:"kmeans"`

	ModelRows    int          `json:"glm_rows"`
	ModelColumns int          `json:"glm_columns"`
	GLM          []LoopReport `json:"glm"`

	StateBytes int          `json:"state_bytes"`
	Large      []LoopReport `json:"large"`
}

// EmptyReport describes rounds without work.
type EmptyReport struct {
	Workers int    `json:"workers"`
	Round   Spread `json:"round_ms"`
}

// LoopReport compares the rounds of a job with a loop.
type LoopReport struct {
	Workers int     `json:"workers"`
	First   float64 `json:"first_s"` // the first round, in which the workers open the job and read their rows
	Rounds  int     `json:"rounds"`  // number of rounds that are compared
	Job     float64 `json:"job_s"`   // these rounds
	Loop    float64 `json:"loop_s"`  // as many passes of the loop
	Ratio   float64 `json:"ratio"`   // time of the job divided by that of the loop
}

// compared returns the report of a job's rounds and of as many passes of a loop.
func compared(rounds []float64, loop time.Duration) LoopReport {
	r := LoopReport{First: rounds[0], Rounds: len(rounds) - 1, Job: sum(rounds[1:]), Loop: loop.Seconds()}
	r.Ratio = r.Job / r.Loop
	return r
}

func (r LoopReport) on(g RoundsCluster) LoopReport {
	r.Workers = g.Workers
	return r
}

// Rounds measures jobs with rounds: the time of a round without work, and three jobs beside plain loops, which have all data in
// memory and one goroutine for each core:
//
//   - k-means. Both begin with the job's first centres and find the nearest centre with the same code, so they differ in
//     what rounds cost: state, partials, merges, exact sums, and rows that have moved to another worker. After the rounds
//     both must have the same inertia.
//   - logistic regression by the job glm. Both begin with the null model, and must end with the same deviance.
//   - a state and partials of many bytes, with hardly any work for each byte. Both must end with the same checksum.
func Rounds(ctx context.Context, c RoundsConfig) (r RoundsReport, err error) {
	return measure("rounds", &c.Progress, c.validate(), func() (RoundsReport, error) { return c.run(ctx) })
}

func (c RoundsConfig) run(ctx context.Context) (r RoundsReport, err error) {
	r = RoundsReport{
		Partitions: c.Partitions, EmptyRounds: c.EmptyRounds,
		Rows: c.Rows, Columns: c.Columns, K: c.K, Moves: c.Moves, Goroutines: runtime.GOMAXPROCS(0),
	}
	r.ModelRows, r.ModelColumns, r.StateBytes = c.ModelRows, c.ModelColumns, c.StateBytes
	var points, model rowsFile
	defer func() { err = cmp.Or(err, remove(points.name), remove(model.name)) }()
	if slices.Contains(c.Jobs, "kmeans") {
		if points, err = c.points(ctx); err != nil {
			return r, err
		}
	}
	if slices.Contains(c.Jobs, "glm") {
		if model, err = c.model(ctx); err != nil {
			return r, err
		}
	}
	for _, g := range c.Clusters {
		if err := c.measureCluster(ctx, g, points, model, &r); err != nil {
			return r, fmt.Errorf("%d workers: %w", g.Workers, err)
		}
	}
	return r, nil
}

func (c RoundsConfig) measureCluster(ctx context.Context, g RoundsCluster, points, model rowsFile, r *RoundsReport) error {
	c.Progress(fmt.Sprintf("starting %d workers", g.Workers), 0, 0)
	on, stop, err := g.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := awaitWorkers(ctx, on, g.Workers); err != nil {
		return err
	}
	for _, job := range c.Jobs {
		var one LoopReport
		switch job {
		case "empty":
			var empty Spread
			empty, err = c.empty(ctx, on)
			r.Empty = append(r.Empty, EmptyReport{g.Workers, empty})
		case "kmeans":
			one, err = c.kmeans(ctx, on, points)
			r.KMeans = append(r.KMeans, one.on(g))
		case "glm":
			one, err = c.glm(ctx, on, model)
			r.GLM = append(r.GLM, one.on(g))
		case "large":
			one, err = c.large(ctx, on)
			r.Large = append(r.Large, one.on(g))
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	if len(r.Empty) > 0 {
		fmt.Fprintf(w, "%s rounds without work, %s partitions, workers with one slot each\n\n", about(float64(r.EmptyRounds)), about(float64(r.Partitions)))
		fmt.Fprintln(w, "WORKERS\tMEDIAN\tP95\tWORST ROUND")
		for _, e := range r.Empty {
			fmt.Fprintf(w, "%d\t%.1f ms\t%.1f ms\t%.1f ms\n", e.Workers, e.Round.Median, e.Round.P95, e.Round.Worst)
		}
	}
	r.loopTable(w, r.KMeans, "k-means: %s rows of %d columns, %d clusters", about(float64(r.Rows)), r.Columns, r.K)
	r.loopTable(w, r.GLM, "logistic regression: %s rows of %d columns", about(float64(r.ModelRows)), r.ModelColumns)
	r.loopTable(w, r.Large, "a state and %d partials of %s bytes", largePartials, about(float64(r.StateBytes)))
}

// loopTable writes the comparisons of a job with its loop, if there are any.
func (r RoundsReport) loopTable(w io.Writer, list []LoopReport, title string, args ...any) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n"+title+"; a loop of %d goroutines\n\n", append(args, r.Goroutines)...)
	fmt.Fprintln(w, "WORKERS\tFIRST ROUND\tROUNDS\tJOB\tLOOP\tJOB / LOOP\tPER ROUND")
	for _, k := range list {
		fmt.Fprintf(w, "%d\t%.2f s\t%d\t%.2f s\t%.2f s\t%.2f\t%.3f s\n", k.Workers, k.First, k.Rounds, k.Job, k.Loop, k.Ratio, k.Job/float64(k.Rounds))
	}
}

// Figure draws the times of rounds without work, and of the jobs beside their loops.
func (r RoundsReport) Figure() plot.Figure {
	var empty []plot.Point
	for _, e := range r.Empty {
		empty = append(empty, plot.Point{X: float64(e.Workers), Y: e.Round.Median})
	}
	f := plot.Figure{
		Title: "Rounds without work, k-means, regression, large states",
		Panels: []plot.Panel{{
			X: plot.Axis{Label: "workers"}, Y: plot.Axis{Label: "ms for a round without work"},
			Lines: []plot.Line{{Color: plot.Blue, Dots: true, Points: empty}},
		}},
	}
	if len(r.Empty) == 0 {
		f.Panels = nil
	}
	for _, list := range [][]LoopReport{r.KMeans, r.GLM, r.Large} {
		if len(list) == 0 {
			continue
		}
		var job, loop []plot.Point
		for _, k := range list {
			job, loop = append(job, plot.Point{X: float64(k.Workers), Y: k.Job}), append(loop, plot.Point{X: float64(k.Workers), Y: k.Loop})
		}
		f.Panels = append(f.Panels, plot.Panel{
			X: plot.Axis{Label: "workers"}, Y: plot.Axis{Label: "seconds: job blue, loop orange"},
			Lines: []plot.Line{{Color: plot.Blue, Dots: true, Points: job}, {Color: plot.Orange, Dots: true, Points: loop}},
		})
	}
	return f
}
