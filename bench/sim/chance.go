package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// chance is where all that is random comes from.
type chance struct{ *rand.Rand }

func newChance(seed uint64) chance { return chance{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))} }

// is reports true with probability p.
func (c chance) is(p float64) bool { return p > 0 && c.Float64() < p }

// between is a duration from lo to hi.
func (c chance) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(c.Float64()*float64(hi-lo))
}

// spread is a duration from lo to hi, of which each order of magnitude is as
// likely as the next.
func (c chance) spread(lo, hi time.Duration) time.Duration {
	return time.Duration(float64(lo) * math.Pow(float64(hi)/float64(lo), c.Float64()))
}

// from is a number from lo to hi, both included.
func (c chance) from(lo, hi int) int { return lo + c.IntN(hi-lo+1) }
