package montecarlo

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/estimate"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runJSON(t testing.TB, pairs ...string) string {
	t.Helper()
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	done, err := jobs.Local{Slots: 2}.Run(context.Background(), job, params)
	if err != nil {
		t.Fatal(err)
	}
	return string(done.Result)
}

func run(t testing.TB, pairs ...string) (r Result) {
	t.Helper()
	if err := json.Unmarshal([]byte(runJSON(t, pairs...)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// cdf is the standard normal distribution function.
func cdf(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// blackScholes returns the price of a European call or put (Black, Scholes, The pricing of options
// and corporate liabilities, 1973). The dividend yield is from Merton 1973.
func blackScholes(p Params) float64 {
	deviation := p.Volatility * math.Sqrt(p.Maturity)
	d1 := (math.Log(p.Spot/p.Strike) + (p.Rate-p.Dividend+p.Volatility*p.Volatility/2)*p.Maturity) / deviation
	d2 := d1 - deviation
	spot, strike := p.Spot*math.Exp(-p.Dividend*p.Maturity), p.Strike*math.Exp(-p.Rate*p.Maturity)
	if p.Side == "put" {
		return strike*cdf(-d2) - spot*cdf(-d1)
	}
	return spot*cdf(d1) - strike*cdf(d2)
}

// TestEuropeanAgreesWithBlackScholes compares 40 confidence intervals of 95 % with exact prices.
// About 38 of the intervals should contain the price. The test fails if fewer than 34 contain it.
// The seeds are fixed, so the outcome is always the same.
func TestEuropeanAgreesWithBlackScholes(t *testing.T) {
	held, narrow := 0, 0
	for seed := range 20 {
		for _, side := range []string{"call", "put"} {
			p := Definition.Defaults
			p.Side, p.Strike, p.Dividend = side, 105, 0.02
			want := blackScholes(p)
			got := run(t, "side="+side, "strike=105", "dividend=0.02", "paths=20_000", "batch=3000", fmt.Sprintf("seed=%d", seed))
			if got.Low <= want && want <= got.High {
				held++
			}
			// Half of the estimates should be within 0.6745 standard errors of the price.
			if math.Abs(got.Price-want) < 0.6745*got.StandardError {
				narrow++
			}
			if math.Abs(got.Price-want) > 5*got.StandardError {
				t.Errorf("%s, seed %d: %+v, want %v", side, seed, got, want)
			}
		}
	}
	if held < 34 {
		t.Errorf("%d of 40 intervals hold the closed form, 38 are expected", held)
	}
	if narrow < 10 || narrow > 30 {
		t.Errorf("%d of 40 estimates are within 0.6745 standard errors, 20 are expected", narrow)
	}
}

func TestSingleStepAsianIsEuropean(t *testing.T) {
	if a, b := runJSON(t, "option=asian", "steps=1", "paths=1000"), runJSON(t, "paths=1000"); a != b {
		t.Errorf("got %s, want %s", a, b)
	}
}

// TestAsianLiesBetweenItsBounds compares an Asian call with two bounds. The lower bound is the
// option on the geometric mean, which has a closed form and is never above the arithmetic mean. The
// upper bound is the European call, because an average is less volatile than the last price.
func TestAsianLiesBetweenItsBounds(t *testing.T) {
	for _, steps := range []int{2, 5, 12} {
		p := Definition.Defaults
		p.Volatility = 0.4
		got := run(t, "option=asian", fmt.Sprintf("steps=%d", steps), "volatility=0.4", "paths=200_000")
		n := float64(steps)
		// mean is the expected logarithm of the geometric mean of S(T/n), S(2T/n), …, S(T).
		mean := math.Log(p.Spot) + (p.Rate-p.Volatility*p.Volatility/2)*p.Maturity*(n+1)/(2*n)
		variance := p.Volatility * p.Volatility * p.Maturity * (n + 1) * (2*n + 1) / (6 * n * n)
		d1 := (mean - math.Log(p.Strike) + variance) / math.Sqrt(variance)
		geometric := math.Exp(-p.Rate*p.Maturity) * (math.Exp(mean+variance/2)*cdf(d1) - p.Strike*cdf(d1-math.Sqrt(variance)))
		if got.High < geometric || got.Low > blackScholes(p) {
			t.Errorf("%d steps: %+v, want between %v and %v", steps, got, geometric, blackScholes(p))
		}
		// The difference between the means is of second order in the variance.
		if got.Price > geometric*1.1 {
			t.Errorf("%d steps: %+v is far above %v", steps, got, geometric)
		}
	}
}

// TestAsianParity uses the parity of calls and puts. A call minus a put pays the average minus the
// strike, whose expectation is known.
func TestAsianParity(t *testing.T) {
	p := Definition.Defaults
	const steps = 10
	call := run(t, "option=asian", "steps=10", "paths=100_000")
	put := run(t, "option=asian", "steps=10", "paths=100_000", "side=put")
	forward := 0.0
	for i := 1; i <= steps; i++ {
		forward += p.Spot * math.Exp(p.Rate*p.Maturity*float64(i)/steps) / steps
	}
	want := math.Exp(-p.Rate*p.Maturity) * (forward - p.Strike)
	if got := call.Price - put.Price; math.Abs(got-want) > 4*(call.StandardError+put.StandardError) {
		t.Errorf("call less put is %v, want %v", got, want)
	}
}

// TestBarrierParityPathByPath checks the parity of barrier options. On each path either the
// knock-in or the knock-out option pays what the option without a barrier pays, and the other
// option pays nothing.
func TestBarrierParityPathByPath(t *testing.T) {
	for _, c := range []struct{ in, out, barrier string }{
		{"up-and-in", "up-and-out", "110"},
		{"down-and-in", "down-and-out", "95"},
	} {
		model := func(kind string) model {
			p := Definition.Defaults
			p.Option, p.BarrierKind, p.Steps = "barrier", kind, 13
			if _, err := fmt.Sscan(c.barrier, &p.Barrier); err != nil {
				t.Fatal(err)
			}
			return newModel(p)
		}
		in, out := model(c.in), model(c.out)
		free := in
		free.barrier, free.knocksIn = 0, false
		paidIn, paidOut := 0, 0
		for path := range uint64(20_000) {
			i, o, want := in.payoff(path), out.payoff(path), free.payoff(path)
			if i+o != want || i != 0 && o != 0 {
				t.Fatalf("path %d: %s pays %v and %s %v, want %v together", path, c.in, i, c.out, o, want)
			}
			if i > 0 {
				paidIn++
			}
			if o > 0 {
				paidOut++
			}
		}
		if paidIn < 1000 || paidOut < 100 {
			t.Errorf("%s paid on %d paths and %s on %d: too few to tell", c.in, paidIn, c.out, paidOut)
		}
	}
}

// downAndOutCall returns the price of a call with a continuously observed barrier below the strike
// (Merton 1973; Hull, Options, Futures, and Other Derivatives, "Barrier options").
func downAndOutCall(p Params) float64 {
	deviation := p.Volatility * math.Sqrt(p.Maturity)
	lambda := (p.Rate - p.Dividend + p.Volatility*p.Volatility/2) / (p.Volatility * p.Volatility)
	y := math.Log(p.Barrier*p.Barrier/(p.Spot*p.Strike))/deviation + lambda*deviation
	in := p.Spot*math.Exp(-p.Dividend*p.Maturity)*math.Pow(p.Barrier/p.Spot, 2*lambda)*cdf(y) -
		p.Strike*math.Exp(-p.Rate*p.Maturity)*math.Pow(p.Barrier/p.Spot, 2*lambda-2)*cdf(y-deviation)
	return blackScholes(p) - in
}

// TestBarrierAgreesWithContinuityCorrection compares a barrier that is observed at n dates with a
// continuous barrier that is farther away by the factor exp(0.5826 σ √(T/n)). The source is
// Broadie, Glasserman, Kou, A continuity correction for discrete barrier options, Mathematical
// Finance 7, 1997. The error of the continuity correction is far below the standard error of the
// test.
func TestBarrierAgreesWithContinuityCorrection(t *testing.T) {
	for _, c := range []struct{ barrier, published float64 }{
		{85, 6.322}, {88, 6.242}, {91, 5.977}, // values of the paper's first table
	} {
		p := Definition.Defaults
		p.Rate, p.Volatility, p.Maturity, p.Barrier = 0.1, 0.3, 0.2, c.barrier
		const steps = 50
		corrected := p
		corrected.Barrier *= math.Exp(-0.5826 * p.Volatility * math.Sqrt(p.Maturity/steps))
		want := downAndOutCall(corrected)
		t.Logf("barrier %v: corrected %v", c.barrier, want)
		if math.Abs(want-c.published) > 0.002 {
			t.Errorf("barrier %v: corrected %v, published %v", c.barrier, want, c.published)
		}
		got := run(t, "option=barrier", "barrier-kind=down-and-out", fmt.Sprintf("barrier=%v", c.barrier),
			"rate=0.1", "volatility=0.3", "maturity=0.2", "steps=50", "paths=40_000", "batch=1000")
		if math.Abs(got.Price-want) > 3*got.StandardError {
			t.Errorf("barrier %v: %+v, want %v", c.barrier, got, want)
		}
		if continuous := downAndOutCall(p); c.barrier == 91 && got.Low < continuous {
			t.Errorf("barrier %v: %+v should be above %v, the price under a continuous watch", c.barrier, got, continuous)
		}
	}
}

// TestBatchesDoNotMatter checks that the batch size changes the result only by rounding errors.
func TestBatchesDoNotMatter(t *testing.T) {
	for _, option := range []string{"option=european", "option=asian", "option=barrier"} {
		want := run(t, option, "paths=5000", "batch=5000", "steps=5")
		for _, batch := range []string{"batch=1", "batch=7", "batch=4999"} {
			got := run(t, option, "paths=5000", batch, "steps=5")
			if math.Abs(got.Price-want.Price) > 1e-12*want.Price || math.Abs(got.StandardError-want.StandardError) > 1e-12*want.StandardError {
				t.Errorf("%s, %s: got %+v, want %+v", option, batch, got, want)
			}
		}
	}
}

func TestSeedsMatter(t *testing.T) {
	results := make(map[string]string)
	for _, seed := range []string{"seed=0", "seed=1", "seed=4294967296", "seed=18446744073709551615"} {
		r := runJSON(t, "paths=100", seed)
		if other, ok := results[r]; ok {
			t.Errorf("%s and %s give the same", seed, other)
		}
		results[r] = seed
	}
}

// TestSameBytesEverywhere compares results with bytes that were computed on amd64. Other processors
// must compute the same bytes.
func TestSameBytesEverywhere(t *testing.T) {
	for _, c := range []struct{ pairs, want string }{
		{"option=european", `{"price":10.374802933743036,"standard_error":0.14674005282625865,"low":10.087197715114064,"high":10.662408152372008,"paths":10000}`},
		{"option=asian side=put steps=7", `{"price":3.6367344112274447,"standard_error":0.05746079690628241,"low":3.5241133187681606,"high":3.7493555036867288,"paths":10000}`},
		{"option=barrier barrier-kind=down-and-in barrier=93 steps=11", `{"price":1.7579230997723094,"standard_error":0.05981701936232834,"low":1.6406838961596109,"high":1.875162303385008,"paths":10000}`},
	} {
		if got := runJSON(t, append(strings.Fields(c.pairs), "paths=10_000", "batch=300", "seed=42")...); got != c.want {
			t.Errorf("%s: got %s, want %s", c.pairs, got, c.want)
		}
	}
}

func TestDegenerateMarkets(t *testing.T) {
	got := run(t, "volatility=0", "paths=100", "batch=9", "strike=90")
	if want := 100 - 90*math.Exp(-0.05); math.Abs(got.Price-want) > 1e-12*want || got.StandardError > 1e-12 {
		t.Errorf("without volatility: %+v, want %v", got, want)
	}
	got = run(t, "volatility=5", "maturity=50", "spot=1e9", "rate=1", "paths=2", "batch=1")
	if math.IsNaN(got.Price) || math.IsInf(got.High, 0) {
		t.Errorf("at the largest bounds: %+v", got)
	}
}

func TestRefusedParams(t *testing.T) {
	job := jobs.MustNew(Definition)
	for _, c := range []struct{ pairs, want string }{
		{"option=barrier barrier=100", "parameter barrier: got 100, takes a number above spot, 100"},
		{"option=barrier barrier=101 barrier-kind=down-and-in", "parameter barrier: got 101, takes a number above 0 and below spot, 100"},
		{"option=barrier barrier=0 barrier-kind=down-and-out", "parameter barrier: got 0, takes a number above 0 and below spot, 100"},
		{"option=bermudan", "parameter option: got \"bermudan\", takes one of european, asian, barrier"},
		{"paths=1", "parameter paths: got 1, takes an integer, 2 to 1e15"},
		{"spot=0", "parameter spot"},
	} {
		if _, err := job.Params(nil, strings.Fields(c.pairs)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.pairs, err, c.want)
		}
	}
}

func TestDoneContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m, err := Definition.Open(ctx, Definition.Defaults, jobs.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Map(ctx, 0); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// BenchmarkPaths measures paths in one slot. One operation is one path.
func BenchmarkPaths(b *testing.B) {
	for _, option := range []string{"european", "asian", "barrier"} {
		b.Run(option, func(b *testing.B) {
			p := Definition.Defaults
			p.Option = option
			m := newModel(p)
			var total estimate.Moments
			for path := range uint64(b.N) {
				total.Add(m.payoff(path))
			}
			if total.Count != uint64(b.N) {
				b.Fatal(total.Count)
			}
		})
	}
}

// TestStops checks that a run stops at the first rung whose standard error is small enough.
func TestStops(t *testing.T) {
	job := jobs.MustNew(Definition)
	for _, c := range []struct {
		pairs string
		want  *jobs.Stopped
	}{
		{"error=0.05 paths=1_000_000", &jobs.Stopped{At: 10, Rung: 9}}, // the deviation of a payoff is about 14.7
		{"relative-error=0.005 paths=1_000_000", &jobs.Stopped{At: 8, Rung: 8}},
		{"error=1000 batch=300 paths=10_000", &jobs.Stopped{At: 4, Rung: 4}}, // needs 1000 paths
		{"error=1e-6 paths=100_000", nil},
		{"paths=100_000", nil},
		{"error=1 strike=1e9 paths=100_000", nil}, // all payoffs are 0
	} {
		params, err := job.Params(nil, strings.Fields(c.pairs)...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := jobs.Local{Slots: 2, Attempts: 1}.Run(t.Context(), job, params)
		if err != nil || (got.Stopped == nil) != (c.want == nil) || c.want != nil && *got.Stopped != *c.want {
			t.Errorf("%s: stopped %+v, %v, want %+v", c.pairs, got.Stopped, err, c.want)
		}
	}
}

// TestCoverage counts how often the interval of a stopped run contains the price that the formula of Black and
// Scholes gives, and how often the intervals of all its rungs do. It has 1,000 runs, so it needs COVERAGE=1.
func TestCoverage(t *testing.T) {
	if os.Getenv("COVERAGE") == "" {
		t.Skip("takes a minute: set COVERAGE=1")
	}
	const runs, truth = 1000, 10.450583572185565
	job := jobs.MustNew(Definition)
	stops, all := 0, 0
	var needed, computed uint64 // partitions of the prefixes that suffice, and partitions that ran
	for seed := range runs {
		params, err := job.Params(nil, fmt.Sprintf("seed=%d", seed), "error=0.15", "batch=100")
		if err != nil {
			t.Fatal(err)
		}
		always := true
		var ran atomic.Uint64
		local := jobs.Local{Slots: 2, Progress: func(done, _ uint64) {
			for old := ran.Load(); done > old && !ran.CompareAndSwap(old, done); old = ran.Load() {
			}
		}, Attempts: 1, Estimated: func(e jobs.Estimated) {
			var i estimate.Interval
			if err := json.Unmarshal(e.Value, &i); err != nil {
				t.Fatal(err)
			}
			always = always && i.Low <= truth && truth <= i.High
		}}
		got, err := local.Run(t.Context(), job, params)
		var result Result
		if err == nil {
			err = json.Unmarshal(got.Result, &result)
		}
		if err != nil || got.Stopped == nil {
			t.Fatalf("seed %d: stopped %+v, %v", seed, got.Stopped, err)
		}
		needed += got.Stopped.At
		computed += ran.Load()
		if result.Low <= truth && truth <= result.High {
			stops++
		}
		if always {
			all++
		}
	}
	t.Logf("the runs stopped after %d partitions on average, and had computed %d", needed/runs, computed/runs)
	t.Logf("of %d runs, the interval at the stop contains the price in %.1f %%, the intervals of all rungs in %.1f %%", runs, 100*float64(stops)/runs, 100*float64(all)/runs)
	if stops < runs*93/100 || stops > runs*97/100 || all < runs*95/100 {
		t.Errorf("want 93 to 97 %% at the stop, and at least 95 %% at all rungs")
	}
}
