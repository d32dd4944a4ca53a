//go:build !race

package scan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestShifts compares aggregates of a column plus constants, of which plains suffice, with those of the same numbers in
// columns of the input. It runs only without the race detector, because it runs many queries.
func TestShifts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	for seed := range 60 {
		values := []string{"1", "-7", "1366", "68719476736", "0", "12", ""}
		if seed%2 == 1 {
			values = append(values, "1.50", "2e3", "-0.25", "9223372036854775807", "123456789012345678901234567890")
		}
		var plain strings.Builder
		plain.WriteString("k,x\n")
		for range 1 + random.IntN(40) {
			fmt.Fprintf(&plain, "%c,%s\n", 'a'+random.IntN(3), values[random.IntN(len(values))])
		}
		// The product with 1 is not a sum of a column and a constant, and is the same number.
		by := []string{"where=k != ''", "by=k"}[random.IntN(2)]
		query := func(let string) string {
			got, err := scan(t, "input="+write(t, "x.csv", plain.String()), by, "block=30", "let="+let, "aggregate=sum(a),mean(b),min(c),max(a),count(b),count")
			if err != nil {
				t.Fatal(err)
			}
			_, rows, _ := strings.Cut(got, `"rows":`)
			return rows
		}
		got, want := query("a = x + 3; b = 1000000 + x; c = x - 68719476736"), query("a = (x + 3) * 1; b = (1000000 + x) * 1; c = (x - 68719476736) * 1")
		if got != want {
			t.Fatalf("%s: got %s, want %s", plain.String(), got, want)
		}
	}
}
