// Package readable writes numbers as people read them. Below the command line and
// the benchmarks, it knows of neither.
package readable

import (
	"fmt"
	"strconv"
)

// Count writes a whole number with commas between groups of three digits.
func Count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// About writes a number to three digits: 126 million, 4.61 billion, 52,300.
func About(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g %s", v/unit.size, unit.name)
		}
	}
	return Count(uint64(v))
}

// Plural writes so many of something: 1 worker, 2 workers.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
