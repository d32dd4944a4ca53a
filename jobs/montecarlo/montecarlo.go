package montecarlo

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/estimate"
	"github.com/bellwether-compute/bellwether/jobs/internal/portable"
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

	Error         float64 `json:"error" min:"0" max:"1e9" help:"standard error of the price with which the job stops; 0: after all paths"`
	RelativeError float64 `json:"relative-error" min:"0" max:"1" help:"standard error as a share of the price with which the job stops; 0: after all paths"`
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
var Definition = jobs.Definition[Params, estimate.Moments, Result]{
	Name:    "montecarlo",
	Version: "2",
	Summary: "price of a European, Asian or barrier option, by simulation",
	Defaults: Params{
		Option: "european", Side: "call", BarrierKind: "up-and-out",
		Spot: 100, Strike: 100, Barrier: 120, Rate: 0.05, Volatility: 0.2, Maturity: 1, Steps: 252,
		Paths: 10_000_000, Batch: 10_000, Seed: 1,
	},
	Plan: func(_ context.Context, p Params) (jobs.Plan, error) {
		return jobs.Plan{Partitions: (p.Paths-1)/p.Batch + 1}, nil
	},
	Open: func(_ context.Context, p Params, _ jobs.Plan) (jobs.Mapper[estimate.Moments], error) {
		return &mapper{model: newModel(p), paths: p.Paths, batch: p.Batch}, nil
	},
	Merge: func(left, right estimate.Moments) (estimate.Moments, error) { return left.Merge(right), nil },
	Finish: func(_ context.Context, p Params, m estimate.Moments) (Result, error) {
		price := priceOf(p, m, 0.95)
		return Result{Price: price.Value, StandardError: price.Error, Low: price.Low, High: price.High, Paths: m.Count}, nil
	},
	Estimate: func(_ context.Context, p Params, m estimate.Moments, n uint64) (any, error) {
		return priceOf(p, m, estimate.Look(0.95, n)), nil
	},
	Stop: func(_ context.Context, p Params, m estimate.Moments, _ uint64) (bool, error) {
		price := priceOf(p, m, 0.95)
		if m.Count < minPaths || price.Error == 0 { // all payoffs may be the same because the others are rare
			return false, nil
		}
		return price.Error <= p.Error || price.Error <= float64(p.RelativeError*price.Value), nil
	},
}

// minPaths is the smallest number of paths with which a job stops. The standard error of fewer paths may be small
// by chance.
const minPaths = 1000

// priceOf returns the price, which is the mean of the discounted payoffs.
func priceOf(p Params, payoffs estimate.Moments, confidence float64) estimate.Interval {
	discount := portable.Exp(-float64(p.Rate * p.Maturity))
	return estimate.Normal(float64(discount*payoffs.Mean), float64(discount*payoffs.StandardError()), confidence)
}

type mapper struct {
	model        model
	paths, batch uint64
}

func (m *mapper) Map(ctx context.Context, partition uint64) (estimate.Moments, error) {
	var total estimate.Moments
	first := partition * m.batch
	for path := first; path < min(first+m.batch, m.paths); path++ {
		if path%256 == 0 && ctx.Err() != nil {
			return total, ctx.Err()
		}
		total.Add(m.model.payoff(path))
	}
	return total, nil
}
