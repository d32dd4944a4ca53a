package report_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

func TestFigures(t *testing.T) {
	f := report.Figures{5, 1, 4, 2, 3, 9, 8, 7, 6, 10}
	for what, got := range map[string][2]float64{
		"median of an even number": {f.Median(), 5.5},
		"median of an odd number":  {f[:5].Median(), 3},
		"median of one":            {f[:1].Median(), 5},
		"p95":                      {f.Quantile(0.95), 10},
		"p90":                      {f.Quantile(0.9), 9},
		"least":                    {f.Least(), 1},
		"most":                     {f.Most(), 10},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %v, want %v", what, got[0], got[1])
		}
	}
	if f[0] != 5 {
		t.Errorf("the measurements were put in another order: %v", f)
	}
	for _, got := range []float64{report.Figures{}.Median(), report.Figures{}.Most()} {
		if !math.IsNaN(got) {
			t.Errorf("of no measurements: got %v", got)
		}
	}
	if got := report.Ratios(report.Figures{6, 8}, report.Figures{2, 4, 9}); !slices.Equal(got, report.Figures{3, 2}) {
		t.Errorf("ratios: got %v", got)
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", 0.01234: "0.0123", 99.96: "100", 1234: "1,230", 118_400_000: "118,000,000", math.Inf(1): "–", math.NaN(): "–",
	} {
		if got := report.Number(x); got != want {
			t.Errorf("%v: got %s, want %s", x, got, want)
		}
	}
	if got := report.Count(1_002_003); got != "1,002,003" {
		t.Errorf("got %s", got)
	}
}

var table = report.Table{
	Title: "speed", Head: []string{"who", "how fast"},
	Rows:  [][]string{{"hare", "60"}, {"tortoise", "1"}},
	Notes: []string{"Both rested."},
}

func TestText(t *testing.T) {
	var b strings.Builder
	if err := table.Text(&b); err != nil {
		t.Fatal(err)
	}
	want := "speed\n\nWHO       HOW FAST\nhare      60\ntortoise  1\n\nBoth rested.\n\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := table.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	want := "### speed\n\n| who | how fast |\n| --- | --- |\n| hare | 60 |\n| tortoise | 1 |\n\nBoth rested.\n\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestModuleVersion(t *testing.T) {
	if got := report.ModuleVersion("example.com/who/what/v3"); got != "who/what of an unknown version" {
		t.Errorf("got %s", got)
	}
}
