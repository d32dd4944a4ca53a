package montecarlo

import (
	"context"
	"fmt"
	"math"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Params describe the option, the market and the simulation. Rates are per year
// and continuously compounded.
type Params struct {
	Option      string `json:"option" oneof:"european asian barrier" help:"kind of option"`
	Side        string `json:"side" oneof:"call put" help:"right to buy or to sell"`
	BarrierKind string `json:"barrier-kind" oneof:"up-and-out up-and-in down-and-out down-and-in" help:"for a barrier option"`

	Spot       float64 `json:"spot" min:"1e-9" max:"1e9" help:"price of the asset now"`
	Strike     float64 `json:"strike" min:"1e-9" max:"1e9" help:"price at which the option buys or sells"`
	Barrier    float64 `json:"barrier" min:"0" max:"1e9" help:"for a barrier option: above spot for up, below it for down"`
	Rate       float64 `json:"rate" min:"-1" max:"1" help:"riskless rate per year"`
	Dividend   float64 `json:"dividend" min:"-1" max:"1" help:"dividend yield per year"`
	Volatility float64 `json:"volatility" min:"0" max:"5" help:"standard deviation of the log price per square root of a year"`
	Maturity   float64 `json:"maturity" min:"1e-6" max:"50" help:"years until the option is exercised"`
	Steps      uint32  `json:"steps" min:"1" max:"1e5" help:"dates at which an asian or barrier option looks at the price"`

	Paths uint64 `json:"paths" min:"2" max:"1e15" help:"number of simulated paths"`
	Batch uint64 `json:"batch" min:"1" max:"1e9" help:"paths per partition"`
	Seed  uint64 `json:"seed" help:"chooses the random numbers"`
}

// Validate returns an error if a barrier is not valid for the spot price.
func (p Params) Validate() error {
	if p.Option != "barrier" {
		return nil
	}
	if up := p.BarrierKind == "up-and-out" || p.BarrierKind == "up-and-in"; up && p.Barrier <= p.Spot {
		return fmt.Errorf("parameter barrier: got %v, takes a number above spot, %v", p.Barrier, p.Spot)
	} else if !up && (p.Barrier >= p.Spot || p.Barrier == 0) {
		return fmt.Errorf("parameter barrier: got %v, takes a number above 0 and below spot, %v", p.Barrier, p.Spot)
	}
	return nil
}

// Result is an estimate of the price, in the unit of the spot price.
type Result struct {
	Price         float64 `json:"price"`
	StandardError float64 `json:"standard_error"`
	Low           float64 `json:"low"`  // lower bound of the 95 % confidence interval
	High          float64 `json:"high"` // upper bound of the 95 % confidence interval
	Paths         uint64  `json:"paths"`
}

// Definition is the definition of the job montecarlo.
var Definition = jobs.Definition[Params, moments, Result]{
	Name:    "montecarlo",
	Version: "1",
	Summary: "price of a European, Asian or barrier option, by simulation",
	Defaults: Params{
		Option: "european", Side: "call", BarrierKind: "up-and-out",
		Spot: 100, Strike: 100, Barrier: 120, Rate: 0.05, Volatility: 0.2, Maturity: 1, Steps: 252,
		Paths: 10_000_000, Batch: 10_000, Seed: 1,
	},
	Plan: func(_ context.Context, p Params) (jobs.Plan, error) {
		return jobs.Plan{Partitions: (p.Paths-1)/p.Batch + 1}, nil
	},
	Open: func(_ context.Context, p Params, _ jobs.Plan) (jobs.Mapper[moments], error) {
		return &mapper{model: newModel(p), paths: p.Paths, batch: p.Batch}, nil
	},
	Merge: merge,
	Finish: func(_ context.Context, p Params, m moments) (Result, error) {
		// within is the 97.5 % quantile of the standard normal distribution.
		const within = 1.959963984540054
		discount := exp(-float64(p.Rate * p.Maturity))
		price := float64(discount * m.Mean)
		deviation := float64(discount * m.standardError())
		return Result{
			Price: price, StandardError: deviation,
			Low: price - float64(within*deviation), High: price + float64(within*deviation),
			Paths: m.Count,
		}, nil
	},
}

type mapper struct {
	model        model
	paths, batch uint64
}

func (m *mapper) Map(ctx context.Context, partition uint64) (moments, error) {
	var total moments
	first := partition * m.batch
	for path := first; path < min(first+m.batch, m.paths); path++ {
		if path%256 == 0 && ctx.Err() != nil {
			return total, ctx.Err()
		}
		total.add(m.model.payoff(path))
	}
	return total, nil
}

// moments is a partial: the number and the mean of payoffs, and the sum of their squared
// distances from the mean.
type moments struct {
	Count   uint64  `cbor:"1,keyasint"`
	Mean    float64 `cbor:"2,keyasint"`
	Squares float64 `cbor:"3,keyasint"`
}

// add adds a payoff to the moments by the method in Welford, Note on a method for calculating
// corrected sums of squares and products, Technometrics 4, 1962.
func (m *moments) add(x float64) {
	m.Count++
	before := x - m.Mean
	m.Mean += before / float64(m.Count)
	m.Squares += float64(before * (x - m.Mean))
}

// merge merges two partials by the pairwise formula in Chan, Golub, LeVeque, Updating formulae and
// a pairwise algorithm for computing sample variances, 1979.
func merge(left, right moments) (moments, error) {
	l, r := float64(left.Count), float64(right.Count)
	share := r / (l + r)
	distance := right.Mean - left.Mean
	return moments{
		Count:   left.Count + right.Count,
		Mean:    left.Mean + float64(distance*share),
		Squares: left.Squares + right.Squares + float64(float64(distance*distance)*float64(l*share)),
	}, nil
}

func (m moments) standardError() float64 {
	n := float64(m.Count)
	if n < 2 {
		return 0
	}
	return math.Sqrt(m.Squares / (n - 1) / n)
}
