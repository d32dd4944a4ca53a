package montecarlo

import (
	"math"

	"github.com/bellwether-compute/bellwether/jobs/internal/portable"
)

// model simulates price paths. The prices on a path are logarithms, relative to the spot
// price.
type model struct {
	kind         kind
	side         float64 // sign of the payoff: 1 for a call, -1 for a put
	spot, strike float64
	barrier      float64 // logarithm of the barrier relative to the spot price; 0 if the option has no barrier
	knocksIn     bool
	drift        float64 // mean change of the log price in one step
	deviation    float64 // standard deviation of the change in one step
	steps        uint32
	key          [2]uint32
}

type kind uint8

const (
	european kind = iota
	asian
	barrier
)

func newModel(p Params) model {
	m := model{
		side: 1, spot: p.Spot, strike: p.Strike, steps: p.Steps,
		key: [2]uint32{uint32(p.Seed), uint32(p.Seed >> 32)},
	}
	if p.Side == "put" {
		m.side = -1
	}
	switch p.Option {
	case "european":
		m.kind, m.steps = european, 1
	case "asian":
		m.kind = asian
	case "barrier":
		m.kind = barrier
		m.barrier = portable.Log(p.Barrier / p.Spot)
		m.knocksIn = p.BarrierKind == "up-and-in" || p.BarrierKind == "down-and-in"
	}
	step := p.Maturity / float64(m.steps)
	variance := float64(p.Volatility * p.Volatility)
	m.drift = float64((p.Rate - p.Dividend - float64(variance/2)) * step)
	m.deviation = float64(p.Volatility * math.Sqrt(step))
	return m
}

// payoff returns the undiscounted payoff of a path at maturity.
func (m *model) payoff(path uint64) float64 {
	switch m.kind {
	case asian:
		return m.exercise(m.average(path))
	case barrier:
		last, hit := m.watched(path)
		if hit != m.knocksIn {
			return 0
		}
		return m.exercise(portable.Exp(last))
	default:
		first, _ := m.uniforms(path, 0)
		return m.exercise(portable.Exp(m.move(first)))
	}
}

func (m *model) exercise(relative float64) float64 {
	return max(float64(m.side*(float64(m.spot*relative)-m.strike)), 0)
}

// average returns the mean price of a path, relative to the spot price.
func (m *model) average(path uint64) float64 {
	var at, sum float64
	for step := uint32(0); step < m.steps; step += 2 {
		first, second := m.uniforms(path, step/2)
		at += m.move(first)
		sum += portable.Exp(at)
		if step+1 < m.steps {
			at += m.move(second)
			sum += portable.Exp(at)
		}
	}
	return sum / float64(m.steps)
}

// watched returns the last log price of a path, and reports whether the path has reached the
// barrier.
func (m *model) watched(path uint64) (last float64, hit bool) {
	var at float64
	beyond := func() bool { return m.barrier > 0 && at >= m.barrier || m.barrier < 0 && at <= m.barrier }
	for step := uint32(0); step < m.steps; step += 2 {
		first, second := m.uniforms(path, step/2)
		at += m.move(first)
		hit = hit || beyond()
		if step+1 < m.steps {
			at += m.move(second)
			hit = hit || beyond()
		}
		if hit && !m.knocksIn {
			break // the payoff is 0, so the rest of the path does not matter
		}
	}
	return at, hit
}

func (m *model) uniforms(path uint64, pair uint32) (first, second float64) {
	r := philox([4]uint32{uint32(path), uint32(path >> 32), pair, 0}, m.key)
	return uniform(r[0], r[1]), uniform(r[2], r[3])
}

func (m *model) move(uniform float64) float64 {
	return m.drift + float64(m.deviation*portable.Quantile(uniform))
}
