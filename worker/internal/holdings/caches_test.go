package holdings_test

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
)

// TestPartialsTakeMemoryOfCaches fills the caches, and then holds partials, for which the caches drop what they keep.
func TestPartialsTakeMemoryOfCaches(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000, Dir: t.TempDir()})
	job := h.Caches().Job()
	defer job.Close()
	dropped := 0
	for range 10 {
		job.Add(100, func() { dropped++ })
	}
	if used := h.Caches().Used(); used != 700 {
		t.Errorf("caches use %d bytes, want 700: at most three quarters of the limit", used)
	}
	h.Expect("j", 200)
	put(h, engine.Leaf(0), data(0, 200), false)
	if h.Short() || h.Caches().Used() != 600 || dropped != 1 {
		t.Errorf("with a partial and the next one: short %v, caches use %d bytes and dropped %d values, want 600 and 1", h.Short(), h.Caches().Used(), dropped)
	}
	h.Use(500)
	if used := h.Caches().Used(); h.Short() || used != 100 {
		t.Errorf("with a merge stack of 500 bytes: short %v, caches use %d bytes, want 100", h.Short(), used)
	}
	h.Use(-500)
	h.DropJob("j")
	if job.Add(600, func() {}) == nil || h.Caches().Used() != 700 {
		t.Errorf("after the partials were dropped, caches use %d bytes, want 700", h.Caches().Used())
	}
}
