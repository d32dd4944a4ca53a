package scan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

func TestNameLimit(t *testing.T) {
	file := write(t, "a.csv", "a,b\n1,2\n")
	names := func(n int, format string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return strings.Join(list, ",")
	}
	for _, test := range []struct{ parameter, other, format string }{
		{"by", "aggregate=count", "c%d"}, {"aggregate", "by=a", "count(c%d)"}, {"order", "columns=a", "c%d"},
	} {
		_, err := scan(t, "input="+file, test.other, test.parameter+"="+names(maxListed+1, test.format))
		if want := fmt.Sprintf("parameter %s: there are 1001 names: want at most 1000", test.parameter); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := newQuery(Params{By: names(maxListed, "c%d"), Aggregate: "count"}); err != nil {
		t.Error(err)
	}
}

// TestGroupBytes checks that the values of a result with groups are limited by their size.
func TestGroupBytes(t *testing.T) {
	q, err := newQuery(Params{By: "a", Aggregate: "count"})
	if err != nil {
		t.Fatal(err)
	}
	groupsOf := func(n, size int) *table {
		tab := new(table)
		tab.bind(q.aggregates, make([]int, 1))
		for i := range n {
			tab.group(fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", size)))
		}
		return tab
	}
	for n, want := range map[int]string{2: "", 9: "the values of the result have more than 1000 bytes"} {
		g, _, err := q.newGroups(t.Context(), groupsOf(n, 100))
		if err != nil {
			t.Fatal(err)
		}
		g.most = 1000
		rows, err := g.finish(t.Context())
		if want == "" && len(rows) != n || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d groups: got %d rows, %v, want %q", n, len(rows), err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := q.newGroups(ctx, groupsOf(5, 5)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
	g := groups{query: q, run: run{}, order: nil}
	if err := g.sort(ctx, q.orders()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
	if _, err := finish(ctx, Params{Input: dataset.Defaults(), By: "a", Aggregate: "count"}, groupsOf(5, 5), dataset.Totals{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
}
