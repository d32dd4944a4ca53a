package bench

import (
	"fmt"
	"strconv"
)

// count writes a whole number with commas between groups of three digits.
func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// about writes a number to three digits: 126 million, 4.61 billion, 52,300.
func about(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g %s", v/unit.size, unit.name)
		}
	}
	return count(uint64(v))
}
