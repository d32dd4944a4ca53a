package glm

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// fitFrom fits a model in one partition, beginning with a state of round 1. It returns the last state and the number of rounds.
func fitFrom(t *testing.T, p Params, s state, rows []float64) (last state, rounds uint64) {
	t.Helper()
	for round := uint64(1); ; round++ {
		total, err := compute(t.Context(), p, s, dataset.Place{}, rows)
		if err != nil {
			t.Fatal(err)
		}
		step, err := next(t.Context(), p, s, total, round)
		if err != nil {
			t.Fatal(err)
		}
		if s = step.State; step.Done || round == p.Rounds {
			return s, round
		}
	}
}

// again returns the first state of a job that continues from another.
func again(t *testing.T, p Params, earlier state) state {
	t.Helper()
	s, err := earlier.again(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// same checks that two fits have the same estimates and null deviance, to some digits.
func same(t *testing.T, got, want state, digits int) {
	t.Helper()
	a, _ := got.unscaled()
	b, _ := want.unscaled()
	for j := range b {
		if !near(a[j], b[j], digits) {
			t.Errorf("estimates are %v, want %v", a, b)
			break
		}
	}
	if !got.Done || got.Null != want.Null || !near(got.Best.Deviance, want.Best.Deviance, digits) {
		t.Errorf("null deviance %v, deviance %v, done %v, want %v and %v", got.Null, got.Best.Deviance, got.Done, want.Null, want.Best.Deviance)
	}
}

// TestAgain continues fits of all families with the same rows and with others. The result is that of a fit from the null
// model, and with the same rows the fit ends in round 3 or 4.
func TestAgain(t *testing.T) {
	for _, f := range families {
		for _, constant := range []bool{true, false} {
			p := params(f.name, "y", "a,b,c")
			p.Intercept = constant
			var first, second []float64 // rows with low and with high values in a column, whose centres differ
			for row := range slices.Chunk(simulated(f.name, 4000, 3), 4) {
				row[1] = 10 + 50*row[1]
				if row[1] < 10 {
					first = append(first, row...)
				} else {
					second = append(second, row...)
				}
			}
			earlier, _ := fitFrom(t, p, state{Model: p.model()}, first)
			want, _ := fitFrom(t, p, state{Model: p.model()}, second)
			got, _ := fitFrom(t, p, again(t, p, earlier), second)
			same(t, got, want, 9)
			got, rounds := fitFrom(t, p, again(t, p, want), second)
			same(t, got, want, 9)
			if rounds > 4 {
				t.Errorf("%s: %d rounds with the same rows, want at most 4", f.name, rounds)
			}
		}
	}
}

// TestAgainWithUselessCoefficients continues from coefficients that fit worse than the null model, that are not finite in the
// scale of the columns, or whose weights are 0.
func TestAgainWithUselessCoefficients(t *testing.T) {
	for _, f := range families {
		p := params(f.name, "y", "a,b")
		rows := simulated(f.name, 500, 2)
		want, rounds := fitFrom(t, p, state{Model: p.model()}, rows)
		for _, useless := range [][]float64{{3, -2, 5}, {0, 1e300, -1e300}, {0, math.MaxFloat64, 0}, {1000, 0, 0}} {
			got, more := fitFrom(t, p, state{Model: p.model(), Earlier: useless}, rows)
			same(t, got, want, 15)
			if more != rounds+1 {
				t.Errorf("%s, from %v: %d rounds, want %d", f.name, useless, more, rounds+1)
			}
		}
	}
}

// TestAgainAfterFewRounds continues from jobs that have ended early: without a fit, and before round 3.
func TestAgainAfterFewRounds(t *testing.T) {
	p := params("logistic", "y", "a,b")
	rows := simulated("logistic", 500, 2)
	if s := again(t, p, state{Model: p.model()}); s.Earlier != nil {
		t.Errorf("from a job without a fit: got %+v", s)
	}
	fitted, _ := fitFrom(t, p, state{Model: p.model()}, rows)
	coefficients, _ := fitted.unscaled()
	p.Rounds = 2
	early, _ := fitFrom(t, p, again(t, p, fitted), rows)
	if s := again(t, p, early); len(s.Earlier) != len(coefficients) || !near(s.Earlier[1], coefficients[1], 15) {
		t.Errorf("from a job with only the null model: got %v, want %v", s.Earlier, coefficients)
	}
}

// TestAgainRefuses checks that a model that differs from that of the earlier job is refused by name.
func TestAgainRefuses(t *testing.T) {
	p := params("logistic", "y", "a,b")
	earlier := state{Model: p.model()}
	for want, change := range map[string]func(*Params){
		"family=poisson: the earlier job has family=logistic: want the same":     func(p *Params) { p.Family = "poisson" },
		"target=z: the earlier job has target=y: want the same":                  func(p *Params) { p.Target = "z" },
		"intercept=false: the earlier job has intercept=true: want the same":     func(p *Params) { p.Intercept = false },
		"columns=b,a: the earlier job has the columns a,b: want the same ones":   func(p *Params) { p.Columns = "b,a" },
		"columns=a,b,c: the earlier job has the columns a,b: want the same ones": func(p *Params) { p.Columns = "a,b,c" },
	} {
		other := p
		change(&other)
		if _, err := earlier.again(other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
