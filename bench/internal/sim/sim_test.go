package sim_test

import (
	"bytes"
	"testing"

	"github.com/bellwether-compute/bellwether/bench/internal/sim"
)

// fewSeeds is the number of seeds that the tests simulate. The number is small to keep the tests
// short; the command make sim simulates many more seeds.
const fewSeeds = 150

func TestSeedsKeepThePromises(t *testing.T) {
	report := sim.RunAll(1, fewSeeds, 3)
	for _, f := range report.Failures {
		t.Errorf("seed %d: %v\nto see it: go run ./bench/internal/sim/run -seed %d", f.Seed, f.Err, f.Seed)
	}
	if report.Seeds != fewSeeds {
		t.Errorf("%d seeds were run, want %d", report.Seeds, fewSeeds)
	}
}

func TestSameSeedGivesTheSameSimulation(t *testing.T) {
	for seed := range uint64(20) {
		var first, second bytes.Buffer
		_, _ = sim.Run(seed, &first)
		_, _ = sim.Run(seed, &second)
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			a, b := firstDifference(first.String(), second.String())
			t.Fatalf("seed %d: first run\n%s\nsecond run\n%s", seed, a, b)
		}
		if first.Len() == 0 {
			t.Fatalf("seed %d left no trace", seed)
		}
	}
}

func firstDifference(a, b string) (string, string) {
	line := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line = i + 1
		}
	}
	return cut(a[line:]), cut(b[line:])
}

func cut(text string) string { return text[:min(len(text), 400)] }

func TestReportNamesWhatNeverHappened(t *testing.T) {
	none := sim.Report{Coverage: sim.Coverage{}, Seeds: 10_000}
	if none.OK() || len(none.Missing()) == 0 {
		t.Errorf("an empty report passes: %v", none.Missing())
	}
}
