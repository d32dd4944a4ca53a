package report_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

func TestRatios(t *testing.T) {
	if got := report.Ratios(report.Figures{6, 8}, report.Figures{2, 4, 9}); !slices.Equal(got, report.Figures{3, 2}) {
		t.Errorf("got %v", got)
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
