package sim

import (
	"bytes"
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

var (
	seeds    = flag.Uint64("sim.seeds", 150, "how many seeds to run; make sim runs many more than the ordinary tests")
	first    = flag.Uint64("sim.first", 1, "the first seed")
	failures = flag.Int("sim.failures", 10, "stop after this many failed seeds")
	one      = flag.Uint64("sim.seed", 0, "run only this seed, and trace what happens")
)

// TestSeedsKeepThePromises simulates clusters, one per seed, and logs how often each event happened.
func TestSeedsKeepThePromises(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // a higher GC percentage saves time, because a simulation allocates much but keeps little memory
	if *one > 0 {
		if _, err := Run(*one, os.Stdout); err != nil {
			t.Fatalf("seed %d breaks a promise: %v", *one, err)
		}
		return
	}
	report := RunAll(*first, *seeds, *failures)
	for _, what := range report.Coverage.Names() {
		t.Logf("%10d  %s", report.Coverage[what], what)
	}
	t.Logf("%d seeds in %.1f s, %.0f per second", report.Seeds, report.Took.Seconds(), float64(report.Seeds)/report.Took.Seconds())
	for _, f := range report.Failures {
		t.Errorf("seed %d breaks a promise: %v\n  make sim SEED=%d", f.Seed, f.Err, f.Seed)
	}
	for _, what := range report.Missing() {
		t.Errorf("never happened: %s", what)
	}
	if len(report.Failures) == 0 && report.Seeds != *seeds {
		t.Errorf("%d seeds were run, want %d", report.Seeds, *seeds)
	}
}

func TestSameSeedGivesTheSameSimulation(t *testing.T) {
	for seed := range uint64(20) {
		var first, second bytes.Buffer
		_, _ = Run(seed, &first)
		_, _ = Run(seed, &second)
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
	none := Report{Coverage: Coverage{}, Seeds: 10_000}
	if len(none.Missing()) == 0 {
		t.Error("an empty report lacks no expected event")
	}
}
