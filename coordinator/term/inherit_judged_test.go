package term

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

func TestInheritedJudgements(t *testing.T) {
	for _, test := range []struct {
		name    string
		skipped []uint64
		stopped *jobs.Stopped
		judged  int
		stops   bool
	}{
		{"none skipped", nil, nil, 5, false},
		{"one skipped above the rungs", []uint64{5}, nil, 5, false},
		{"the last of a rung skipped", []uint64{7, 3}, nil, 3, false},
		{"the first skipped", []uint64{0}, nil, 0, false},
		{"a stop", nil, &jobs.Stopped{At: 5, Rung: 5}, 5, true},
		{"a stop above a skipped partition", []uint64{4}, &jobs.Stopped{At: 5, Rung: 5}, 4, false},
		{"a stop in time", nil, &jobs.Stopped{At: 5, Rung: 5, Timed: true}, 5, false},
	} {
		m := store.Manifest{Partitions: 100, Work: store.Work{Skipped: test.skipped, Stopped: test.stopped}}
		for n := range uint64(5) {
			m.Judged = append(m.Judged, jobs.Estimated{Partitions: n + 1})
		}
		judged, stopped := inheritedJudgements(m)
		if len(judged) != test.judged || (stopped != nil) != test.stops {
			t.Errorf("%s: got %d judgements and the stop %v, want %d, %v", test.name, len(judged), stopped, test.judged, test.stops)
		}
	}
}
