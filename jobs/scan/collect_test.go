package scan

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// TestCollectParts checks that a result does not depend on the number of parts that are read at the same time.
func TestCollectParts(t *testing.T) {
	for _, p := range []Params{
		{},
		{Limit: 10, Offset: 3, Order: "-count"},
		{Limit: 10_000},
		{Having: "count > 7"},
		{Having: "count > 7", Limit: 5, Order: "-max(x),-count"},
		{Having: "count > 8"},
	} {
		p.Input, p.By, p.Aggregate = dataset.Defaults(), "a", "count,max(x)"
		q, err := newQuery(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 2, 700} {
			tab := new(table)
			tab.bind(q.aggregates, []int{-1, 0})
			for i := range n {
				group := tab.group(fmt.Append(nil, i))
				tab.states[0].(*counts).list[group] = uint64(i % 9)
				if i == n/2 {
					tab.states[1].(*extremes).list[group] = extreme{hasText: true, text: "text"}
				}
			}
			if err := tab.settle(); err != nil {
				t.Fatal(err)
			}
			var all run
			for _, r := range tab.runs {
				all = r
			}
			result := func(parts int) (columns []Column, lines [][]cell) {
				g := &groups{query: q, run: all, scratch: newScratch(q.aggregates), most: maxResultBytes, parts: parts}
				n, err := g.place(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if lines, err = g.finish(t.Context()); err != nil {
					t.Fatal(err)
				}
				return q.notedColumns(n), lines
			}
			columns, lines := result(1)
			if n > 0 && p.Having == "" && columns[2].Type != "text" {
				t.Errorf("got the type %s, want text", columns[2].Type)
			}
			for parts := 2; parts < 9; parts++ {
				if c, l := result(parts); !reflect.DeepEqual(c, columns) || !reflect.DeepEqual(l, lines) {
					t.Fatalf("limit %d, having %q, %d groups in %d parts: got %v and %d rows, want %v and %d, or other rows", p.Limit, p.Having, n, parts, c, len(l), columns, len(lines))
				}
			}
		}
	}
}
