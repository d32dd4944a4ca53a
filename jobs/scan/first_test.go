//go:build !race

package scan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// TestFirstGroups runs only without the race detector, because it runs many queries of many groups.
//
// It checks that a result with a limit is a part of the result without one, also if many groups have equal
// values.
func TestFirstGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 7))
	var b strings.Builder
	b.WriteString("a,b,x\n")
	for range 20_000 {
		a := []string{"", "1", "1.0", "-2", "a long text", "a long text and more", "z", "2026-11-22T21:04:00Z"}[random.IntN(8)]
		fmt.Fprintf(&b, "%s,%d,%s\n", a, random.IntN(3000), []string{"", "1", "1.5", "1e18", "-3"}[random.IntN(5)])
	}
	name := write(t, "groups.csv", b.String())
	rows := func(query ...string) (list [][]any) {
		got, err := scan(t, append(query, "input="+name)...)
		var result struct{ Rows [][]any }
		if err != nil || json.Unmarshal([]byte(got), &result) != nil {
			t.Fatalf("%v: got %s, %v", query, got, err)
		}
		return result.Rows
	}
	for _, order := range []string{"", "-count", "count,-a", "-sum(x)", "a", "-b,a", "distinct(x),sum(x),-b", "-mean(x),-a,-b"} {
		query := []string{"by=a,b", "aggregate=count,sum(x),mean(x),distinct(x)"}
		if order != "" {
			query = append(query, "order="+order)
		}
		all := rows(query...)
		for _, part := range [][2]int{{0, 1}, {0, 10}, {3, 1}, {200, 300}, {0, len(all)}, {len(all) - 1, 5}, {len(all), 2}} {
			from := part[0]
			to := min(len(all), from+part[1])
			got := rows(append(query, fmt.Sprintf("offset=%d", from), fmt.Sprintf("limit=%d", part[1]))...)
			if !slices.EqualFunc(got, all[from:to], func(a, b []any) bool { return slices.Equal(a, b) }) {
				t.Errorf("order %q, offset %d, limit %d: got %v, want %v", order, from, part[1], got, all[from:to])
			}
		}
	}
}

// TestOrderOfScales sorts equal and nearly equal decimals of different scales.
func TestOrderOfScales(t *testing.T) {
	checkRows(t, write(t, "a.csv", "k,x\nd,5.00000000000000000001\nc,5\na,5.00\nb,5\ne,4.99\nf,6\n"+strings.Repeat("g,1\n", 9)), map[string]string{
		"by=k;aggregate=sum(x);order=sum(x)":                          `[["e","4.99"],["a","5.00"],["b","5"],["c","5"],["d","5.00000000000000000001"],["f","6"],["g","9"]]`,
		"by=k;aggregate=sum(x);order=-sum(x);offset=2;limit=2":        `[["d","5.00000000000000000001"],["a","5.00"]]`,
		"by=x;aggregate=count;order=x;limit=3;where=x > 4 and x < 6":  `[["4.99",1],["5",2],["5.00",1]]`,
		"by=x;aggregate=count;order=-x;limit=3;where=x > 4 and x < 6": `[["5.00000000000000000001",1],["5.00",1],["5",2]]`,
	})
}

// TestTopsThatAreNotInTheResult checks that a group with too many values for top fails a query exactly if the group is in the
// result, whatever the number of parts.
func TestTopsThatAreNotInTheResult(t *testing.T) {
	for order, fails := range map[string]bool{"-count,top(x,1)": false, "count,top(x,1)": true} {
		q, err := newQuery(Params{Input: dataset.Defaults(), By: "a", Aggregate: "count,top(x,1)", Order: order, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		tab := new(table)
		tab.bind(q.aggregates, []int{-1, 0})
		for i := range 24 {
			group := tab.group(fmt.Append(nil, 10+i))
			tab.states[0].(*counts).list[group] = uint64(1 + i/23)
			tab.states[1].(*tops).list[group].over = i < 20
		}
		if err := tab.settle(); err != nil {
			t.Fatal(err)
		}
		for parts := 1; parts < 6; parts++ {
			g := &groups{query: q, run: tab.runs[0], scratch: newScratch(q.aggregates), most: maxResultBytes, parts: parts}
			_, err := g.place(t.Context())
			if err == nil {
				_, err = g.finish(t.Context())
			}
			if (err != nil) != fails {
				t.Errorf("order %s, %d parts: got %v", order, parts, err)
			}
		}
	}
}
