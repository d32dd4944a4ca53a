package bench

import (
	"encoding/json"
	"strings"
	"testing"
)

// tabled returns the tables of a report as text.
func tabled(r FailoverReport) string {
	var table strings.Builder
	r.Table(&table)
	return table.String()
}

func TestSummariesCountKnownValues(t *testing.T) {
	r := failoversOf(new(0.0), new(60.0), nil)
	if got, want := r.Steps["first_assignment"], (Summary{Spread{30, 60, 60}, 2}); got != want {
		t.Errorf("got %+v, want %+v: a step of 0 ms counts, and a step that did not happen does not", got, want)
	}
	table := tabled(r)
	for _, want := range []string{
		"3 failovers by kill, 2 workers with 2 slots in all\n",
		"\na worker is assigned work\t30.0 ms\t60.0 ms\t60.0 ms\tin 2 of 3\n",
		"\nwork can be assigned\t40.0 ms\t40.0 ms\t40.0 ms\n",
		"\nEACH, IN MS\tDETECT\tELECT\tFENCE\tRESUME\tWORK\tRESULT\tBEFORE\tAFTER\tSLOWEST\n",
		"\n1\t50.0\t20.0\t10.0\t40.0\t0.0\t0.0\t0.00\t0.00\t0.00\n",
		"\n3\t50.0\t20.0\t10.0\t40.0\t-\t-\t0.00\t0.00\t0.00\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("got the table\n%s\nwithout %q", table, want)
		}
	}
}

func TestStepsThatNeverHappenedHaveNoSummary(t *testing.T) {
	r := failoversOf(nil)
	if got, ok := r.Steps["first_assignment"]; ok {
		t.Errorf("got %+v, though no work was assigned", got)
	}
	if table, want := tabled(r), "\na worker is assigned work\t-\t-\t-\n"; !strings.Contains(table, want) {
		t.Errorf("got the table\n%s\nwithout %q", table, want)
	}
}

func TestWindowsAreSummarized(t *testing.T) {
	r := failoversOf(nil, nil, nil)
	for i, shares := range [][]float64{{1, 1, 1, 1, 0.5}, {0.8, 1, 1, 1, 0.5}, {0.2, 1, 1, 1, 0.5}} {
		r.Failovers[i].Windows = shares
	}
	r.summarize()
	if got, want := r.Windows[0], (Summary{Spread{0.8, 0.2, 0.2}, 3}); len(r.Windows) != 5 || got != want {
		t.Errorf("got %d windows and %+v in the first, want 5 and %+v", len(r.Windows), got, want)
	}
	want := "\n0 s after the loss\t0.80 0.20 0.20\t1.00 1.00 1.00\t1.00 1.00 1.00\t1.00 1.00 1.00\n1 s after the loss\t0.50 0.50 0.50\n"
	if table := tabled(r); !strings.Contains(table, want) {
		t.Errorf("got the table\n%s\nwithout %q", table, want)
	}
}

func TestRepeatsAreSummarized(t *testing.T) {
	r := failoversOf(nil, nil)
	r.Failovers[0].Repeats = &Repeats{Again: 10, Others: 1, Lost: new(0.25)}
	r.Failovers[1].Repeats = &Repeats{Again: 20, Lost: new(0.75)}
	r.summarize()
	if got, want := r.Repeated["lost_worker_seconds"], (Total{Summary{Spread{0.5, 0.75, 0.75}, 2}, 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	table := tabled(r)
	for _, want := range []string{
		"\nlost work, in worker-seconds\t0.500\t0.750\t0.750\t1.000\n",
		"\npartitions of the lost leader\t15\t20\t20\t30\n",
		"\t0.250\t10\t1\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("got the table\n%s\nwithout %q", table, want)
		}
	}
}

// TestUnknownValuesAreLeftOut checks the report of a running cluster, which has no traces and whose
// leader may receive results too rarely.
func TestUnknownValuesAreLeftOut(t *testing.T) {
	r := failoversOf(new(50.0))
	r.Failovers[0].Shares = nil
	r.summarize()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"lost", "repeated", "executed_again", "before", "samples"} {
		if strings.Contains(string(encoded), not) {
			t.Errorf("got %s with %q in it", encoded, not)
		}
	}
	table := tabled(r)
	for _, not := range []string{"THROUGHPUT", "REPEATED", "LOST", "SLOWEST"} {
		if strings.Contains(table, not) {
			t.Errorf("got the table\n%s\nwith %q in it", table, not)
		}
	}
}
