package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

type rng struct{ *rand.Rand }

func newRNG(seed uint64) rng { return rng{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))} }

func (r rng) chance(p float64) bool { return p > 0 && r.Float64() < p }

// between returns a duration in [lo, hi).
func (r rng) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(r.Float64()*float64(hi-lo))
}

// logBetween returns a duration in [lo, hi) with equally likely orders of magnitude.
func (r rng) logBetween(lo, hi time.Duration) time.Duration {
	return time.Duration(float64(lo) * math.Pow(float64(hi)/float64(lo), r.Float64()))
}

// intBetween returns a number from lo to hi, both included.
func (r rng) intBetween(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
