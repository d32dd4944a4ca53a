package scan

import (
	"bytes"
	"fmt"
	"testing"
)

// TestMergedRunHasRoom checks that the codec can append the rest of a partial to a merged run without
// copying the run.
func TestMergedRunHasRoom(t *testing.T) {
	var left, right run
	for i := range 1000 {
		group := appendText(appendText(nil, fmt.Sprintf("%04d", i)), "")
		if i%2 == 0 {
			left = append(left, group...)
		} else {
			right = append(right, group...)
		}
	}
	merged, err := mergeRuns(nil, []run{left, right})
	if ends, cutErr := merged.cut(1); err != nil || cutErr != nil || ends[0] != (boundary{len(merged), 1000}) {
		t.Errorf("got %v, %v, %v, want 1000 groups", ends, err, cutErr)
	}
	if room := cap(merged) - len(merged); room < minSlack {
		t.Errorf("room for %d bytes, want at least %d", room, minSlack)
	}
}

// TestMergeOfUnevenRuns merges runs whose first eighths have the same keys and whose other groups do not, or the reverse,
// so that the estimated size of the merged run is wrong.
func TestMergeOfUnevenRuns(t *testing.T) {
	const groups, shared = 40_000, 8_000
	for name, both := range map[string]func(i int) bool{
		"first groups shared": func(i int) bool { return i < shared },
		"last groups shared":  func(i int) bool { return i >= shared },
	} {
		var left, right, want run
		for i := range groups {
			group := appendText(appendText(nil, fmt.Sprintf("%06d", i)), "")
			want = append(want, group...)
			if both(i) || i%2 == 0 {
				left = append(left, group...)
			}
			if both(i) || i%2 == 1 {
				right = append(right, group...)
			}
		}
		if merged, err := mergeRuns(nil, []run{left, right}); err != nil || !bytes.Equal(merged, want) {
			t.Errorf("%s: got %d bytes, %v, want %d", name, len(merged), err, len(want))
		}
		if _, err := mergeRuns(nil, []run{left, right[:len(right)-1]}); err == nil {
			t.Errorf("%s: got no error for a damaged run", name)
		}
	}
}
