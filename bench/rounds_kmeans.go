package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/kmeans"
)

// points writes rows for k-means. They lie around K places, so far from each other that many rows have two near centres.
func (c RoundsConfig) points(ctx context.Context) (rowsFile, error) {
	return c.write(ctx, "points.csv", c.Rows, c.Columns, func(row []float64, random *rand.Rand) {
		place := random.IntN(c.K)
		for j := range row {
			row[j] = float64(place*(j+3)%17) + 3*random.NormFloat64()
		}
	})
}

// clusters is the result of k-means.
type clusters struct {
	centres []float64
	inertia float64
}

// kmeans measures the job and the loop. A run of one round gives the centres with which the loop begins.
func (c RoundsConfig) kmeans(ctx context.Context, on *client.Client, points rowsFile) (r LoopReport, err error) {
	begin, _, err := c.runKMeans(ctx, on, points.name, 1)
	if err != nil {
		return r, err
	}
	got, rounds, err := c.runKMeans(ctx, on, points.name, c.Moves)
	if err != nil {
		return r, err
	}
	if len(rounds) != c.Moves+1 {
		return r, fmt.Errorf("k-means ended after %d rounds, want %d: take more rows or fewer rounds", len(rounds), c.Moves+1)
	}
	began := time.Now()
	inertia, err := c.loop(ctx, points.numbers, begin.centres)
	if err != nil {
		return r, err
	}
	r = compared(rounds, time.Since(began))
	if math.Abs(inertia-got.inertia) > 1e-9*inertia {
		return r, fmt.Errorf("the loop has an inertia of %v, the job of %v", inertia, got.inertia)
	}
	return r, nil
}

// runKMeans runs the job in the cluster with a number of rounds with centres.
func (c RoundsConfig) runKMeans(ctx context.Context, on *client.Client, file string, moves int) (r clusters, rounds []float64, err error) {
	tell := func(done, all uint64) { c.Progress(fmt.Sprintf("k-means, %d rounds", moves), done, all) }
	data, rounds, err := runRounds(ctx, on, jobs.MustNewRounds(kmeans.Definition), tell,
		"input="+file, fmt.Sprint("k=", c.K), fmt.Sprint("rounds=", moves), "tolerance=0")
	if err != nil {
		return r, nil, err
	}
	r, err = clustersOf(data)
	return r, rounds, err
}

// clustersOf returns the centres and the inertia in the result of the job.
func clustersOf(result []byte) (r clusters, err error) {
	var table kmeans.Result
	err = json.Unmarshal(result, &table)
	r.inertia = table.Inertia
	for _, row := range table.Rows {
		for _, x := range row[2:] { // after the number of the cluster and its size
			r.centres = append(r.centres, x.(float64))
		}
	}
	return r, err
}

// tallies are what a goroutine of the loop sums up in a pass.
type tallies struct {
	sums, counts []float64
	inertia      float64
}

// loop moves centres to the means of their rows, and returns the inertia of the last centres that it compares.
func (c RoundsConfig) loop(ctx context.Context, points, centres []float64) (inertia float64, err error) {
	parts := make([]tallies, min(c.Rows, runtime.GOMAXPROCS(0)))
	for move := range c.Moves {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		c.Progress("the loop", uint64(move), uint64(c.Moves))
		var passes sync.WaitGroup
		for i := range parts {
			lo, hi := c.Rows*i/len(parts), c.Rows*(i+1)/len(parts)
			passes.Go(func() {
				// Made here, because tallies that share a cache line with those of another goroutine are slow.
				t := tallies{sums: make([]float64, len(centres)), counts: make([]float64, c.K)}
				t.add(points[lo*c.Columns:hi*c.Columns], centres, c.Columns)
				parts[i] = t
			})
		}
		passes.Wait()
		total := parts[0]
		for _, p := range parts[1:] {
			total.inertia += p.inertia
			for i := range p.sums {
				total.sums[i] += p.sums[i]
			}
			for i := range p.counts {
				total.counts[i] += p.counts[i]
			}
		}
		inertia, centres = total.inertia, total.means(centres, c.Columns)
	}
	return inertia, nil
}

// add adds rows to the sums of their nearest centres.
func (t *tallies) add(points, centres []float64, columns int) {
	for ; len(points) > 0; points = points[columns:] {
		row := points[:columns]
		at, squared := kmeans.Nearest(row, centres)
		t.inertia += squared
		t.counts[at]++
		sums := t.sums[at*columns : (at+1)*columns]
		for j, x := range row {
			sums[j] += x
		}
	}
}

// means returns the next centres. A centre without rows keeps its place.
func (t tallies) means(centres []float64, columns int) []float64 {
	next := make([]float64, len(centres))
	for i, x := range t.sums {
		if next[i] = centres[i]; t.counts[i/columns] > 0 {
			next[i] = x / t.counts[i/columns]
		}
	}
	return next
}
