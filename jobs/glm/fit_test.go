package glm

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// TestOrderAndPartitionsDoNotMatter shuffles rows and cuts them into partitions of different sizes. The result has
// the same bytes.
func TestOrderAndPartitionsDoNotMatter(t *testing.T) {
	for _, f := range families {
		p := params(f.name, "y", "a,b,c,d,e")
		const width = 6
		rows := slices.Collect(slices.Chunk(simulated(f.name, 2000, width-1), width))
		for _, row := range rows {
			row[1] = row[1]*1e6 + 1e7
			row[2] = math.Exp(3 * row[2])
		}
		first := ""
		for k, each := range []int{2000, 1, 7, 333, 1999} {
			r := rand.New(rand.NewPCG(uint64(k), 1))
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			result, err := fitRows(p, slices.Concat(rows...), each)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(text)
			}
			if string(text) != first || !result.Converged {
				t.Errorf("%s, %d rows each: got %s, want %s", f.name, each, text, first)
			}
		}
	}
}

// TestSumsOfARound compares the sums of many rows with those of the plain loop.
func TestSumsOfARound(t *testing.T) {
	const columns, count = 4, maxAdded + 5000
	rows := simulated("logistic", count, columns)
	beta := []float64{0.2, -0.1, 0.3, 2, 0}
	information, score := make([][]float64, len(beta)), make([]float64, len(beta))
	for j := range information {
		information[j] = make([]float64, j+1)
	}
	deviance := plainSums(rows, beta, information, score)
	scaled, bound := make([]column, columns), slices.Max(rows)
	for j := range scaled {
		scaled[j].Exponent = ceiling(max(bound, -slices.Min(rows)))
	}
	scaledBeta := slices.Clone(beta)
	for j := range columns {
		scaledBeta[j+1] = math.Ldexp(beta[j+1], scaled[j].Exponent)
	}
	p := newPass(familyOf("logistic"), scaled, scaledBeta)
	p.add(rows)
	total := p.end()
	unit := func(j int) float64 {
		if j == 0 {
			return 1
		}
		return power(scaled[j-1].Exponent)
	}
	for j := range beta {
		if got := total.Sums[1].float(j) * unit(j); math.Abs(got-score[j]) > 1e-9 {
			t.Errorf("the score of column %d is %v, want %v", j, got, score[j])
		}
		for k, want := range information[j] {
			if got := total.Sums[0].float(j*(j+1)/2+k) * unit(j) * unit(k); math.Abs(got-want) > 1e-9 {
				t.Errorf("element %d, %d of X'WX is %v, want %v", j, k, got, want)
			}
		}
	}
	if got := total.Sums[2].float(0); !near(got, deviance, 11) || total.Rows != count {
		t.Errorf("the deviance is %v, want %v; %d rows, want %d", got, deviance, total.Rows, count)
	}
}

// table returns rows of the given columns, of which the last one is the target.
func table(columns ...[]float64) (rows []float64) {
	for i := range columns[0] {
		for _, c := range columns {
			rows = append(rows, c[i])
		}
	}
	return rows
}

func TestRefusedFits(t *testing.T) {
	count := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	other := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	sum := make([]float64, len(count))
	for i := range sum {
		sum[i] = 3*other[i] - 2*count[i] + 5
	}
	half := []float64{0, 0, 0, 0, 1, 1, 1, 1}
	flag := []float64{1, 1, 1, 1, 0, 0, 0, 0}
	for _, c := range []struct {
		name, family, columns string
		rows                  []float64
		intercept             bool
		want                  string
	}{
		{"collinear", "linear", "a,b,c", table(count, other, sum, half), true, `column "c" is a linear combination of "a", "b", so their coefficients cannot be told apart: leave one of them out, or give a ridge`},
		{"collinear logistic", "logistic", "a,b", table(half, flag, []float64{0, 1, 0, 1, 1, 0, 0, 1}), true, `column "b" is a linear combination of "a", so`},
		{"twice", "linear", "a,b", table(count, count, half), false, `column "b" is a linear combination of "a"`},
		{"constant", "linear", "a,b", table(count, []float64{2, 2, 2, 2, 2, 2, 2, 2}, half), true, `column "b" is 2 in all rows, so its coefficient and the intercept cannot be told apart`},
		{"zero", "linear", "a", table(make([]float64, 8), half), false, `column "a" is 0 in all rows`},
		{"tiny", "linear", "a", table([]float64{1e-200, 2e-200, 0, 4e-200}, half[2:6]), false, `the values of column "a" are at most 4e-200 from their mean: multiply them by a constant`},
		{"target", "logistic", "a", table(count, make([]float64, 8)), true, `the target "y" is 0 in all rows`},
		{"few", "linear", "a", table(count[:2], half[:2]), true, `the input has 2 rows for 2 coefficients: want more rows than coefficients`},
		{"separated", "logistic", "a", table(count, half), true, `the coefficient of "a" grows in each round`},
		{"separated by two", "logistic", "a,b", table(count, other, []float64{0, 0, 0, 1, 1, 0, 1, 1}), true, `grows in each round, because a combination of columns tells rows with target 0 from others without an error (separation): leave a column out, or give a ridge`},
		{"quasi separated", "logistic", "a,b", table(flag, other, []float64{0, 0, 0, 0, 0, 1, 1, 0}), true, `the coefficient of "a" grows`},
		{"no counts", "poisson", "a,b", table(flag, other, []float64{0, 0, 0, 0, 2, 1, 3, 1}), true, `the coefficient of "a" grows`},
	} {
		p := params(c.family, "y", c.columns)
		p.Intercept = c.intercept
		for _, tolerance := range []float64{1e-4, 1e-8, 1e-13} {
			p.Tolerance = tolerance
			if r, err := fitRows(p, c.rows, 3); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, tolerance %v: got %+v, error %v, want %s", c.name, tolerance, r, err, c.want)
			}
		}
		if p.Ridge = 0.1; strings.Contains(c.want, "give a ridge") || strings.Contains(c.want, "grows") {
			if r, err := fitRows(p, c.rows, 3); err != nil || !r.Converged {
				t.Errorf("%s with a ridge: got %+v, error %v", c.name, r, err)
			}
		}
	}
}

// TestStepsAreHalved fits a model whose first steps from the null model make the deviance larger.
func TestStepsAreHalved(t *testing.T) {
	x := []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
	y := make([]float64, len(x))
	for i := range y {
		y[i] = float64(i % 2)
	}
	y[len(y)-1] = 5000
	p := params("poisson", "y", "x")
	rows := table(x, y)
	var s state
	halved := false
	for round := range uint64(100) {
		total, err := compute(t.Context(), p, s, dataset.Place{}, rows)
		if err != nil {
			t.Fatal(err)
		}
		step, err := next(t.Context(), p, s, total, round+1)
		if err != nil {
			t.Fatal(err)
		}
		halved = halved || step.State.Halvings > 0
		if s = step.State; step.Done {
			break
		}
	}
	estimates, _ := s.unscaled()
	if want := math.Log(9.0 / 19); !halved || !near(estimates[0], want, 10) || !near(estimates[0]+estimates[1], math.Log(5000), 10) {
		t.Errorf("halved %v, estimates %v, want %v and a sum of %v", halved, estimates, want, math.Log(5000))
	}
}

// TestRoundsEndAFit checks a fit that does not converge in the largest number of rounds.
func TestRoundsEndAFit(t *testing.T) {
	p := params("logistic", "am", "wt")
	p.Rounds = 4
	r, err := fitRows(p, rowsOf(t, "mtcars.csv", p), 10)
	if err != nil || r.Converged || r.Iterations != 2 {
		t.Errorf("got %+v, error %v, want 2 iterations", r, err)
	}
	if _, err := finish(t.Context(), p, state{Overview: &overview{}}, dataset.Totals{}); err == nil || !strings.Contains(err.Error(), "give the job more time") {
		t.Errorf("after one round: got error %v", err)
	}
}

// TestExactFits checks a target that the columns explain without an error: there is no statistic.
func TestExactFits(t *testing.T) {
	p := params("linear", "y", "x")
	r, err := fitRows(p, table([]float64{1, 2, 3, 4}, []float64{3, 5, 7, 9}), 2)
	if err != nil || !near(r.Coefficients[0].Estimate, 1, 12) || !near(r.Coefficients[1].Estimate, 2, 12) || r.Deviance > 1e-25 {
		t.Errorf("got %+v, error %v", r, err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// TestNoIntercept compares a line through the origin with its closed form, Σxy / Σx².
func TestNoIntercept(t *testing.T) {
	p := params("linear", "y", "x")
	p.Intercept = false
	x, y := []float64{1, 2, 3, 4, 1000}, []float64{2, 3, 3, 5, 7}
	r, err := fitRows(p, table(x, y), 2)
	xy, xx, yy := 0.0, 0.0, 0.0
	for i := range x {
		xy, xx, yy = xy+x[i]*y[i], xx+x[i]*x[i], yy+y[i]*y[i]
	}
	if err != nil || len(r.Coefficients) != 1 || !near(r.Coefficients[0].Estimate, xy/xx, 14) || !near(r.NullDeviance, yy, 14) {
		t.Errorf("got %+v, error %v, want the estimate %v and the null deviance %v", r, err, xy/xx, yy)
	}
}

// TestLostRows checks that a round with other rows than the first one fails.
func TestLostRows(t *testing.T) {
	p := params("linear", "y", "x")
	rows := table([]float64{1, 2, 3, 5}, []float64{3, 5, 8, 9})
	total, err := compute(t.Context(), p, state{}, dataset.Place{}, rows)
	if err != nil {
		t.Fatal(err)
	}
	step, err := next(t.Context(), p, state{}, total, 1)
	if err != nil {
		t.Fatal(err)
	}
	if total, err = compute(t.Context(), p, step.State, dataset.Place{}, rows[:6]); err != nil {
		t.Fatal(err)
	}
	if _, err := next(t.Context(), p, step.State, total, 2); err == nil || !strings.Contains(err.Error(), "this round has read 3 rows and the first one 4") {
		t.Errorf("got error %v", err)
	}
}
