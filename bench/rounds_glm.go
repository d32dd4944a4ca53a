package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/glm"
)

// model writes rows for a logistic regression of the last column on the others.
func (c RoundsConfig) model(ctx context.Context) (rowsFile, error) {
	return c.write(ctx, "model.csv", c.ModelRows, c.ModelColumns+1, func(row []float64, random *rand.Rand) {
		eta := 0.5
		for j := range row[1:] {
			row[j] = random.NormFloat64()
			eta += 0.3 * row[j] * float64(j%3-1)
		}
		row[len(row)-1] = 0
		if random.Float64() < 1/(1+math.Exp(-eta)) {
			row[len(row)-1] = 1
		}
	})
}

// glm measures the job and the loop. The job's first round, which reads the file, has no counterpart in the loop.
func (c RoundsConfig) glm(ctx context.Context, on *client.Client, rows rowsFile) (r LoopReport, err error) {
	tell := func(done, all uint64) { c.Progress("logistic regression", done, all) }
	data, rounds, err := runRounds(ctx, on, jobs.MustNewRounds(glm.Definition), tell, c.modelPairs(rows.name)...)
	if err != nil {
		return r, err
	}
	var fit struct{ Deviance float64 }
	if err := json.Unmarshal(data, &fit); err != nil {
		return r, err
	}
	if len(rounds) < 2 {
		return r, fmt.Errorf("the regression ended after %d rounds, want at least 2", len(rounds))
	}
	began := time.Now()
	deviance, err := c.fit(ctx, rows.numbers, len(rounds)-1)
	if err != nil {
		return r, err
	}
	r = compared(rounds, time.Since(began))
	if math.Abs(deviance-fit.Deviance) > 1e-9*deviance {
		return r, fmt.Errorf("the loop has a deviance of %v, the job of %v", deviance, fit.Deviance)
	}
	return r, nil
}

// modelPairs returns the parameters of the job.
func (c RoundsConfig) modelPairs(file string) []string {
	var columns []string
	for j := range c.ModelColumns {
		columns = append(columns, fmt.Sprint("x", j+1))
	}
	return []string{"input=" + file, "family=logistic", fmt.Sprint("target=x", c.ModelColumns+1), "columns=" + strings.Join(columns, ","), "tolerance=1e-12"}
}

// normalSums are the sums of a pass over rows of a logistic model: X'WX, X'(y-μ) and the deviance.
type normalSums struct {
	information [][]float64 // lower triangle
	score       []float64
	deviance    float64
}

// fit makes Newton's steps from the null model, and returns the deviance of the last coefficients whose sums it computes.
func (c RoundsConfig) fit(ctx context.Context, rows []float64, passes int) (deviance float64, err error) {
	width := c.ModelColumns + 1
	ones := 0.0
	for i := width - 1; i < len(rows); i += width {
		ones += rows[i]
	}
	beta := make([]float64, width)
	beta[0] = math.Log(ones / (float64(c.ModelRows) - ones))
	parts := make([]normalSums, min(c.ModelRows, runtime.GOMAXPROCS(0)))
	for pass := range passes {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		c.Progress("the loop", uint64(pass), uint64(passes))
		var running sync.WaitGroup
		for i := range parts {
			lo, hi := c.ModelRows*i/len(parts), c.ModelRows*(i+1)/len(parts)
			running.Go(func() {
				sums := newNormalSums(width) // made here, because sums that share a cache line with those of another goroutine are slow
				sums.add(rows[lo*width:hi*width], beta)
				parts[i] = sums
			})
		}
		running.Wait()
		total := parts[0]
		for _, p := range parts[1:] {
			total.merge(p)
		}
		deviance = total.deviance
		total.step(beta)
	}
	return deviance, nil
}

func newNormalSums(n int) (s normalSums) {
	s.score = make([]float64, n)
	for j := range n {
		s.information = append(s.information, make([]float64, j+1))
	}
	return s
}

// add adds rows.
func (s *normalSums) add(rows, beta []float64) {
	n := len(beta)
	x := make([]float64, n)
	x[0] = 1
	for ; len(rows) >= n; rows = rows[n:] {
		copy(x[1:], rows[:n-1])
		eta := 0.0
		for j, v := range x {
			eta += beta[j] * v
		}
		mean := 1 / (1 + math.Exp(-eta))
		weight, residual := mean*(1-mean), rows[n-1]-mean
		if rows[n-1] == 1 {
			s.deviance -= 2 * math.Log(mean)
		} else {
			s.deviance -= 2 * math.Log(1-mean)
		}
		for j, v := range x {
			s.score[j] += residual * v
			a, list := weight*v, s.information[j]
			for k, u := range x[:j+1] {
				list[k] += a * u
			}
		}
	}
}

func (s *normalSums) merge(other normalSums) {
	s.deviance += other.deviance
	for j, list := range s.information {
		s.score[j] += other.score[j]
		for k := range list {
			list[k] += other.information[j][k]
		}
	}
}

// step adds Newton's step to the coefficients: the solution of X'WX·d = X'(y-μ) by Cholesky's decomposition.
func (s *normalSums) step(beta []float64) {
	l, d := s.information, s.score
	for j := range l {
		for k := range l[j] {
			for i := range k {
				l[j][k] -= l[j][i] * l[k][i]
			}
			if k < j {
				l[j][k] /= l[k][k]
			}
		}
		l[j][j] = math.Sqrt(l[j][j])
	}
	for j := range d {
		for i := range j {
			d[j] -= l[j][i] * d[i]
		}
		d[j] /= l[j][j]
	}
	for j := len(d) - 1; j >= 0; j-- {
		for i := j + 1; i < len(d); i++ {
			d[j] -= l[i][j] * d[i]
		}
		d[j] /= l[j][j]
		beta[j] += d[j]
	}
}
