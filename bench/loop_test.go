package bench

import (
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

func TestPlainLoopGivesTheSameBytes(t *testing.T) {
	job := jobs.MustNew(primes.Definition)
	for _, width := range []uint64{100_000, 777, 1} {
		p := primes.Params{Limit: 100_000, Width: width}
		got, err := plainLoop(t.Context(), primes.Definition, p, 3)
		if err != nil {
			t.Fatal(err)
		}
		params, err := job.Params(nil, "limit=100000")
		if err != nil {
			t.Fatal(err)
		}
		want, err := jobs.Local{}.Run(t.Context(), job, params)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want.Result) {
			t.Errorf("width %d: got %s, want %s", width, got, want.Result)
		}
	}
}

func TestPrimesForGrowsWithTheTime(t *testing.T) {
	short, err := primesFor(t.Context(), 1, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	long, err := primesFor(t.Context(), 4, 100*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	// The long search has 8,000 times the work of the short search. The bound is low, because
	// larger primes take longer, the machine may be busy, and the limit has a minimum.
	if ratio := float64(long.Limit) / float64(short.Limit); ratio < 10 {
		t.Errorf("limits %d and %d are too close", short.Limit, long.Limit)
	}
}
