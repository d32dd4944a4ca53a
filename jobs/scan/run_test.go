package scan

import (
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
	merged, err := newScratch(nil).merge(left, right)
	if count, countErr := merged.count(); err != nil || countErr != nil || count != 1000 {
		t.Errorf("got %d groups, %v, %v, want 1000", count, err, countErr)
	}
	if room := cap(merged) - len(merged); room < minSlack {
		t.Errorf("room for %d bytes, want at least %d", room, minSlack)
	}
}
