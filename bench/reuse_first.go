package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
)

// FirstRuns is the cost of keeping partials: the first run, and a run that keeps nothing.
type FirstRuns struct {
	Plain     ScanTime `json:"plain"` // a run that keeps nothing
	Keeping   ScanTime `json:"keeping"`
	KeptBytes int64    `json:"kept_bytes"` // size of what the first run has kept
	Wall      Cost     `json:"cost_wall"`
	CPU       Cost     `json:"cost_cpu"`
}

// Cost is the share by which a run takes longer than the run beside it, over all rounds. It is negative if the run is
// faster. Half of the rounds are between the quartiles Q1 and Q3.
type Cost struct {
	Median float64 `json:"median"`
	Q1     float64 `json:"q1"`
	Q3     float64 `json:"q3"`
}

// costOf compares measurements with those beside them.
func costOf(one, other []float64) Cost {
	shares := make([]float64, len(one))
	for i := range one {
		shares[i] = one[i]/other[i] - 1
	}
	return Cost{Median(shares), Quantile(shares, 0.25), Quantile(shares, 0.75)}
}

// firstRuns measures pairs of a run that keeps partials and a run that keeps nothing. Every second pair begins with
// the run that keeps partials, because a machine that becomes faster or slower would favour one of them otherwise.
func (c ReuseConfig) firstRuns(doing string, run func(t *scanTimes, keeps bool) error) (r FirstRuns, err error) {
	var plain, keeping scanTimes
	for round := range c.Rounds {
		c.Progress(doing, uint64(round), uint64(c.Rounds))
		for half := range 2 {
			times, keeps := &plain, (round+half)%2 == 1
			if keeps {
				times = &keeping
			}
			if err := run(times, keeps); err != nil {
				return r, err
			}
		}
	}
	r.Plain, r.Keeping = plain.medians(), keeping.medians()
	r.Wall, r.CPU = costOf(keeping.wall, plain.wall), costOf(keeping.cpu, plain.cpu)
	return r, nil
}

// first measures the first run in this process.
func (c ReuseConfig) first(ctx context.Context) (FirstRuns, error) {
	var bytes int64
	r, err := c.firstRuns("first run", func(t *scanTimes, keeps bool) error {
		if keeps {
			if err := os.RemoveAll(c.shelf()); err != nil {
				return err
			}
		}
		runtime.GC() // no run pays for the garbage of the run before
		var one reuseRun
		_, err := t.measure(func() (err error) {
			one, err = c.run(ctx, keeps)
			return err
		})
		if keeps {
			bytes = one.keptBytes
		}
		return err
	})
	r.KeptBytes = bytes
	return r, err
}

// table writes the report as a table with tabs between columns. The files have a number of bytes.
func (r FirstRuns) table(w io.Writer, bytes int64) {
	fmt.Fprintf(w, "\tWALL\tPROCESSOR TIME\n")
	fmt.Fprintf(w, "first run, keeps nothing\t%.2f s\t%.2f s\n", r.Plain.Wall, r.Plain.CPU)
	fmt.Fprintf(w, "first run, keeps partials\t%.2f s\t%.2f s\n", r.Keeping.Wall, r.Keeping.CPU)
	fmt.Fprintf(w, "cost of keeping, median of the pairs\t%+.1f %%\t%+.1f %%\n", 100*r.Wall.Median, 100*r.CPU.Median)
	fmt.Fprintf(w, "half of the pairs are between\t%+.1f and %+.1f %%\t%+.1f and %+.1f %%\n", 100*r.Wall.Q1, 100*r.Wall.Q3, 100*r.CPU.Q1, 100*r.CPU.Q3)
	fmt.Fprintf(w, "\nkept\t%s bytes, %.2f %% of the files\n", about(float64(r.KeptBytes)), 100*float64(r.KeptBytes)/float64(bytes))
}
