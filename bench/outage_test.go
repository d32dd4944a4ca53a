package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// at is a moment of a test, in seconds.
func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// evenly is executions of a process, so many per second, from one moment to another.
func evenly(pid int, perSecond, from, to float64) []execution {
	var list []execution
	for i := range int(math.Round((to - from) * perSecond)) {
		list = append(list, execution{partition: uint64(len(list)), pid: pid, at: at(from + (float64(i)+0.5)/perSecond)})
	}
	return list
}

func near(got, want float64) bool { return math.Abs(got-want) < 0.011 }

func TestSharesOfAnOutage(t *testing.T) {
	// Two processes of 100 a second; one dies at 10 s, and the other pauses for 250 ms.
	executions := slices.Concat(evenly(1, 100, 0, 10), evenly(2, 100, 0, 10.5), evenly(2, 100, 10.75, 20))
	slices.SortFunc(executions, func(a, b execution) int { return a.at.Compare(b.at) })
	o := outage{at: at(10), victim: 1, term: store.TermRecord{
		Epoch: 2, Cause: "died", At: at(10.05), Detect: 40 * time.Millisecond, Elect: 20 * time.Millisecond,
		Fence: 5 * time.Millisecond, Resume: 45 * time.Millisecond, FirstAssignment: 50 * time.Millisecond,
	}}
	got := newOutage(o, countOf(executions), 2*time.Second, time.Second)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"before", got.Before, 2},
		{"after", got.After, 1.75 / 2},
		{"lowest", got.Lowest, 0},
		{"until ready", got.Ready, 100},
		{"until assigned", got.Assigned, 150},
		{"detect", got.Detect, 40},
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
	got := newOutage(outage{at: at(0)}, countOf(nil), time.Second, time.Second)
	if got.Before != 0 || len(got.Windows) != 0 {
		t.Errorf("got %+v, want no shares", got)
	}
	if got.Assigned != 0 {
		t.Errorf("assigned after %v ms, though it never was", got.Assigned)
	}
}

func TestCountAgain(t *testing.T) {
	run := func(partition uint64, pid int, seconds float64) execution {
		return execution{partition, pid, at(seconds)}
	}
	executions := []execution{
		run(0, 1, 9.2), run(1, 2, 9.4), run(2, 1, 9.6), run(3, 2, 9.8), // four in the second before
		run(2, 2, 10.5), // the dead process had it
		run(3, 3, 10.6), // another had it
		run(1, 3, 13.5), // after the next outage, the process had died in that
		run(0, 3, 13.6), // the first one's, late
		run(3, 4, 13.7), // another's
		run(3, 4, 19),   // at the job's end
	}
	got := make([]Outage, 2)
	countAgain(got, []outage{{at: at(10), victim: 1}, {at: at(13), victim: 2}}, executions, 2*time.Second, 2)
	for i, want := range []struct{ again, repeated uint64 }{{2, 1}, {3, 0}} {
		if got[i].Again != want.again || got[i].Repeated != want.repeated {
			t.Errorf("outage %d: got %d of the victim's and %d others executed again, want %d and %d", i, got[i].Again, got[i].Repeated, want.again, want.repeated)
		}
	}
	if want := 3 * 2 / 4.0; got[0].Lost != want { // three partitions of half a second each
		t.Errorf("lost: got %v worker-seconds, want %v", got[0].Lost, want)
	}
}

func TestCountWhatNoVictimHad(t *testing.T) {
	executions := []execution{{7, 3, at(10)}, {8, 3, at(10.1)}, {7, 4, at(10.2)}, {8, 4, at(13)}, {7, 5, at(9)}}
	got := make([]Outage, 1)
	countAgain(got, []outage{{at: at(10)}}, executions, 2*time.Second, 1)
	if got[0].Again != 0 || got[0].Repeated != 1 {
		t.Errorf("got %d and %d, want none of a victim's and 1 other", got[0].Again, got[0].Repeated)
	}
}

func TestSamplesBetween(t *testing.T) {
	var s samples
	if got := s.between(at(0), at(1)); got != 0 {
		t.Errorf("of none: got %v", got)
	}
	s.add(at(1), 100)
	s.add(at(2), 200)
	s.add(at(2.5), 150) // a new leader that has not heard of all
	s.add(at(3), 300)
	for _, c := range []struct{ from, to, want float64 }{
		{1, 2, 100}, {1.5, 2, 50}, {2, 2.5, 50}, {0, 10, 200}, {2, 2, 0},
	} {
		if got := s.between(at(c.from), at(c.to)); !near(got, c.want) {
			t.Errorf("from %v to %v: got %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

func TestSmoothKeepsWhatIsEven(t *testing.T) {
	if got := smooth([]float64{1, 1, 1, 0, 1, 1, 1}); !slices.EqualFunc(got, []float64{1, 0.75, 0.8, 0.8, 0.8, 0.75, 1}, near) {
		t.Errorf("got %v", got)
	}
	if got := medians([][]float64{{1, 5}, {3}, {2, 7}}); !slices.Equal(got, []float64{2, 6}) {
		t.Errorf("medians: got %v, want 2 and 6", got)
	}
}
