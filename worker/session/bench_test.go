package session

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// The benchmark measures Claim, which slots call about once a millisecond under the worker's lock.
func TestClaimsDoNotAllocate(t *testing.T) {
	s, h := claimed(t)
	if got := testing.AllocsPerRun(100, func() {
		s.Claim(h, 1, false)
		s.HandOver(h, h.claimed)
		s.NeedsStep()
	}); got > 0 {
		t.Errorf("a claim allocates %v times", got)
	}
}

// BenchmarkClaim claims partitions of one span; one operation is a claim.
func BenchmarkClaim(b *testing.B) {
	s, h := claimed(b)
	for b.Loop() {
		if s.Claim(h, 1, false).Empty() {
			h.claimed = h.lo
		}
	}
}

// claimed returns a span that a slot has taken.
func claimed(t testing.TB) (*Session, *HeldSpan) {
	t.Helper()
	s := newSessionOf(t, 2)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 900}))
	s.Opened("a")
	return s, s.Take()
}
