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

// TestStatesTakeMemory counts states, which no partial and no merge can wait for.
func TestStatesTakeMemory(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000, Dir: t.TempDir()})
	job := h.Caches().Job()
	defer job.Close()
	h.Expect("j", 200)
	h.UseStates(500)
	if kept := job.Add(300, func() {}); kept == nil || job.Add(1, func() {}) != nil {
		t.Error("caches keep more or less than the 300 bytes that the states and the next partial leave")
	}
	if s := h.Stats(); s.Used != 800 || s.Cached != 300 || s.Short {
		t.Errorf("got %+v, want 800 bytes of which 300 are cached", s)
	}
	h.UseStates(1000)
	if s := h.Stats(); s.Used != 1500 || s.Cached != 0 || s.Short {
		t.Errorf("with states of more than the limit: got %+v, want 1500 bytes, and memory for a partition", s)
	}
	put(h, engine.Leaf(0), data(0, 200), false)
	eventually(t, "the partial is in a file", func() bool { return h.Stats().Spilled == 200 })
	if s := h.Stats(); s.Used != 1500 || s.Short {
		t.Errorf("after the partial was moved to a file: got %+v", s)
	}
}
