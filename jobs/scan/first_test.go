//go:build !race

package scan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
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
