package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bellwether-compute/bellwether/bench/plot"
)

// failoversOf returns a report with one failover for each assignment. Each leader was ready after
// 100 ms. The value of an assignment is the time in milliseconds after the leader was ready, or nil
// if nothing was assigned.
func failoversOf(assignments ...*float64) FailoverReport {
	r := FailoverReport{How: Kill, Workers: 2, Slots: 2}
	for _, after := range assignments {
		o := Outage{
			Detect: new(50.0), Elect: 20, Fence: 10, Resume: 40, Ready: 100,
			Shares: &Shares{Samples: make([]float64, 40), Windows: make([]float64, 4)},
		}
		if after != nil {
			o.FirstAssignment, o.FirstResult, o.Assigned = after, new(0.0), new(o.Ready+*after)
		}
		r.Failovers = append(r.Failovers, o)
	}
	r.summarize()
	return r
}

func TestFigureMarksTheMoments(t *testing.T) {
	closer := failoversOf(new(30.0), new(60.0), nil).Figure().Panels[1]
	var got []string
	for _, m := range closer.Marks {
		got = append(got, fmt.Sprintf("%.3f %s", m.At, m.Label))
	}
	want := []string{
		"0.000 leader lost", "0.030 believed dead", "0.050 lease held", "0.060 fenced off", "0.100 ready",
		"0.145 work assigned", "0.145 first result, at the latest",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if closer.X.Min != -0.2 || closer.X.Max <= 0.145 || closer.X.Max > 0.5 {
		t.Errorf("the axis is from %v to %v, want -0.2 to a little more than 0.145", closer.X.Min, closer.X.Max)
	}
}

func TestFigureEndsWithTheWindows(t *testing.T) {
	if got := failoversOf(new(9000.0)).Figure().Panels[1].X.Max; got != 1 {
		t.Errorf("the axis ends at %v s, want the 1 s of windows", got)
	}
}

func TestFigureCutsLateAssignments(t *testing.T) {
	for _, c := range []struct {
		name        string
		assignments []*float64
		want        float64 // end of the axis; 0 if the axis must show all values
	}{
		{"soon", []*float64{new(50.0), new(100.0)}, 0},
		{"late", []*float64{new(50.0), new(5000.0)}, 2 * 120},
		{"never", []*float64{new(50.0), nil}, 0},
	} {
		if got := failoversOf(c.assignments...).Figure().Panels[2].X.Max; got != c.want {
			t.Errorf("%s: got an axis to %v ms, want %v", c.name, got, c.want)
		}
	}
}

func TestFigureWithoutThroughput(t *testing.T) {
	r := failoversOf(new(50.0))
	r.Failovers[0].Shares = nil
	r.summarize()
	if panels := r.Figure().Panels; len(panels) != 1 || len(panels[0].Rows) != 1 {
		t.Errorf("got %d panels, want only that of the steps", len(panels))
	}
}

func TestBarsOmitUnknownSteps(t *testing.T) {
	row := failoversOf(nil).Figure().Panels[2].Rows[0]
	if got := slices.ContainsFunc(row.Parts, func(p plot.Part) bool { return p.Name == "work assigned" }); got {
		t.Errorf("got %v, though no work was assigned", row.Parts)
	}
}
