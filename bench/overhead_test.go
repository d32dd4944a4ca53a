package bench

import (
	"strings"
	"testing"
)

func TestOverheadAxisHasAllValues(t *testing.T) {
	point := func(rounds ...float64) OverheadPoint { return OverheadPoint{Efficiency: 1, Rounds: rounds} }
	for _, c := range []struct {
		points      []OverheadPoint
		least, most float64
	}{
		{nil, 0.9, 1.1},
		{[]OverheadPoint{point(0.98, 1.01)}, 0.9, 1.1},
		{[]OverheadPoint{point(0.85), point(1.25)}, 0.8, 1.3},
		{[]OverheadPoint{point(0.02)}, 0, 1.1},
	} {
		if least, most := (OverheadReport{Points: c.points}).bounds(); least != c.least || most != c.most {
			t.Errorf("%v: got %v to %v, want %v to %v", c.points, least, most, c.least, c.most)
		}
	}
}

func TestOverheadShowsWhereStorageRuns(t *testing.T) {
	for storage, want := range map[float64]string{0: "in NATS", 1.5: "1.50 s"} {
		var b strings.Builder
		OverheadReport{Points: []OverheadPoint{{CPU: CPU{Storage: storage}}}}.Table(&b)
		if !strings.HasSuffix(b.String(), "\t"+want+"\n") {
			t.Errorf("got %q, want %q at the end", b.String(), want)
		}
	}
}
