package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// at returns the time at the given number of seconds after the start of a test.
func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// evenly returns executions of a process at a constant rate between two moments.
func evenly(pid int, perSecond, from, to float64) []execution {
	var list []execution
	for i := range int(math.Round((to - from) * perSecond)) {
		list = append(list, execution{partition: uint64(len(list)), pid: pid, at: at(from + (float64(i)+0.5)/perSecond)})
	}
	return list
}

func inOrder(lists ...[]execution) []execution {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b execution) int { return a.at.Compare(b.at) })
	return all
}

func near(got, want float64) bool { return math.Abs(got-want) < 0.011 }

func TestSharesOfAnOutage(t *testing.T) {
	// Two processes execute 100 partitions per second each. One process dies at 10 s, and the other
	// process pauses for 250 ms.
	executions := inOrder(evenly(1, 100, 0, 10), evenly(2, 100, 0, 10.5), evenly(2, 100, 10.75, 20))
	o := takeover{at: at(10), victim: 1, term: store.TermRecord{
		Epoch: 2, Cause: "died", At: at(10.05), Detect: 40 * time.Millisecond, Elect: 20 * time.Millisecond,
		Fence: 5 * time.Millisecond, Resume: 45 * time.Millisecond, FirstAssignment: new(50 * time.Millisecond),
	}}
	got := newOutage(o, countOf(executions), time.Second, 2*time.Second, time.Second)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"before", got.Before, 2},
		{"after", got.After, 1.75 / 2},
		{"lowest", got.Lowest, 0},
		{"lowest undisturbed", got.LowestUndisturbed, 1},
		{"until ready", got.Ready, 100},
		{"until assigned", *got.Assigned, 150},
		{"detect", *got.Detect, 40},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
	want := []float64{1, 1, 0, 1, 1, 1, 1, 1}
	if !slices.EqualFunc(got.Windows, want, near) {
		t.Errorf("windows: got %v, want %v", got.Windows, want)
	}
	if len(got.Samples) != 60 || !near(got.Samples[0], 2) || got.Samples[32] != 0 {
		t.Errorf("samples: got %v, want 60: 20 of 2, then 1, and 0 in the pause", got.Samples)
	}
}

func TestAnOutageWithoutThroughputHasNoShares(t *testing.T) {
	got := newOutage(takeover{at: at(0)}, countOf(nil), time.Second, time.Second, time.Second)
	if got.Shares != nil {
		t.Errorf("got %+v, want no shares", got.Shares)
	}
	if got.Assigned != nil {
		t.Errorf("assigned after %v ms, without an assignment", *got.Assigned)
	}
}

func TestFirstResultOfAnOutage(t *testing.T) {
	for _, c := range []struct {
		name               string
		assignment, result *time.Duration // durations as in the cluster's history
		want               *float64       // expected duration in milliseconds
	}{
		{"after the assignment", new(time.Millisecond), new(5 * time.Millisecond), new(5.0)},
		{"before it", new(time.Duration(0)), new(time.Duration(0)), new(0.0)},
		{"none", new(time.Millisecond), nil, nil},
		{"no assignment", nil, nil, nil},
	} {
		o := takeover{at: at(10), term: store.TermRecord{At: at(10), FirstAssignment: c.assignment, FirstResult: c.result}}
		got := newOutage(o, countOf(nil), time.Second, time.Second, time.Second)
		if (got.FirstResult == nil) != (c.want == nil) || c.want != nil && *got.FirstResult != *c.want {
			t.Errorf("%s: got %v, want %v", c.name, numberOrDash(1, got.FirstResult), numberOrDash(1, c.want))
		}
		if (got.FirstAssignment == nil) != (c.assignment == nil) {
			t.Errorf("%s: the assignment is %v", c.name, numberOrDash(1, got.FirstAssignment))
		}
	}
}

func TestLowestUndisturbed(t *testing.T) {
	// At 10 s process 1 is killed and process 2 pauses for 250 ms. No other fault happens from 9 s
	// until one second after the watch.
	both := slices.Concat(evenly(1, 100, 0, 10), evenly(2, 100, 0, 10))
	blow := slices.Concat(evenly(2, 100, 10, 10.5), evenly(2, 100, 10.75, 12))
	even := evenly(2, 100, 12, 13)
	for _, c := range []struct {
		name         string
		before, then []execution
		watch        time.Duration
		want         float64
	}{
		{"even", both, even, 2 * time.Second, 1},
		{
			"a dip before, to what the survivor alone does",
			slices.Concat(evenly(1, 100, 0, 9.25), evenly(1, 100, 9.5, 10), evenly(2, 100, 0, 10)),
			even, 2 * time.Second, 25 / (175 / 4.0),
		},
		{
			"a dip in the steady time",
			both, slices.Concat(evenly(2, 100, 12, 12.5), evenly(2, 40, 12.5, 12.75), evenly(2, 100, 12.75, 13)),
			2 * time.Second, 10 / (85 / 4.0),
		},
		{"a dip too early to count", slices.Concat(evenly(2, 100, 0, 8.5), evenly(2, 100, 9, 10)), even, 2 * time.Second, 1},
		{"a dip beyond as many windows", slices.Concat(evenly(2, 100, 0, 9.25), evenly(2, 100, 9.5, 10)), even, time.Second, 1},
		{"nothing before", nil, even, 2 * time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := countOf(inOrder(c.before, blow, c.then))
			got := newOutage(takeover{at: at(10), victim: 1}, done, time.Second, c.watch, time.Second)
			if !near(got.LowestUndisturbed, c.want) {
				t.Errorf("got %v, want %v", got.LowestUndisturbed, c.want)
			}
			if got.Lowest != 0 {
				t.Errorf("the lowest window is %v, want 0 for the pause after the loss", got.Lowest)
			}
		})
	}
}

// TestLowSharesAreTheWorst checks that Worst is the smallest share, with and without a failover.
func TestLowSharesAreTheWorst(t *testing.T) {
	r := FailoverReport{}
	for i := range 20 {
		share := 1 - float64(i)/100
		r.Failovers = append(r.Failovers, Outage{Shares: &Shares{Lowest: share - 0.5, LowestUndisturbed: share}})
	}
	r.summarize()
	for name, want := range map[string]Spread{
		"lowest":             {Median: 0.405, P95: 0.32, Worst: 0.31},
		"lowest_undisturbed": {Median: 0.905, P95: 0.82, Worst: 0.81},
	} {
		got := r.Throughput[name]
		if math.Abs(got.Median-want.Median) > 1e-9 || math.Abs(got.P95-want.P95) > 1e-9 || math.Abs(got.Worst-want.Worst) > 1e-9 {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	var table strings.Builder
	r.Table(&table)
	if want := "in the slowest of as many undisturbed windows\t0.91\t0.82\t0.81\n"; !strings.Contains(table.String(), want) {
		t.Errorf("got the table\n%s\nwithout %q", table.String(), want)
	}
}

func TestUndisturbedTimeHasEnoughWindows(t *testing.T) {
	for watch := time.Second; watch < 12*time.Second; watch += 10 * time.Millisecond {
		c := FailoverConfig{Watch: watch}
		if c.calm()%window != 0 || c.steady()%window != 0 || (c.calm()+c.steady())/window < watch/window {
			t.Errorf("watched for %v: %v of calm and %v of steady time are not enough whole windows", watch, c.calm(), c.steady())
		}
	}
}

func TestCountRepeats(t *testing.T) {
	run := func(partition uint64, pid int, seconds float64) execution {
		return execution{partition, pid, at(seconds)}
	}
	executions := []execution{
		run(0, 1, 9.2), run(1, 2, 9.4), run(2, 1, 9.6), run(3, 2, 9.8), // four partitions in the second before the failover
		run(2, 2, 10.5), // the dead process had executed the partition
		run(3, 3, 10.6), // a surviving process had executed the partition
		run(1, 3, 13.5), // a process that died in the next outage had executed the partition
		run(0, 3, 13.6), // a late repetition of a partition of the first dead process
		run(3, 4, 13.7), // a repetition of another process's partition
		run(3, 4, 19),   // a repetition at the end of the job
	}
	got := countRepeats([]takeover{{at: at(10), victim: 1}, {at: at(13), victim: 2}}, executions, 2*time.Second, 2)
	for i, want := range []struct{ again, repeated uint64 }{{2, 1}, {3, 0}} {
		if got[i].Again != want.again || got[i].Others != want.repeated {
			t.Errorf("failover %d: got %d repeats of the victim and %d others, want %d and %d", i, got[i].Again, got[i].Others, want.again, want.repeated)
		}
	}
	if want := 3 * 2 / 4.0; *got[0].Lost != want { // three partitions of half a second each were repeated
		t.Errorf("lost: got %v worker-seconds, want %v", got[0].Lost, want)
	}
}

func TestCountRepeatsOfSurvivors(t *testing.T) {
	executions := []execution{{7, 3, at(10)}, {8, 3, at(10.1)}, {7, 4, at(10.2)}, {8, 4, at(13)}, {7, 5, at(9)}}
	got := countRepeats([]takeover{{at: at(10)}}, executions, 2*time.Second, 1)
	if got[0].Again != 0 || got[0].Others != 1 {
		t.Errorf("got %d and %d, want no repeat of a victim and 1 other", got[0].Again, got[0].Others)
	}
}

// TestCountRepeatsOfAProcessThatWasFrozenTwice checks repeated executions for a process that was
// suspended twice.
func TestCountRepeatsOfAProcessThatWasFrozenTwice(t *testing.T) {
	executions := []execution{{7, 1, at(9)}, {7, 2, at(11)}, {8, 1, at(19)}, {8, 2, at(21)}}
	got := countRepeats([]takeover{{at: at(10), victim: 1}, {at: at(20), victim: 1}}, executions, 5*time.Second, 1)
	for i := range got {
		if got[i].Again != 1 || got[i].Others != 0 {
			t.Errorf("failover %d: got %d and %d, want 1 repeat of the victim and no other", i, got[i].Again, got[i].Others)
		}
	}
}

func TestSamplesBetween(t *testing.T) {
	var s samples
	if got := s.between(at(0), at(1)); got != 0 {
		t.Errorf("without samples: got %v", got)
	}
	s.add(at(1), 100)
	s.add(at(2), 200)
	s.add(at(2.5), 150) // a new leader does not know all completed partitions
	s.add(at(3), 300)
	for _, c := range []struct{ from, to, want float64 }{
		{1, 2, 100}, {1.5, 2, 50}, {2, 2.5, 50}, {0, 10, 200}, {2, 2, 0},
	} {
		if got := s.between(at(c.from), at(c.to)); !near(got, c.want) {
			t.Errorf("from %v to %v: got %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

func TestResultsMustArriveOftenEnough(t *testing.T) {
	for _, c := range []struct {
		name  string
		every float64 // interval between samples in seconds
		want  bool
	}{
		{"twice in a window", 0.125, true},
		{"every other window", 0.5, false},
	} {
		f := failover{FailoverConfig: FailoverConfig{Watch: time.Second}}
		for i := range 200 {
			seconds := float64(i) / 20
			f.samples.add(at(seconds), math.Floor(seconds/c.every))
		}
		if got := f.fineEnough(takeover{at: at(5)}); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
}

func TestSmoothKeepsConstantValues(t *testing.T) {
	if got := smooth([]float64{1, 1, 1, 0, 1, 1, 1}); !slices.EqualFunc(got, []float64{1, 0.75, 0.8, 0.8, 0.8, 0.75, 1}, near) {
		t.Errorf("got %v", got)
	}
	if got := medians([][]float64{{1, 5}, {3}, {2, 7}}); !slices.Equal(got, []float64{2, 6}) {
		t.Errorf("medians: got %v, want 2 and 6", got)
	}
}
